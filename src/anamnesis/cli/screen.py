"""The terminal for drawn output. Texts are printed literally: without markup, control characters and links."""

from __future__ import annotations

import sys
from collections.abc import Iterable

from rich.console import Console, ConsoleOptions, RenderableType
from rich.markup import escape
from rich.segment import Segment
from rich.style import Style
from rich.text import Text

from anamnesis.plain import plain


class Screen(Console):
    """A console for untrusted texts; only `draw` interprets markup, and only that of its template."""

    def __init__(self, *, stderr: bool = False) -> None:
        # The original stream, not the one that removes escapes: colours are escapes too.
        super().__init__(file=sys.__stderr__ if stderr else sys.__stdout__, highlight=False, markup=False, emoji=False)

    def draw(self, template: str, *values: object, style: str = "", end: str = "\n") -> None:
        """Print a template with markup; markup in the values is escaped."""
        shown = (value if isinstance(value, int) else escape(str(value)) for value in values)
        self.print(Text.from_markup(template.format(*shown), emoji=False), style=style, end=end)

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        for segment in super().render(renderable, options):
            yield segment if segment.control else Segment(plain(segment.text), _unlinked(segment.style))


def _unlinked(style: Style | None) -> Style | None:
    return style.update_link(None) if style and style.link else style
