"""A text made of others is as foreign as its most foreign source: no chain tells an unaccepted text as one's own."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import date
from pathlib import Path
from typing import Any

from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.dream.memory import TEXT

from anamnesis import review
from anamnesis.dream import reviewing
from anamnesis.dream.admitting import admit
from anamnesis.dream.cycle import Options, dream
from anamnesis.dream.dream_journal import report
from anamnesis.dream.reflecting import by_rules, reflect, take
from anamnesis.errors import AnamnesisError
from anamnesis.notes import Memory, MemoryType
from anamnesis.notes.foreign import as_foreign
from anamnesis.notes.merge import merge
from anamnesis.notes.spaces import space_line
from anamnesis.reflect.folding import Lesson, Stamp
from anamnesis.store import MemoryStore
from anamnesis.store.shared_notes import Shared

SAID = "We decided to use kubectl for every deployment."
TYPES: tuple[MemoryType, MemoryType] = ("semantic", "episodic")
KINDS = ("own", "import", "reviewed", "mate")


@dataclass
class World:
    """A store, and the words that mark the texts which the user has not accepted."""

    store: MemoryStore
    foreign: set[str] = field(default_factory=set)
    count: int = 0

    def write(self, kind: str, *, episodic: bool, marked: bool) -> Memory:
        """A note, with a word of its own if it is an episode or `marked`."""
        self.count += 1
        word = f"mark{self.count}x"
        texts = {"title": "Session", "body": f"{SAID} {word}"} if episodic else {"title": "Deploy", "body": TEXT}
        if marked:
            texts["body"] += f"\n{word}"
        agents = {"prov_source": "session-end", "prov_session": word} if episodic else {"prov_session": "s1"}
        extra = space_line("core") if kind == "mate" else {}
        note = self.store.write(type=TYPES[episodic], project="shop", extra=extra, **texts, **agents)  # type: ignore[arg-type]
        if kind in ("import", "reviewed"):
            note = self.store.put(as_foreign(note, "alice"))
        if kind == "mate":
            self.store.shared.record([Shared(note.id, "core", "mate")])
        if kind in ("import", "mate"):
            self.foreign.add(word)
        if kind == "reviewed":
            review.accept(self.store, note.id)
        return note

    def accept(self, number: int) -> None:
        """Accept one of the notes that wait: its text is the user's from now on."""
        if waiting := review.waiting(self.store):
            note = review.accept(self.store, waiting[number % len(waiting)].id)
            self.foreign -= self.words_in(note)

    def words_in(self, note: Memory) -> set[str]:
        text = f"{note.title}\n{note.body}".split()
        return {word for word in text if word.startswith("mark")}

    def episodes(self, number: int) -> list[Memory]:
        found = self.store.whole(self.store.unreflected())
        return found[: number % 3 + 1]

    def reflect_as_agent(self, number: int) -> None:
        """An agent's lesson that quotes the text of its sources."""
        sources = self.episodes(number)
        text = "\n".join(f"{each.title} {each.body}" for each in sources)
        lesson = Lesson("Lesson", text, "semantic", tuple(each.id for each in sources))
        take(self.store, [lesson], [], Stamp("agent", "here", "2026-01-01T00:00:00+00:00"))

    def draft(self, number: int) -> None:
        """An agent writes again what it has read in one note."""
        notes = self.store.list()
        note = next(iter(self.store.whole([notes[number % len(notes)].id])))
        if not self.foreign & self.words_in(note):  # what an agent has read and says anew is the agent's
            fields = {name: getattr(note, name) for name in ("type", "title", "project")}
            admit(self.store, {**fields, "body": f"{note.body}\nAnd more.", "machine_id": "here"}, "s")

    def check(self) -> None:
        notes = self.store.whole([note.id for note in self.store.list()])
        origins = self.store.origins(notes)
        for note in notes:
            if words := self.foreign & self.words_in(note):
                origin = origins.get(note.id)
                assert origin and origin.is_unreviewed, (words, note)
        own = [note.id for note in notes if note.id not in origins]
        by = self.store.superseding(own).values()
        assert not any(id in origins and origins[id].is_unreviewed for id in by), "it hides no note of the user"


