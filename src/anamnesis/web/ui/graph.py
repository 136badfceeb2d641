"""The graph of notes, tags, projects and links around one of them, which a click extends."""

from __future__ import annotations

from collections.abc import Sequence

from anamnesis.errors import InvalidArgument
from anamnesis.notes import Memory
from anamnesis.notes.links import named
from anamnesis.store import MemoryStore
from anamnesis.store.facets import Link, links, named_notes
from anamnesis.web.lanes import Lane
from anamnesis.web.ui.notes import page_of
from anamnesis.web.ui.view import Data, PageRequest, Site, View

_MOST = 24
_RELATED = 8


class _Graph:
    """Nodes by key, such as note:ID or tag:NAME, and the links between them."""

    def __init__(self) -> None:
        self.nodes: dict[str, Data] = {}
        self.links: dict[tuple[str, str], str] = {}

    def add(self, kind: str, name: str, label: str) -> str:
        key = f"{kind}:{name}"
        self.nodes.setdefault(key, {"key": key, "kind": kind, "label": label})
        return key

    def note(self, note: Memory) -> str:
        return self.add("note", note.id, note.title)

    def link(self, one: str, other: str, how: str) -> None:
        if (other, one) not in self.links:
            self.links.setdefault((one, other), how)

    def as_dict(self, around: str) -> Data:
        """The nodes, each with the keys of its neighbours and its link to the node in the middle."""
        to: dict[str, dict[str, str]] = {key: {} for key in self.nodes}
        for (one, other), how in self.links.items():
            to[one][other] = to[other][one] = how
        nodes = [{**node, "to": [*to[key]], "how": to[key].get(around, "")} for key, node in self.nodes.items()]
        return {
            "nodes": nodes,
            "links": [{"from": one, "to": other, "how": how} for (one, other), how in self.links.items()],
        }


def _read(site: Site, request: PageRequest) -> Data:
    store = site.vault.notes
    around, page = request.query.get("around", ""), page_of(request)
    if around and ":" not in around:  # an id alone
        around = f"note:{around}"
    kind, _, name = around.partition(":")
    graph, start = _Graph(), (page - 1) * _MOST
    found: Sequence[object]
    if not around:
        found = newest = store.list(limit=_MOST + 1, offset=start)
        for note in newest[:_MOST]:
            _place(graph, note)
    elif kind == "note":
        found = _around_note(store, graph, name, start)
    elif kind in ("tag", "project") and name:
        filters = {"tags": (name,)} if kind == "tag" else {"project": name}
        found = newest = store.list(limit=_MOST + 1, offset=start, **filters)
        center = graph.add(kind, name, name)
        for note in newest[:_MOST]:
            graph.link(graph.note(note), center, kind)
    else:
        raise InvalidArgument(f"{around[:80]!r} is not a node.", "Give note:ID, tag:NAME or project:NAME.")
    title = graph.nodes[around]["label"] if around in graph.nodes else ""
    more = len(found) > _MOST
    drawn = graph.as_dict(around)
    origins = store.origins(store.whole(each["key"][5:] for each in drawn["nodes"] if each["kind"] == "note"))
    for each in drawn["nodes"]:
        if each["kind"] == "note" and (origin := origins.get(each["key"][5:])):
            each |= origin.shown() | {"label": f"{each['label']} ({origin.brief})"}
    return {"around": around, "kind": kind, "title": title, "page": page, "more": more, **drawn}


def _place(graph: _Graph, note: Memory) -> str:
    key = graph.note(note)
    graph.link(key, graph.add("project", note.project, note.project), "project")
    for tag in note.tags[:_RELATED]:
        graph.link(key, graph.add("tag", tag, tag), "tag")
    return key


def _around_note(store: MemoryStore, graph: _Graph, note_id: str, start: int) -> list[Link]:
    """Add a note with its project, tags, links from `start` on, and related notes; returns the links."""
    note = store.get(note_id)
    key = _place(graph, note)
    known = named_notes(store, named(note.body))
    found = links(store, note.id, note.title, known.values())[start : start + _MOST + 1]
    for link in found[:_MOST]:
        graph.link(key, graph.add("note", link.id, link.title), link.how)
    if start:
        return found
    for hit in store.related(note.id, k=_RELATED, warm=True):
        graph.link(key, graph.note(hit.memory), "about the same")
    return found


VIEWS = (View("/graph", "graph.html", _read, Lane.SEARCH),)
