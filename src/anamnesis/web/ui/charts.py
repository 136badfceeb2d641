"""Charts as SVG, drawn on the server and coloured by the stylesheet, without a script."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

from markupsafe import Markup

_BAR, _GAP, _HEIGHT = 10, 3, 48
# The axis of growth starts at half of the total, or below if the first value is less.
_BASE = 0.5


def bars(values: Sequence[tuple[str, int]], label: str) -> Markup:
    """A bar for each named value; a screen reader gets the label and the sum, a pointer each value."""
    most = max((value for _, value in values), default=0) or 1
    width = len(values) * (_BAR + _GAP)
    total = sum(value for _, value in values)
    parts = [
        Markup('<rect class="{}" x="{}" y="{}" width="{}" height="{}" rx="1"><title>{}: {}</title></rect>').format(
            "" if value else "none", place * (_BAR + _GAP), _HEIGHT - height, _BAR, height, name, value
        )
        for place, (name, value) in enumerate(values)
        for height in (max(1, round(value / most * _HEIGHT)),)
    ]
    head = Markup(
        '<svg class="bars" viewBox="0 0 {} {}" preserveAspectRatio="none" role="img" aria-label="{}: {} in all">'
    )
    return head.format(width, _HEIGHT, label, total) + Markup("").join(parts) + Markup("</svg>")


def area(added: Sequence[tuple[str, int]], total: int, label: str) -> Markup:
    """The growth of a total by daily additions; the line starts at the total before them."""
    start = total - sum(value for _, value in added)
    sums = [*accumulate((value for _, value in added), initial=start)]
    low = min(start, round(total * _BASE))
    span = (total - low) or 1
    points = " ".join(f"{x},{_HEIGHT - round((value - low) / span * _HEIGHT, 1)}" for x, value in enumerate(sums))
    last = len(sums) - 1
    return Markup(
        '<svg class="area" viewBox="0 0 {0} {1}" preserveAspectRatio="none" role="img"'
        ' aria-label="{2}: from {3} to {4}"><polygon class="under" points="0,{1} {5} {0},{1}"></polygon>'
        '<polyline class="edge" points="{5}"></polyline></svg>'
    ).format(last, _HEIGHT, label, start, total, points)


def share(part: float, whole: float) -> Markup:
    """A horizontal bar for a part of a whole."""
    width = max(0, min(100, round(100 * part / whole))) if whole else 0
    picture = '<svg class="share" viewBox="0 0 100 6" preserveAspectRatio="none" aria-hidden="true">'
    return Markup(picture + '<rect width="{}" height="6"></rect></svg>').format(width)  # noqa: S704  all are numbers
