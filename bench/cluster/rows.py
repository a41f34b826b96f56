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


@dataclasses.dataclass
class Row:
    """One case. Each series has one value for each repetition, None where a repetition failed."""

    case: str
    unit: str
    series: dict = dataclasses.field(default_factory=dict)
    goals: list = dataclasses.field(default_factory=list)
    reference: str = ""  # the series that ratios are quoted to

    def add(self, series, value):
        self.series.setdefault(series, []).append(value)

    def values(self, series):
        return [value for value in self.series.get(series, []) if value is not None]

    def median(self, series):
        values = self.values(series)
        return statistics.median(values) if values else None

    def ratio(self, series, reference=None):
        """The median of the ratios within each repetition: slow moments of the machine cancel out."""
        pairs = zip(self.series.get(series, []), self.series.get(reference or self.reference, []))
        ratios = [mine / other for mine, other in pairs if mine is not None and other]
        return statistics.median(ratios) if ratios else None

    def reached(self, goal):
        """The figure that the goal speaks of, and whether it is good enough; None without a figure."""
        figure = self.ratio(goal.series, goal.against) if goal.against else self.median(goal.series)
        if figure is None:
            return None, False
        return figure, figure >= goal.limit if goal.at_least else figure <= goal.limit
