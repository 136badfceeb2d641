"""Draws the results of `anamnesis eval` on a terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from rich.table import Column
from rich.text import Text

from anamnesis.cli.output import bare_table, console
from anamnesis.eval.intervals import Interval, MeasureDifference
from anamnesis.eval.report import COSTS, RecallReport

if TYPE_CHECKING:
    from rich.table import Table

_BAR = 24


def draw_report(heading: str, report: RecallReport, bounds: Mapping[str, Interval]) -> None:
    screen = console()
    screen.print(heading, style="bold")
    table = bare_table(*(Column(no_wrap=True) for _ in range(4)), show_header=False)
    for name in (*(f"Recall@{k}" for k in report.recall_at), "MRR"):
        mean, low, high = bounds[name]
        table.add_row(name, _bar(mean), f"{100 * mean:.1f}", Text(f"{100 * low:.1f} to {100 * high:.1f}", "dim"))
    screen.print(table)
    screen.print(
        f"Of the hits, {100 * report.precision:.1f} % are relevant. They cost {report.tokens:,.0f} tokens and took"
        f" {report.p50:.1f} ms (p50), {report.p95:.1f} ms (p95)."
    )
    if report.kinds:
        screen.print()
        screen.print(_kinds(report))


def draw_differences(names: Sequence[str], differences: Sequence[MeasureDifference], sentence: str) -> None:
    screen = console()
    right = [Column(name, justify="right", overflow="fold") for name in ("", *names, "difference", "95 % interval")]
    right[0].justify = "left"
    table = bare_table(*right)
    for each in differences:
        is_cost = each.measure in COSTS
        scale, form = (1, ",.1f") if is_cost else (100, ".1f")
        mean, low, high = (scale * value for value in each.interval)
        is_better = (mean < 0) == is_cost
        style = "dim" if each.is_noise else "green" if is_better else "red"
        values = (f"{scale * each.a:{form}}", f"{scale * each.b:{form}}")
        bounds = f"{low:+{form}} to {high:+{form}}"
        table.add_row(each.measure, *values, Text(f"{mean:+{form}}", style), Text(bounds, style))
    screen.print(table)
    screen.print(sentence, style="bold")


def _kinds(report: RecallReport) -> Table:
    names = ("kind", "cases", *(f"@{k}" for k in report.recall_at), "MRR")
    table = bare_table(*(Column(name, justify="right") for name in names))
    table.columns[0].justify, table.columns[0].overflow = "left", "fold"
    for kind, each in report.kinds.items():
        shares = (*each.recall_at.values(), each.mrr)
        table.add_row(kind or "other", f"{each.n_cases:,}", *(f"{100 * share:.1f}" for share in shares))
    return table


def _bar(share: float) -> Text:
    full = round(_BAR * share)
    return Text.assemble(("█" * full, "cyan"), ("░" * (_BAR - full), "dim"))
