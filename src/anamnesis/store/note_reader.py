"""Reads notes: whole ones from their files, lists and links from the index alone. Changes none."""

from __future__ import annotations

import builtins
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple, Unpack

from anamnesis.errors import NoteNotFound
from anamnesis.notes import Memory, MemoryType, Scope, check_id
from anamnesis.store import queries
from anamnesis.store.catalogue import Catalogue
from anamnesis.store.files import NoteFile, NoteFiles
from anamnesis.store.index import Connection
from anamnesis.store.projects import all_projects, by_any_name, check_project, counts_by_project
from anamnesis.store.queries import Filter, MoreFilters, StoreStats, at_least_zero
from anamnesis.store.question import Marks, Mode, Question, Ranked, Why, is_weak
from anamnesis.store.ranking import Ranking
from anamnesis.store.word_search import Coverage, coverage

if TYPE_CHECKING:
    from anamnesis.notes.foreign import Origin
    from anamnesis.store.problems import Problem
    from anamnesis.store.suggestions import Suggestions

# How often a search that finds stale files refreshes them and repeats, so that it does not chase a file for ever.
_STALE_ROUNDS = 4


class Hit(NamedTuple):
    """A note that a search found, with its score: higher is better.

    `fit` is the probability that the note answers the query, where meaning was compared; `why` explains the score, if
    the search was to `explain`.
    """

    memory: Memory
    score: float
    fit: float | None = None
    why: Why | None = None
    marks: Marks = Marks()

    @property
    def is_weak(self) -> bool:
        return is_weak(self.fit)


def hits_with_origins(
    hits: builtins.list[Hit], origins: Callable[[builtins.list[Memory]], dict[str, Origin]]
) -> builtins.list[Hit]:
    """The hits, those of foreign notes with their origin."""
    found = origins([hit.memory for hit in hits])
    if not found:
        return hits
    return [hit._replace(marks=hit.marks._replace(origin=found.get(hit.memory.id))) for hit in hits]