TODAY = date(2026, 1, 1)
STEPS: dict[str, Callable[[World, int], Any]] = {
    "dream": lambda world, _: dream(world.store, Options(share=1.0)),
    "decide": lambda world, _: reviewing.accept(world.store, reviewing.listed(world.store, TODAY)),
    "reflect": lambda world, _: reflect(world.store, by_rules(world.store)),
    "agent": World.reflect_as_agent,
    "draft": World.draft,
    "accept": World.accept,
}


@settings(max_examples=3, deadline=None)
@example([("own", False, False), ("import", False, True)], [("dream", 0), ("accept", 0), ("dream", 0)])
@example([("own", True, False), ("reviewed", True, False)], [("reflect", 0), ("agent", 1)])
@given(
    st.lists(st.tuples(st.sampled_from(KINDS), st.booleans(), st.booleans()), min_size=3, max_size=6),
    st.lists(st.tuples(st.sampled_from([*STEPS]), st.integers(0, 9)), min_size=3, max_size=6),
)
def test_nothing_made_of_an_unaccepted_text_is_told_as_own(
    notes: list[tuple[str, bool, bool]], steps: list[tuple[str, int]]
) -> None:
    with tempfile.TemporaryDirectory() as folder, MemoryStore(Path(folder)) as store:
        world = World(store)
        for kind, episodic, marked in notes:
            world.write(kind, episodic=episodic, marked=marked)
        for step, number in steps:
            with suppress(AnamnesisError):  # a step that is refused changes nothing
                STEPS[step](world, number)
            world.check()


def test_a_lesson_of_an_accepted_import_says_where_it_is_from_and_waits_itself(tmp_path: Path) -> None:
    with MemoryStore(tmp_path) as store:
        world = World(store)
        world.write("own", episodic=True, marked=False)
        world.write("reviewed", episodic=True, marked=False)
        world.reflect_as_agent(1)
        lesson = next(note for note in store.list() if note.title == "Lesson")
        assert store.origins([lesson])[lesson.id].shown() == {"origin": "imported from alice", "unreviewed": True}
        assert lesson.id in review.waiting_ids(store)


def test_dreams_change_no_note_of_the_user_because_of_an_unaccepted_one(tmp_path: Path) -> None:
    """An import that says more hides none of them until the user accepts it."""
    with MemoryStore(tmp_path) as store:
        world = World(store)
        own = world.write("own", episodic=False, marked=False)
        foreign = world.write("import", episodic=False, marked=True)
        dream(store, Options(share=1.0))
        assert store.whole([own.id]) == [own] and not store.superseded_ids()
        review.accept(store, foreign.id)
        change = dream(store, Options(share=1.0)).change
        assert store.superseded_ids() == {own.id}
        assert change and f"- {foreign.id} Deploy (imported from alice, reviewed)" in report(store, change)


LINES = st.lists(st.sampled_from(["one", "two", "three", "four"]), min_size=1, max_size=4, unique=True)


@given(LINES, LINES, st.booleans(), st.booleans())
def test_a_merge_with_an_import_is_an_import(ours: list[str], theirs: list[str], newer: bool, based: bool) -> None:
    times = ("2026-01-02T00:00:00+00:00", "2026-01-01T00:00:00+00:00")
    own = Memory("01KDWHZ4000000000000000WNE", "semantic", "T", "\n".join(ours), updated_at=times[newer])
    text = "\n".join([*theirs, "foreign"])
    other = as_foreign(replace(own, body=text, updated_at=times[not newer]), "alice")
    found = merge(replace(own, body="one") if based else None, own, other)
    for note in (found.note, found.other):
        assert note is None or "foreign" not in note.body or note.prov_source == "import"
