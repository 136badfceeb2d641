"""The context for an agent: at the start of a session the notes of its project, at a prompt the notes about it.

Notes are passed as recalled data, fenced and with their origin, never as instructions.
"""

from __future__ import annotations

import math
import os
import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

from anamnesis.config import DEFAULT_BUDGET, resolve_settings
from anamnesis.notes import PINNED, REFLECTED, Memory
from anamnesis.notes.foreign import ForeignNote, with_origins
from anamnesis.notes.record import GLOBAL
from anamnesis.project import MARKER, Project, find_project
from anamnesis.recall.query import telling_words
from anamnesis.recall.relevance import is_about, says_something, subject
from anamnesis.store import MemoryStore
from anamnesis.store.question import Marks, Ranked, is_weak

__all__ = [
    "SessionStart",
    "notice_of",
    "render_inject",
    "render_recall",
    "resolve_project_key",
    "select_inject",
    "select_recall",
    "session_start",
    "why_injected",
]

_DURABLE = ("procedural", "semantic")
_MAX_EPISODIC = 2
_PAGE = 50
# The number of newest global notes that are candidates, unless the budget fits more; and of those from a search.
_MOST_GLOBAL = 200
_MOST_ABOUT = 50
# The most notes about the current work, besides the others of the project.
_MOST_AT_HAND = 8
# No note takes fewer characters, with its heading and origin.
_SHORTEST_NOTE = 100
# One note may have this fraction (1/N) of the budget if not all of them fit.
_PART = 5
_LONGEST_RECALLED = 1_000
# From this probability on, a note is about a prompt with several subject words, even if it holds none of them; see
# docs/decisions/recall-at-a-prompt.md.
_CLEARLY_FITTING = 0.7
# Quotes nothing from the marker, which may come from a hostile clone.
_UNTRUSTED = (
    f"Anamnesis injected no notes of the project that {MARKER} names: git tracks that file, and it contradicts the git"
    " remote. The user can run `anamnesis project` to compare them, and `anamnesis project trust` to accept the file.\n"
)


def resolve_project_key(cwd: str | Path) -> str:
    """The key of a folder's project, for scripts; callers with settings use `find_project`."""
    settings = resolve_settings()
    return find_project(cwd, settings.home, settings.user_home).key


# What a session is told once, before it writes anything.
_SHARED = (
    "Anamnesis: this project belongs to the space {}, whose members read what `memory_write` writes about it and the"
    ' summary of this session. Tell the user; `memory_write` with space "~" keeps a note private.\n'
)


class SessionStart(NamedTuple):
    """The notes that were selected for a session, the text that it gets, and the ids of the notes in it.

    `space` is the shared space that the text names as the one of the project.
    """

    notes: list[Memory]
    text: str
    told: set[str]
    space: str


def session_start(
    store: MemoryStore, *, project: str, budget: int, at_hand: Sequence[str] = (), notice: str = ""
) -> SessionStart:
    """What a new session is told: first the notices, then as many notes as the rest of the budget holds."""
    from anamnesis.notes.fence import ids_in
    from anamnesis.store.spaces import space_of_project  # which the hook at a prompt does not need

    if space := space_of_project(store, project):
        notice += _SHARED.format(space)
    notes = select_inject(store, project=project, budget=budget, at_hand=at_hand)
    text = notice + render_inject(notes, budget - len(notice))
    return SessionStart(notes, text, ids_in(text), space)


def notice_of(project: Project) -> str:
    """Tells the session of a folder whose marker is not trusted that it gets no notes of the project it names."""
    return _UNTRUSTED if project.ignored else ""