class NoteReader:
    """The reads of a store. A read that finds a changed file indexes it first, where the result depends on it."""

    ranking: Ranking
    _files: NoteFiles
    _catalogue: Catalogue

    def get(self, memory_id: str) -> Memory:
        """Read a note from its file."""
        return self._catalogue.located(memory_id)[1]

    def find(self, memory_id: str) -> Memory | None:
        """Read a note from its file; None if there is none."""
        try:
            return self.get(memory_id)
        except NoteNotFound:
            return None

    def file(self, memory_id: str) -> NoteFile | None:
        """The standing file of a note; None if there is none that can be read."""
        return self.files([memory_id]).get(memory_id)

    def files(self, ids: Iterable[str], *, renamed: bool = True) -> dict[str, NoteFile]:
        """The standing files of notes, by id, without unreadable ones. Files that were edited in place are indexed.

        `renamed=False` skips the rescan of the folders for files that have just been renamed.
        """
        return self._catalogue.readable([check_id(memory_id) for memory_id in dict.fromkeys(ids)], renamed=renamed)

    def search(
        self,
        query: str,
        *,
        project: str | None = None,
        type: MemoryType | None = None,
        scope: Scope | None = None,
        k: int = 8,
        mode: Mode = "fused",
    ) -> builtins.list[Memory]:
        """The k notes that best match the query, ranked according to `mode`, read from their files."""
        return [hit.memory for hit in self.hits(query, project=project, type=type, scope=scope, k=k, mode=mode)]

    def hits(
        self,
        query: str,
        *,
        project: str | None = None,
        type: MemoryType | None = None,
        scope: Scope | None = None,
        k: int = 8,
        mode: Mode = "fused",
        explain: bool = False,
        at_hand: str | None = None,
        **also: Unpack[MoreFilters],
    ) -> builtins.list[Hit]:
        """The results of `search` with their scores, and with the reasons for the scores if `explain` is set.

        Of notes with nearly equal scores, those of the current project, `at_hand`, come first.
        """
        wanted = Filter(project, type, scope, **also)
        near = None if project else at_hand
        return self._hits(Question(query, wanted, at_least_zero("k", k), mode, explain, near))

    def best(self, query: str, *, project: str, k: int, mode: Mode = "fused") -> builtins.list[Ranked]:
        """The hits without their notes; reads only files that changed since they were indexed."""
        asked = Question(query, Filter(project), at_least_zero("k", k), mode)
        for _ in range(_STALE_ROUNDS):
            ranked = self.ranking.rank(asked)
            changed = [each.path for each in ranked if self._files.seen(each.path) != each.seen]
            if not changed or not self._catalogue.refresh_files({path: self._files.read(path) for path in changed}):
                break
        return ranked

    def related(
        self,
        memory_id: str,
        *,
        project: str | None = None,
        type: MemoryType | None = None,
        scope: Scope | None = None,
        k: int = 5,
        warm: bool = False,
    ) -> builtins.list[Hit]:
        """The k notes closest to a note, without weak hits; the note itself would have a score of 1.

        Notes are compared by meaning, or by words where that is not possible. With `warm`, only a model that is already
        loaded is used, and nothing is found without one.
        """
        note = self.get(memory_id)
        wanted = Filter(project, type, scope)
        return self._hits(Question("", wanted, at_least_zero("k", k), like=note.id, warm=warm))

    def coverage(self, words: builtins.list[str], ids: builtins.list[str]) -> Coverage:
        """Which of the words each of these notes holds, and how many of all notes hold each."""
        return self._catalogue.ask(lambda db: coverage(db, words, ids))

    def suggest(self, query: str) -> Suggestions:
        """Suggestions after a search that found nothing."""
        from anamnesis.store.suggestions import suggest  # that hooks need not import

        return self._catalogue.ask(lambda db: suggest(db, query))

    def list(
        self,
        *,
        project: str | None = None,
        type: MemoryType | None = None,
        scope: Scope | None = None,
        limit: int | None = None,
        offset: int = 0,
        order: str = "updated",
        **also: Unpack[MoreFilters],
    ) -> builtins.list[Memory]:
        """Notes, newest first, from the index alone: without foreign front matter, and without reading files.

        Other orders: by the time of creation, by title, by project.
        """
        wanted = Filter(project, type, scope, **also)
        limit = None if limit is None else at_least_zero("limit", limit)
        offset = at_least_zero("offset", offset)
        return self._catalogue.ask(lambda db: queries.list_notes(db, by_any_name(db, wanted), limit, offset, order))

    def count(
        self,
        *,
        project: str | None = None,
        type: MemoryType | None = None,
        scope: Scope | None = None,
        **also: Unpack[MoreFilters],
    ) -> int:
        """How many notes there are."""
        wanted = Filter(project, type, scope, **also)
        return self._catalogue.ask(lambda db: queries.count_notes(db, by_any_name(db, wanted)))

    def stats(self) -> StoreStats:
        """How many notes there are in total, by type, by project and by scope."""
        found = self._catalogue.ask(queries.stats)
        return found._replace(by_project=counts_by_project(found.by_project))

    def projects(self) -> builtins.list[str]:
        """The projects of all notes, under every name."""
        return self._catalogue.ask(all_projects)

    def check_project(self, name: str) -> None:
        """Refuse a short name of several projects that is not a project itself: a search of it would be empty."""
        self._catalogue.ask(lambda db: check_project(db, name))

    def hashes(self, *, hidden: bool = True) -> dict[str, bytes]:
        """The hash of the file of every note, or of every one that is not hidden."""
        return self._catalogue.ask(lambda db: queries.hashes(db, hidden))

    def hashes_of(self, ids: Iterable[str]) -> dict[str, bytes]:
        """The hashes of the files of these notes."""
        return {id: hash for id, (_, hash) in self._catalogue.ask(lambda db: queries.standing(db, ids)).items()}

    def live(self, ids: Iterable[str]) -> builtins.list[Memory]:
        """Those of the notes that are neither hidden nor superseded, whole and from the index alone."""
        return self._catalogue.ask(lambda db: queries.live_notes(db, ids))

    def whole(self, ids: Iterable[str]) -> builtins.list[Memory]:
        """Those of the notes that are not hidden, superseded ones too, whole and from the index alone."""
        return self._catalogue.ask(lambda db: queries.whole_notes(db, ids))

    def marks(self, ids: Iterable[str]) -> dict[str, Marks]:
        """Those of the notes that are outdated, contradicted or stale."""

        def read(db: Connection) -> dict[str, Marks]:
            if not queries.has_marks(db):
                return {}
            from anamnesis.store.linked import marked  # hooks need not import it

            return marked(db, ids)

        return self._catalogue.ask(read)

    def linking(self, ids: Iterable[str]) -> set[str]:
        """The ids of the notes whose marks name one of these."""
        return self._catalogue.ask(lambda db: queries.linking(db, ids))

    def outdated_ids(self, without: Collection[str] = ()) -> set[str]:
        """The ids of the notes that a newer note outdates, not counting some; they are found, but not injected."""
        return self._catalogue.ask(lambda db: queries.outdated_ids(db, without))

    def hiders_in_doubt(self) -> builtins.list[str]:
        """The notes that supersede or outdate others, and that were imported, are held or name a space."""
        return self._catalogue.ask(queries.hiders_in_doubt)

    def ids_of(self, project: str, names: Sequence[str] | None = None) -> builtins.list[str]:
        """The ids of a project's notes; only of those that hold one of `names`, if given."""
        from anamnesis.store.mentions import ids_of  # that hooks need not import

        return self._catalogue.ask(lambda db: ids_of(db, project, names))

    def superseding(self, ids: Iterable[str]) -> dict[str, str]:
        """Which of these notes are superseded, and by which."""
        return self._catalogue.ask(lambda db: queries.superseding(db, ids))

    def supersessions(self, ids: Iterable[str]) -> dict[str, set[str]]:
        """The ids that each note supersedes, for all notes linked to these by supersessions, directly or indirectly."""
        return self._catalogue.ask(lambda db: queries.supersessions(db, ids))

    def superseded_ids(self, without: Collection[str] = ()) -> set[str]:
        """The ids of superseded notes, which search leaves out; not counting what some notes supersede."""
        return self._catalogue.ask(lambda db: queries.superseded_ids(db, without))

    def problems(self) -> builtins.list[Problem]:
        """The files that are not notes, and duplicates, with the reasons."""
        from anamnesis.store.problems import problems  # that hooks need not import

        return self._catalogue.ask(problems)

    def tagged(self, tag: str) -> builtins.list[str]:
        """The ids of the notes that have a tag."""
        return self._catalogue.ask(lambda db: queries.tagged(db, tag))

    def unreflected(self, project: str | None = None) -> dict[str, bytes]:
        """The live episodes that were not folded into durable notes, the oldest first: the hashes of their files."""
        return self._catalogue.ask(lambda db: queries.unreflected(db, by_any_name(db, Filter(project, "episodic"))))

    def having(
        self, stems: Sequence[str], *, project: str, scope: Scope | None = None, k: int = 8
    ) -> builtins.list[Memory]:
        """Up to k live durable notes of a project that have, for each of the stems, a word that begins with it."""
        wanted = Filter(project, scope=scope)
        ids = self._catalogue.ask(lambda db: queries.having(db, stems, by_any_name(db, wanted), k))
        return self.live(ids)

    def ids_from(self, source: str) -> builtins.list[str]:
        """The ids of the notes that have this `prov_source`."""
        return self._catalogue.ask(lambda db: queries.ids_from(db, source))

    def marked(self, name: str) -> builtins.list[str]:
        """The ids of the notes that have a mark."""
        return self._catalogue.ask(lambda db: queries.marked_ids(db, name))

    def in_spaces(self) -> builtins.list[str]:
        """The ids of the notes that may name a space of a hub."""
        return self._catalogue.ask(queries.ids_in_spaces)

    def activity(self, since: str) -> dict[str, int]:
        """How many notes were created on each day from `since` on."""
        return self._catalogue.ask(lambda db: queries.activity(db, since))

    def _hits(self, asked: Question) -> builtins.list[Hit]:
        for _ in range(_STALE_ROUNDS):
            hits, stale = self._read_hits(self.ranking.rank(asked))
            if not stale or not self._catalogue.refresh_files(stale):
                break
        marks = self.marks(hit.memory.id for hit in hits)
        return [hit._replace(marks=marks.get(hit.memory.id, hit.marks)) for hit in hits] if marks else hits

    def _read_hits(self, ranked: builtins.list[Ranked]) -> tuple[builtins.list[Hit], dict[str, NoteFile | None]]:
        """The notes of the hits, and the files that are stale in the index."""
        hits: builtins.list[Hit] = []
        stale: dict[str, NoteFile | None] = {}
        for found in ranked:
            file = self._files.read(found.path)
            if file is None or (file.size, file.mtime_ns) != found.seen:
                stale[found.path] = file
            if file and file.memory and file.memory.id == found.id:
                hits.append(Hit(file.memory, found.score, found.fit, found.why))
        return hits, stale
