"""A chart of recall as SVG: the share of relevant notes among the first k hits, a line for each series. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from html import escape
from statistics import fmean

from anamnesis.eval.report import CaseResult
from anamnesis.plain import plain

_WIDTH, _HEIGHT = 640, 360
_LEFT, _TOP, _RIGHT, _BOTTOM = 48, 48, 456, 312
_MOST_HITS = 10
_COLOURS = ("#1f6feb", "#d1571f", "#2a8a4a", "#8250df", "#b58900", "#57606a")
_STYLE = "font: 12px system-ui, sans-serif; fill: #24292f"
_LONGEST_NAME = 22


def svg(title: str, series: Mapping[str, Sequence[CaseResult]]) -> str:
    """A standalone picture on a white background, scalable to any size."""
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" style="{_STYLE}">',
        f"<title>{_text(title)}</title>",
        f'<rect width="{_WIDTH}" height="{_HEIGHT}" fill="#ffffff"/>',
        f'<text x="{_LEFT}" y="26" font-size="15" font-weight="600">{_text(title)}</text>',
        *_grid(),
    ]
    for number, (name, outcomes) in enumerate(series.items()):
        parts += _line(name, outcomes, number)
    return "\n".join([*parts, "</svg>"]) + "\n"


def _grid() -> Iterator[str]:
    for percent in range(0, 101, 20):
        y = _y(percent / 100)
        yield f'<line x1="{_LEFT}" x2="{_RIGHT}" y1="{y}" y2="{y}" stroke="#d0d7de"/>'
        yield f'<text x="{_LEFT - 8}" y="{y + 4}" text-anchor="end">{percent} %</text>'
    for k in range(1, _MOST_HITS + 1):
        yield f'<text x="{_x(k)}" y="{_BOTTOM + 18}" text-anchor="middle">{k}</text>'
    yield f'<text x="{(_LEFT + _RIGHT) / 2}" y="{_BOTTOM + 38}" text-anchor="middle">hits</text>'


def _line(name: str, outcomes: Sequence[CaseResult], number: int) -> Iterator[str]:
    """The line of a series, the first one thick, and its name with the mean reciprocal rank."""
    colour, width = _COLOURS[number % len(_COLOURS)], 1.5 if number else 3
    points = [(_x(k), _y(fmean(each.recall(k) for each in outcomes))) for k in range(1, _MOST_HITS + 1)]
    shown = " ".join(f"{x},{y}" for x, y in points)
    yield f'<polyline points="{shown}" fill="none" stroke="{colour}" stroke-width="{width}"/>'
    yield from (f'<circle cx="{x}" cy="{y}" r="{width + 1}" fill="{colour}"/>' for x, y in points)
    y = _TOP + 12 + 40 * number
    mrr = fmean(each.reciprocal_rank for each in outcomes)
    yield f'<rect x="{_RIGHT + 20}" y="{y - 9}" width="10" height="10" fill="{colour}"/>'
    yield f'<text x="{_RIGHT + 36}" y="{y}" font-weight="600">{_text(name[:_LONGEST_NAME])}</text>'
    yield f'<text x="{_RIGHT + 36}" y="{y + 15}">MRR {mrr:.3f}, {len(outcomes):,} cases</text>'


def _x(k: int) -> float:
    return round(_LEFT + (k - 1) * (_RIGHT - _LEFT) / (_MOST_HITS - 1), 1)


def _y(share: float) -> float:
    return round(_BOTTOM - share * (_BOTTOM - _TOP), 1)


def _text(text: str) -> str:
    return escape(" ".join(plain(text).split()))
