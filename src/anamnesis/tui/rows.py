"""A list that is read in pages, with Engram's keys; and a pane of text beside it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.message import Message
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

# The next page is read when the cursor is this near to the end.
_NEAR = 20


class Rows(OptionList):
    """A list of one-line rows, each with a key."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("j", "cursor_down", "Down", show=False),
        Binding("k", "cursor_up", "Up", show=False),
        Binding("g", "first", "First", show=False),
        Binding("G", "last", "Last", show=False),
        Binding("ctrl+d", "page_down", "Page down", show=False),
        Binding("ctrl+u", "page_up", "Page up", show=False),
    ]

    class NearEnd(Message):
        """The cursor is near the end of the rows."""

        def __init__(self, rows: Rows) -> None:
            super().__init__()
            self.rows = rows

        @property
        def control(self) -> Rows:
            return self.rows

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes, markup=False)

    def fill(self, rows: Iterable[tuple[str, Content]], keep: str | None = None) -> None:
        """Replace the rows; the cursor goes to the row `keep`, or to the one in its place if it is gone.

        Without `keep`, it goes to the first row. A row without a key is a heading.
        """
        options = [Option(content, id=key or None, disabled=not key) for key, content in rows]
        if keep and [*map(_drawn, options)] == [*map(_drawn, self.options)]:
            self._announce_highlighted()  # its details may have changed; the scroll position stays
            return
        before = (self.highlighted or 0) if keep else 0
        self.set_options(options)
        places = [place for place, option in enumerate(options) if not option.disabled]
        kept = [place for place in places if options[place].id == keep]
        self.highlighted = next(iter([*kept, *(place for place in places if place >= before), *places[-1:]]), None)
        self.scroll_to_highlight()

    def _announce_highlighted(self) -> None:
        if self.highlighted is not None and (option := self.highlighted_option):
            self.post_message(self.OptionHighlighted(self, option, self.highlighted))

    def extend(self, rows: Iterable[tuple[str, Content]]) -> None:
        """Add a page, without rows that are already shown."""
        known = {option.id for option in self.options}
        self.add_options([Option(content, id=key) for key, content in rows if key not in known])

    @property
    def key(self) -> str | None:
        """The key of the row under the cursor."""
        option = self.highlighted_option
        return option.id if option else None

    def watch_highlighted(self, highlighted: int | None) -> None:
        super().watch_highlighted(highlighted)
        if highlighted is not None and highlighted >= self.option_count - _NEAR:
            self.post_message(self.NearEnd(self))


def _drawn(option: Option) -> tuple[str | None, object, object]:
    """What a row shows, with its styles: contents with the same text are equal whatever their styles."""
    shown = option.prompt
    return option.id, shown, shown.spans if isinstance(shown, Content) else None


class Pane(VerticalScroll):
    """A text that scrolls."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("j", "scroll_down", "Down", show=False),
        Binding("k", "scroll_up", "Up", show=False),
        Binding("g", "scroll_home", "Top", show=False),
        Binding("G", "scroll_end", "End", show=False),
        Binding("ctrl+d", "page_down", "Page down", show=False),
        Binding("ctrl+u", "page_up", "Page up", show=False),
        Binding("space", "page_down", "Page down", show=False),
    ]

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes)
        self._text = Static(markup=False)
        self._of = ""

    def compose(self) -> Iterable[Static]:
        yield self._text

    def show(self, content: Content, of: str = "") -> None:
        """Show a text, from its beginning unless it is `of` the same item as before."""
        self._text.update(content)
        if not of or of != self._of:
            self.scroll_home(animate=False)
        self._of = of

    @property
    def room(self) -> int:
        """The width for text, in columns."""
        return max(20, self.scrollable_content_region.width or self.app.size.width - 40)
