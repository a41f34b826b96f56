"""Draws what a comparison has measured: draw.py [--png] FILE.json...; figures lie beside their file."""

import argparse
import json
import pathlib

import curves_figure
import failures_figure
import figure
import headline
import killed_figure
import learning
import learning_figure
from course import Curve
from killed import Timeline
from rows import loaded


def draw(path, png):
    """Paths of the figures."""
    document = json.loads(path.read_text())
    rows = [loaded(entry) for entry in document.get("rows", [])]
    curves = [loaded(entry) for entry in document.get("curves", [])]
    courses = {kind: {who: Curve(**entry) for who, entry in of_peers.items()}
               for kind, of_peers in document.get("courses", {}).items()}
    timelines = [Timeline(**entry) for entry in document.get("timelines", {}).get("runs", [])]
    learned = [learning.Course(**entry) for entry in document.get("learning", {}).get("runs", [])]
    drawn = [figure.draw_hops(rows, named(path, ""), png), figure.draw_seconds(rows, named(path, "-latency"), png),
             failures_figure.draw(courses, named(path, "-failures"), png),
             killed_figure.draw(timelines, named(path, "-killed"), png),
             learning_figure.draw(learned, named(path, "-learning"), png),
             curves_figure.draw_hops(curves, named(path, ""), png),
             curves_figure.draw_seconds(curves, named(path, "-latency"), png),
             curves_figure.draw_round_trips(curves, named(path, "-round-trips"), png)]
    return [one for one in drawn if one] + headline.draw(rows, named(path, "-headline"))


def named(path, what):
    return path.with_name(path.stem.removesuffix(what) + what + ".svg")


def main():
    parser = argparse.ArgumentParser(prog="scripts/bench.sh draw", description="Draws results that lie there.")
    parser.add_argument("results", type=pathlib.Path, nargs="+", help="what a run has written: bench/results/NAME.json")
    parser.add_argument("--png", action="store_true", help="also as PNG, to look at")
    options = parser.parse_args()
    for path in options.results:
        for one in draw(path, options.png):
            print(f"drawn {one}")


if __name__ == "__main__":
    main()