def select_inject(
    store: MemoryStore, *, project: str, k: int = 8, budget: int = DEFAULT_BUDGET, at_hand: Sequence[str] = ()
) -> list[Memory]:
    """The notes for the start of a session: the pinned ones, the global ones that fit into `budget`, up to k others of
    the project, and those about the current work (`at_hand`) or about what was left open.

    Notes of others fill what the user's own notes leave of the k. Recent durable notes fill the k, except for up to two
    of the newest episodic ones, which say what was last done. Left out: superseded notes, episodes folded into durable
    notes, and notes that are held for a review. An outdated note is included only if it is pinned or about the current
    work, and after the newer one.
    """
    from anamnesis.at_hand import open_ends  # that a prompt does not need

    superseded = store.superseded_ids()
    left_out = superseded | store.outdated_ids()
    episodes = _newest(store, left_out, min(_MAX_EPISODIC, max(k, 0)), project=project, type="episodic")
    wanted = max(0, k - sum(not _is_foreign(note) for note in episodes))
    durable = [note for kind in _DURABLE for note in _newest(store, left_out, wanted, project=project, type=kind)]
    durable = _own_first(durable, wanted)
    room = max(0, k - sum(not _is_foreign(note) for note in durable))
    episodes = _own_first(episodes, room)
    ours = [*_own_first(durable, max(0, k - len(episodes))), *episodes]
    hints = [*at_hand, *(open_ends(episodes[0].body) if episodes else ())]
    chosen = [*ours, *_about(store, project, hints, {note.id for note in ours})]
    if project != GLOBAL:
        most = max(_MOST_GLOBAL, budget // _SHORTEST_NOTE)
        chosen = [*_global_notes(store, left_out, project, ours, most, hints), *chosen]
    first = {note.id: note for note in _pinned(store, superseded, project)}
    return _newer_first(store, [*first.values(), *(note for note in chosen if note.id not in first)])


def why_injected(note: Memory, *, project: str, at_hand: Sequence[str] = ()) -> str:
    """The reason why `select_inject` has chosen a note, in a few words for a person."""
    words = _words(f"{note.title} {note.body}")
    shared = [hint for hint in at_hand if _words(hint) & words]
    about = f", about {', '.join(shared)}" if shared else ""
    if PINNED in note.tags:
        return f"pinned{about}"
    if note.project == GLOBAL != project:
        return f"for every project{about}"
    return f"{'one of the last sessions' if note.type == 'episodic' else 'of this project'}{about}"


def select_recall(store: MemoryStore, prompt: str, *, project: str, known: set[str], most: int = 3) -> list[Memory]:
    """The notes that a prompt is clearly about and that the session has not received; mostly none.

    As at the start of a session, held notes are left out, and notes of others get what the user's own leave.
    """
    asked = subject(prompt)
    if not asked:
        return []
    found = _best(store, prompt, asked, project, most)
    if found and store.origins(store.whole(found)):  # they may have the places of the user's own
        found = _best(store, prompt, asked, project, _MOST_ABOUT)
    found = {id: hit for id, hit in found.items() if id not in known and not is_weak(hit.fit)}
    held, named, notes, total = store.coverage(telling_words(prompt), list(found))
    if not says_something(notes, total):
        return []
    least = _CLEARLY_FITTING if " " in asked else math.inf
    relevant = [
        hit for note, hit in found.items() if (hit.fit or 0) >= least or is_about(held[note], named[note], notes, total)
    ]
    relevant.sort(key=lambda hit: (hit.fit or 0, hit.score), reverse=True)
    files = store.files(hit.id for hit in relevant)
    about = [file.memory for hit in relevant if (file := files.get(hit.id)) and file.memory]
    return _newer_first(store, sorted(_allowed(store, about), key=_is_foreign)[:most], known)[:most]


def _best(store: MemoryStore, prompt: str, asked: str, project: str, most: int) -> dict[str, Ranked]:
    """The best hits for a prompt in a project, and the best global ones."""
    found: dict[str, Ranked] = {}
    for place in dict.fromkeys((project, GLOBAL)):
        hits = store.best(prompt, project=place, k=most)
        if hits and all(hit.fit is None for hit in hits):  # by words alone, common words of requests would decide
            hits = store.best(asked, project=place, k=most, mode="words")
        found |= {hit.id: hit for hit in hits}
    return found


def render_inject(memories: Sequence[Memory], budget: int = DEFAULT_BUDGET, *, word: str = "") -> str:
    """The notes as one fenced block of at most `budget` characters; a line counts those left out.

    All notes in order if they fit, in full or with the longest cut; else the pinned ones come first, then the
    project's, then the others in their order. The fence's word is random unless given.
    """
    if not memories:
        return ""
    from anamnesis.notes.fence import block, fenced

    word = word or _random_word()
    blocks = [block(note, budget // _PART) for note in memories]
    room = budget - len(fenced([], "", word)) - len(_more(len(memories)))
    if sum(map(len, blocks)) <= room:
        blocks = _lengthened(memories, blocks, budget // _PART, room)
    else:
        ours_first = sorted(zip(memories, blocks, strict=True), key=lambda pair: _is_later(pair[0]))
        blocks = _fitting([each for _, each in ours_first], room)
    left_out = len(memories) - len(blocks)
    return fenced(blocks, _more(left_out) if left_out else "", word)


def render_recall(memories: Sequence[Memory], *, word: str = "") -> str:
    """The notes about a prompt as one fenced block."""
    if not memories:
        return ""
    from anamnesis.notes.fence import block, fenced  # 2 ms that most prompts need not wait for

    return fenced([block(note, _LONGEST_RECALLED) for note in memories], "", word or _random_word())


def _newer_first(store: MemoryStore, notes: list[Memory], known: Collection[str] = ()) -> list[Memory]:
    """The notes with the marks that agents see, and with the newest note before each outdated one, unless known."""
    found = store.marks(note.id for note in notes)
    if not found and not any(note.extra for note in notes):
        return notes
    from anamnesis.notes.marks import with_marks
    from anamnesis.store.linked import in_order, newer_of

    newer = newer_of(found)
    missing = {ids[0] for ids in newer.values()}.difference(known, (note.id for note in notes))
    all = {note.id: note for note in (*notes, *_due(store, store.live(missing)))}
    found |= store.marks(missing)
    return [
        with_marks(note, found.get(note.id, Marks()).as_marks()) if note.id in found or note.extra else note
        for note in (all[id] for id in in_order([*all], newer))
    ]


def _random_word() -> str:
    return os.urandom(4).hex()


def _newest(store: MemoryStore, left_out: set[str], wanted: int, **filters: Any) -> list[Memory]:
    """The newest notes that can be injected, the user's own before those of others, reading only what is needed."""
    found = _pages(store, left_out, wanted, **filters)
    if any(map(_is_foreign, found)):
        others = tuple(store.shared.by_others()) if store.has_shared else ()
        known = {note.id for note in found}
        found += [note for note in _pages(store, left_out, wanted, others=others, **filters) if note.id not in known]
    return _own_first(found, wanted)


def _pages(store: MemoryStore, left_out: set[str], wanted: int, **filters: Any) -> list[Memory]:
    """At least this many of the newest notes that can be injected, if there are as many."""
    found: list[Memory] = []
    for page in count():
        notes = store.list(**filters, limit=_PAGE, offset=page * _PAGE)
        found += _due(store, [note for note in notes if note.id not in left_out])
        if len(found) >= wanted or len(notes) < _PAGE:
            return found
    return found


def _own_first(notes: Iterable[Memory], most: int) -> list[Memory]:
    """The newest `most` of the notes, those of others only where the user's own leave room."""
    newest = sorted(notes, key=_recency, reverse=True)
    return sorted(sorted(newest, key=_is_foreign)[:most], key=_recency, reverse=True)


def _is_foreign(note: Memory) -> bool:
    return isinstance(note, ForeignNote)


def _pinned(store: MemoryStore, superseded: set[str], project: str) -> list[Memory]:
    """The pinned notes of a project and the pinned global ones, the newest first."""
    if not store.count(tags=(PINNED,)):
        return []
    places = dict.fromkeys((project, GLOBAL))
    notes = [note for place in places for note in _newest(store, superseded, _PAGE, project=place, tags=(PINNED,))]
    return [note for note in notes if not _is_unreviewed(note)]


def _is_later(note: Memory) -> tuple[bool, bool, bool]:
    """The order in which notes are dropped if not all fit: others' first, then global ones, pinned ones last."""
    return _is_foreign(note), PINNED not in note.tags, note.project == GLOBAL


def _due(store: MemoryStore, notes: Iterable[Memory]) -> list[Memory]:
    """Those of the notes that may be injected: neither folded episodes nor held notes."""
    return _allowed(store, [note for note in notes if REFLECTED not in note.tags])


def _allowed(store: MemoryStore, notes: Sequence[Memory]) -> list[Memory]:
    """The notes without held ones. Those of others have their origin, and pins that the user has accepted."""
    shown = with_origins(notes, store.origins(notes))
    return [_without_pin(note) for note in shown if not (isinstance(note, ForeignNote) and note.origin.is_held)]


def _without_pin(note: Memory) -> Memory:
    tags = [tag for tag in note.tags if tag.lower() != PINNED]
    return replace(note, tags=tags) if _is_unreviewed(note) and tags != note.tags else note


def _is_unreviewed(note: Memory) -> bool:
    return isinstance(note, ForeignNote) and note.origin.is_unreviewed


def _recency(note: Memory) -> tuple[str, float]:
    return note.updated_at, note.confidence


def _about(store: MemoryStore, project: str, hints: Sequence[str], known: set[str]) -> list[Memory]:
    """The other notes of the project that are about the words of one of the hints, the best first."""
    words = list(dict.fromkeys(word for hint in hints for word in hint.split()))
    if not words:
        return []
    hits = store.hits(" ".join(words), project=project, k=_MOST_AT_HAND + len(known))
    found = {note.id: note for note in _due(store, [hit.memory for hit in hits if hit.memory.id not in known])}
    held, named, notes, total = store.coverage(words, list(found))
    asked = [{word: notes[word] for word in hint.split()} for hint in hints]
    about = [
        note
        for id, note in found.items()
        if any(is_about(held[id] & hint.keys(), named[id] & hint.keys(), hint, total) for hint in asked)
    ]
    return sorted(about, key=_is_foreign)[:_MOST_AT_HAND]


def _global_notes(
    store: MemoryStore, left_out: set[str], project: str, ours: list[Memory], most: int, hints: Sequence[str]
) -> list[Memory]:
    """The global notes: first those that share words with this project and the current work, then the newest."""
    notes = _newest(store, left_out, most, project=GLOBAL)
    matters = _words(" ".join([project.rpartition("/")[2], *(note.title for note in ours), *hints]))
    if len(notes) == most:  # older ones may matter more
        about = store.search(" ".join(sorted(matters)), project=GLOBAL, k=_MOST_ABOUT)
        known = {note.id for note in notes}
        notes += _due(store, [note for note in about if note.id not in known])
    shared = [matters & _words(f"{note.title} {note.body}") for note in notes]
    held = Counter(word for words in shared for word in words)
    relevance = [sum(math.log(1 + len(notes) / held[word]) for word in words) for words in shared]
    order = sorted(range(len(notes)), key=lambda position: relevance[position], reverse=True)
    return [notes[position] for position in order]


def _words(text: str) -> set[str]:
    return {word.lower() for word in re.findall(r"\w{4,}", text)}


def _lengthened(memories: Sequence[Memory], blocks: list[str], longest: int, room: int) -> list[str]:
    """The blocks with the long notes in full or, if that does not fit, cut at the same length."""
    from anamnesis.notes.fence import block

    long = [place for place, note in enumerate(memories) if len(note.body) > longest]
    room -= sum(len(each) for place, each in enumerate(blocks) if place not in long)
    lengths = range(longest, max(longest, room) + 1)
    fits = bisect_right(lengths, room, key=lambda length: sum(len(block(memories[place], length)) for place in long))
    return [block(note, lengths[fits - 1]) if place in long else blocks[place] for place, note in enumerate(memories)]


def _fitting(blocks: list[str], room: int) -> list[str]:
    kept = []
    for each in blocks:
        if len(each) <= room:
            kept.append(each)
            room -= len(each)
    return kept


def _more(count: int) -> str:
    return f"{count} more notes did not fit: memory_list shows their titles, memory_search finds them by words.\n"
