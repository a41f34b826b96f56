"""The figures of a comparison: what was measured, beside what, and which goal it has."""

import dataclasses
import statistics


@dataclasses.dataclass
class Goal:
    """What a series must reach: a value of its unit, or a ratio to another series of its row."""

    text: str
    series: str
    limit: float
    against: str = ""
    at_least: bool = False  # False: at most
    worst: bool = False  # of the greatest ratio, not of the median one


@dataclasses.dataclass(frozen=True)
class Setting:
    """What was done where, for figures and tables that sort cases by it."""

    kind: str  # as Operation.kind, or put_to_get
    size: int  # of one object, in bytes
    hosts: int
    rate: str | None  # of each host's link, None without a limit
    note: str = ""  # what else is special about it


@dataclasses.dataclass
class Row:
    """One case. Each series has one value for each repetition, None where a repetition failed."""

    case: str
    unit: str
    series: dict = dataclasses.field(default_factory=dict)
    goals: list = dataclasses.field(default_factory=list)
    reference: str = ""  # the series that ratios are quoted to
    setting: Setting | None = None
    slowest: dict = dataclasses.field(default_factory=dict)  # series -> the longest step of each repetition that has steps

    def add(self, series, value):
        self.series.setdefault(series, []).append(value)

    def add_steps(self, series, seconds):
        """One repetition of several steps: its value is their median. None: it failed."""
        self.add(series, statistics.median(seconds) if seconds else None)
        self.slowest.setdefault(series, []).append(max(seconds) if seconds else None)

    def values(self, series):
        return [value for value in self.series.get(series, []) if value is not None]

    def median(self, series):
        values = self.values(series)
        return statistics.median(values) if values else None

    def worst(self, series):
        """Of all repetitions and their steps; None without a figure."""
        values = self.values(series) + [value for value in self.slowest.get(series, []) if value is not None]
        if not values:
            return None
        more_is_better = any(goal.at_least for goal in self.goals)
        return min(values) if more_is_better else max(values)

    def ratios(self, series, reference):
        """Those within each repetition: slow moments of the machine cancel out."""
        pairs = zip(self.series.get(series, []), self.series.get(reference, []))
        return [mine / other for mine, other in pairs if mine is not None and other]

    def ratio(self, series, reference=None):
        """The median of the ratios within each repetition."""
        ratios = self.ratios(series, reference or self.reference)
        return statistics.median(ratios) if ratios else None

    def reached(self, goal):
        """The figure that the goal speaks of, and whether it is good enough; None without a figure."""
        if goal.worst:
            figure = max(self.ratios(goal.series, goal.against), default=None)
        else:
            figure = self.ratio(goal.series, goal.against) if goal.against else self.median(goal.series)
        if figure is None:
            return None, False
        return figure, figure >= goal.limit if goal.at_least else figure <= goal.limit


def loaded(entry):
    """The row that report.document() wrote."""
    goals = [Goal(**of_class(Goal, goal)) for goal in entry["goals"]]
    setting = Setting(**entry["setting"]) if entry.get("setting") else None
    return Row(**{**of_class(Row, entry), "goals": goals, "setting": setting})


def of_class(kind, entry):
    """The members of a JSON object that are fields of a class."""
    return {field.name: entry[field.name] for field in dataclasses.fields(kind) if field.name in entry}
