"""The section of the notes: search as you type, facets, and a preview of the note under the cursor."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from textual import on
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.content import Content
from textual.timer import Timer
from textual.widget import Widget
from textual.widgets import Input, OptionList, Static

from anamnesis.tui.chrome import TuiPage
from anamnesis.tui.latest import Latest
from anamnesis.tui.rows import Pane, Rows
from anamnesis.tui.sections import PLACEHOLDER

if TYPE_CHECKING:
    from anamnesis.notes import Memory
    from anamnesis.store import MemoryStore
    from anamnesis.store.facets import Facets
    from anamnesis.store.highlights import Span
    from anamnesis.store.queries import Filter

PAGE = 50
# Up to 40 hits of a common word take 40 ms among 50,000 notes, and more take twice that.
_FIRST_HITS = 32
# The most hits of a search.
_MOST_HITS = 400
# Seconds without a key after which a search also ranks by meaning.
_PAUSE = 0.2
_FACETS = ("project", "type", "tag", "machine", "source")
_PROJECT_WIDTH = 14


class FoundNotes(NamedTuple):
    """The notes of a list or a search: the completed query, remarks and matches by id, and whether there are more."""

    query: str
    notes: list[Memory]
    weak: frozenset[str] = frozenset()
    remarks: dict[str, str] = {}  # noqa: RUF012  never changed
    matched: dict[str, list[Span]] = {}  # noqa: RUF012  the parts of titles that match
    has_more: bool = False
    total: int | None = None


def find(store: MemoryStore, query: str, wanted: dict[str, Any], most: int, mode: Any) -> FoundNotes:
    """The notes for a query, or the newest; an unfinished last word is completed."""
    if not query.strip():
        notes = _listed(store, limit=most, **wanted)
        return FoundNotes(query, notes, has_more=len(notes) == most, total=store.count(**wanted))
    from anamnesis.notes.foreign import with_origin
    from anamnesis.store.highlights import matches
    from anamnesis.store.suggestions import completed
    from anamnesis.tui.drawing import in_line

    completed_query = completed(store, query)
    hits = store.hits(completed_query, k=most, mode=mode, **wanted)
    notes = [with_origin(hit.memory, hit.marks.origin) for hit in hits]
    spans = matches([in_line(note.title) for note in notes], completed_query)
    return FoundNotes(
        completed_query,
        notes,
        frozenset(hit.memory.id for hit in hits if hit.is_weak),
        {hit.memory.id: hit.marks.brief for hit in hits if hit.marks.brief},
        {note.id: found for note, found in zip(notes, spans, strict=True)},
        len(hits) == most and most < _MOST_HITS,
    )


def _listed(store: MemoryStore, **wanted: Any) -> list[Memory]:
    """The notes of a list, foreign ones with their origin."""
    from anamnesis.notes.foreign import with_origins

    notes = store.list(**wanted)
    return with_origins(notes, store.origins(notes))


class Search(TuiPage):
    """A query, the notes that it finds, and a preview. The section and `pick` differ in the use of the chosen note."""

    def __init__(self, query: str = "") -> None:
        super().__init__()
        self._initial = query
        self.found = FoundNotes("", [])
        self.mode = "words"
        self._wanted: dict[str, Any] = {}
        self._by_id: dict[str, Memory] = {}
        self._pause: Timer | None = None
        self._counts = Latest[Any](self)

    def parts(self) -> Iterable[Widget]:
        with Horizontal(classes="query"):
            yield Static("/", classes="mark")
            is_new = not self._initial  # otherwise the first key would replace the given query
            yield Input(self._initial, placeholder=PLACEHOLDER, id="query", compact=True, select_on_focus=is_new)
            yield Static(classes="count", id="count", markup=False)
        yield Static(classes="line", id="filters", markup=False)
        with Horizontal(classes="columns"):
            yield Rows(id="facets")
            yield Rows(id="hits", classes="list")
            yield Pane(id="preview")

    def on_mount(self) -> None:
        self.query_one("#filters").display = False
        self.call_after_refresh(self._search)  # not before the first frame

    @property
    def hits(self) -> Rows:
        return self.query_one("#hits", Rows)

    @property
    def typed(self) -> str:
        return self.query_one("#query", Input).value

    @property
    def chosen(self) -> Memory | None:
        """The note under the cursor."""
        return self._by_id.get(self.hits.key or "")

    @on(Input.Changed, "#query")
    def _typed(self) -> None:
        self._search()

    def _search(self) -> None:
        """Search by words at once, and also by meaning after a pause in typing."""
        if self._pause:
            self._pause.stop()
        if not self.typed.strip():
            self._ask("words", PAGE)
            return
        self._ask("words", _FIRST_HITS)
        self._pause = self.set_timer(_PAUSE, partial(self._ask, "fused", _FIRST_HITS))

    def _ask(self, mode: str, most: int, *, keep: bool = False) -> None:
        query, wanted = self.typed, dict(self._wanted)
        kept = self.hits.key if keep or (mode == "fused" and self.hits.highlighted) else None
        self.read(lambda store: find(store, query, wanted, most, mode), lambda found: self._show(found, mode, kept))

    def _show(self, found: FoundNotes, mode: str, keep: str | None) -> None:
        self.found, self.mode = found, mode
        self._by_id = {note.id: note for note in found.notes}
        self.hits.fill(self._rows(found.notes), keep)
        self._show_count()
        if not found.notes:
            self.query_one("#preview", Pane).show(self._nothing())
        if self.has_class("faceted"):
            self._count_facets()

    def _rows(self, notes: Iterable[Memory]) -> Iterable[tuple[str, Content]]:
        from anamnesis.tui.drawing import row

        names = (len(note.project.rpartition("/")[2]) for note in self.found.notes)
        width = min(_PROJECT_WIDTH, max(names, default=0)) if self.is_wide else 0
        for note in notes:
            weak, remark = note.id in self.found.weak, self.found.remarks.get(note.id, "")
            matched = self.found.matched.get(note.id, ())
            yield note.id, row(note, matched=matched, weak=weak, remark=remark, project=width)

    def _show_count(self) -> None:
        found = self.found
        count = f"{found.total:,}" if found.total is not None else f"{len(found.notes)}{'+' if found.has_more else ''}"
        self.query_one("#count", Static).update(Content(f" {count} {'note' if count == '1' else 'notes'}"))

    def _nothing(self) -> Content:
        from anamnesis.tui.drawing import MUTED, multiline

        if self.typed.strip() or self._wanted:
            return multiline("Nothing found. Try other words, or fewer filters.", MUTED)
        return multiline('There are no notes yet.\n\nWrite one: anamnesis write "Title" "What to remember"', MUTED)

    @on(Rows.NearEnd, "#hits")
    def _more(self) -> None:
        """Read the next page of a list, or search for more hits."""
        found = self.found
        if not found.has_more:
            return
        self.found = found._replace(has_more=False)  # until the page is read
        if self.typed.strip():
            self._ask("fused", min(2 * len(found.notes), _MOST_HITS), keep=True)
            return
        offset, wanted = len(found.notes), dict(self._wanted)
        self.read(lambda store: _listed(store, limit=PAGE, offset=offset, **wanted), self._extend)

    def _extend(self, notes: list[Memory]) -> None:
        self.found = self.found._replace(notes=[*self.found.notes, *notes], has_more=len(notes) == PAGE)
        self._by_id |= {note.id: note for note in notes}
        self.hits.extend(self._rows(notes))

    @on(OptionList.OptionHighlighted, "#hits")
    def _preview(self) -> None:
        from anamnesis.tui import drawing

        if note := self.chosen:
            self.query_one("#preview", Pane).show(drawing.note(note, self.found.query), note.id)

    def on_resize(self) -> None:
        if self.found.notes:
            self.hits.fill(self._rows(self.found.notes), self.hits.key)

    def reload(self) -> None:
        self._ask("fused" if self.typed.strip() else "words", max(_FIRST_HITS, len(self.found.notes)), keep=True)

    # Facets: the most frequent projects, types, tags, machines and sources, and the chosen ones.

    def action_facets(self) -> None:
        self.toggle_class("faceted")
        if self.has_class("faceted"):
            self._count_facets()
            self.query_one("#facets").focus()
        else:
            self.hits.focus()

    def _count_facets(self) -> None:
        from anamnesis.store.facets import facets

        query, wanted = self.found.query, self._filter()
        self._counts.ask(lambda: facets(self.program.vault.notes, query, wanted), self._show_facets)

    def _filter(self) -> Filter:
        from anamnesis.store.queries import Filter as StoreFilter

        return replace(StoreFilter(), **self._wanted)

    def _show_facets(self, found: Facets) -> None:
        from anamnesis.tui.drawing import MUTED, padded

        panel, rows = self.query_one("#facets", Rows), list[tuple[str, Content]]()
        for facet in _FACETS:
            rows.append(("", Content.styled(facet, f"bold {MUTED}")))
            for value, count in found.values.get(facet, ()):
                name = value.rpartition("/")[2] if facet == "project" else value
                mark = ("● ", "$accent") if self._is_chosen(facet, value) else "  "
                shown = Content.assemble(mark, padded(name, 14), (f"{count:>6,}", MUTED))
                rows.append((f"{facet}:{value}", shown))
        panel.fill(rows, panel.key)

    def _is_chosen(self, facet: str, value: str) -> bool:
        return value in self._wanted.get("tags", ()) if facet == "tag" else self._wanted.get(facet) == value

    @on(OptionList.OptionSelected, "#facets")
    def _choose(self, event: OptionList.OptionSelected) -> None:
        facet, _, value = (event.option_id or "").partition(":")
        if facet == "tag":
            tags = tuple(self._wanted.pop("tags", ()))
            tags = tuple(tag for tag in tags if tag != value) if value in tags else (*tags, value)
            self._wanted |= {"tags": tags} if tags else {}
        elif self._wanted.pop(facet, None) != value:
            self._wanted[facet] = value
        self._show_filters()
        self._search()

    def _show_filters(self) -> None:
        from anamnesis.tui.drawing import line

        chosen = {**self._wanted, "tags": " ".join(self._wanted.get("tags", ()))}
        filters = self.query_one("#filters", Static)
        filters.display = bool(self._wanted)
        filters.update(line("only " + " · ".join(f"{name} {value}" for name, value in chosen.items() if value)))


class Section(Search):
    """The notes of the memory, to read and to change."""

    SECTION = "notes"
    AUTO_FOCUS = "#hits"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("slash", "app.search", "Search"),
        Binding("enter", "hits", "To the notes", priority=True),
        Binding("f", "facets", "Facets"),
        Binding("e", "edit", "Edit"),
        Binding("h", "history", "History"),
        Binding("t", "timeline", "Timeline"),
        Binding("n", "new", "New"),
        Binding("down", "hits", "To the notes", show=False),
    ]

    def action_query(self) -> None:
        self.set_focus(self.query_one("#query"))

    def action_hits(self) -> None:
        self.set_focus(self.hits)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Enter leaves the query; elsewhere it opens the note under the cursor."""
        return action != "hits" or isinstance(self.focused, Input)

    def action_back(self) -> None:
        """From the query or the facets to the notes; there, clear the query and the filters."""
        if self.focused is not self.hits:
            self.hits.focus()
        elif self.has_class("faceted"):
            self.remove_class("faceted")
        elif self.typed or self._wanted:
            self._wanted.clear()
            self._show_filters()
            if self.typed:
                self.query_one("#query", Input).value = ""
            else:
                self._search()

    @on(OptionList.OptionSelected, "#hits")
    def _open(self, event: OptionList.OptionSelected) -> None:
        self.program.open_note(event.option_id or "")

    def action_edit(self) -> None:
        from anamnesis.tui.user_editor import edit

        if note := self.chosen:
            edit(self.program, note.id)

    def action_new(self) -> None:
        from anamnesis.tui.user_editor import write

        write(self.program, project=self._wanted.get("project") or "global")

    def action_history(self) -> None:
        from anamnesis.tui.history import History

        if note := self.chosen:
            self.app.push_screen(History(note.id))

    def action_timeline(self) -> None:
        if note := self.chosen:
            self.program.show_timeline(note)
