"""`make bench`: measures this version and the earlier implementation on the same stores, in one run."""

from __future__ import annotations

import argparse
import math
import sys
from pathlib import Path

from bench import programs, report


def main() -> int:
    options = _options()
    limit = math.inf if options.full else options.skip_earlier_above
    skipped = (
        f"Left out above {options.skip_earlier_above:,} notes, where a reindex takes it many minutes;"
        " `python -m bench --full` measures it."
        if options.skip_earlier_above
        else "Left out of this run."
    )
    try:
        results: report.Results = {}
        this = programs.this()
        earlier = programs.earlier() if min(options.sizes) <= limit else None
        for size in options.sizes:
            old = programs.measure(earlier, size) if earlier and size <= limit else skipped
            results[size] = (old, programs.measure(this, size))
    except programs.Failed as error:
        print(error, file=sys.stderr)
        return 1
    print(report.table(results), report.verdict(results), sep="\n\n")
    report.record(options.results, report.section(results))
    return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument(
        "--sizes", type=_sizes, default=[1_000, 10_000, 50_000], help="notes in the stores: 1000,10000,50000"
    )
    parser.add_argument(
        "--skip-earlier-above",
        type=int,
        default=10_000,
        metavar="NOTES",
        help="measure the earlier implementation only up to this size (10000); 0 skips it",
    )
    parser.add_argument("--full", action="store_true", help="measure it at every size: 20 minutes more")
    parser.add_argument("--results", type=Path, default=Path(__file__).with_name("RESULTS.md"), help="file to write")
    return parser.parse_args()


def _sizes(text: str) -> list[int]:
    sizes = text.split(",")
    if not all(size.isdecimal() and int(size) for size in sizes):
        raise argparse.ArgumentTypeError(f"{text!r} is not a list of numbers such as 1000,10000.")
    return sorted({int(size) for size in sizes})


if __name__ == "__main__":
    sys.exit(main())
