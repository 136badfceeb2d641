"""The notes of a caller's spaces, with the methods of a MemoryStore that the `memory_*` tools use.

It lives as long as the transaction of its caller. A deleted note's versions stay.
"""

from __future__ import annotations

import builtins
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, replace
from itertools import count
from typing import Any

from anamnesis.errors import InvalidArgument, NoteConflict, NoteNotFound
from anamnesis.hub import acceptances, search
from anamnesis.hub.changes import accept, lock_spaces
from anamnesis.hub.database import Connection, one
from anamnesis.hub.incoming import checked_change
from anamnesis.hub.refusal import NotAllowed
from anamnesis.hub.tenancy import Caller, Held
from anamnesis.notes import REFLECTED, TYPES, Memory, check_id, parse, render
from anamnesis.notes.acceptance import ACCEPTED, OWN, WITHDRAWN, decision_about
from anamnesis.notes.foreign import SOURCE, Origin, accepted_origin, awaiting, origin_by
from anamnesis.notes.marks import CONTRADICTS, STALE, UPDATED_BY, mark_values
from anamnesis.notes.merge import conflict_of, copy_of
from anamnesis.notes.project_names import is_among
from anamnesis.notes.record import GLOBAL
from anamnesis.notes.spaces import PERSONAL, space_of, with_space
from anamnesis.recall.query import Mode
from anamnesis.store.ids import UlidMaker, changed_at, utcnow
from anamnesis.store.note_reader import Hit, hits_with_origins
from anamnesis.store.projects import names_of, refuse_ambiguous
from anamnesis.store.question import Marks
from anamnesis.store.shared_notes import Shared

# What a tool may change of a note; `extra` has the mark of a hold, which only a tool's own code adds.
CHANGEABLE = frozenset({"title", "body", "type", "project", "tags", "extra"})
MACHINE = "hub"
# Counting more notes takes longer than the page that says how many there are.
_MOST_COUNTED = 10_000
# How many notes a review reads at once.
_PAGE = 500
_MOST_EPISODES = 1_000
_NOT_SUPERSEDED = "NOT anamnesis.is_superseded(n.space, n.id)"
_ids = UlidMaker()


@dataclass(frozen=True, slots=True)
class SharedNote(Memory):
    """A note with the space that it is in, its version there, and the user who wrote that."""

    space: str = ""
    version: int = 0
    author: str = ""

    @classmethod
    def of(cls, row: Mapping[str, Any], space: str) -> SharedNote:
        return cls.new(parse(row["text"]), space, row["version"], row["author"])

    @classmethod
    def new(cls, note: Memory, space: str, version: int = 0, author: str = "") -> SharedNote:
        values = {each.name: getattr(note, each.name) for each in fields(Memory)}
        return cls(**values, space=space, version=version, author=author)


class _NoAuthors:
    """Stands for shared.db: at the hub, whoever may write in a space may change all its notes."""

    def of(self, _ids: Iterable[str]) -> dict[str, Shared]:
        return {}


class HubStore:
    """Reads and changes notes as the caller of a transaction."""

    root = None  # the hub keeps no record of what notes are used for
    shared = _NoAuthors()

    def __init__(self, db: Connection, caller: Caller) -> None:
        self.db = db
        self.caller = caller
        self._names = {held.id: held.name for held in caller.spaces.values()}

    def get(self, memory_id: str, *, space: str | None = None) -> SharedNote:
        """A note by its id; where several spaces have one, the caller's own, else the last changed."""
        note = self.find(memory_id, space=space)
        if note is None:
            raise NoteNotFound(f"There is no note {memory_id} that you may see.", "memory_search finds notes.")
        return note

    def find(self, memory_id: str, *, space: str | None = None) -> SharedNote | None:
        found = self._where("n.id = %(id)s", self._spaces(space), _MOST_COUNTED, id=check_id(memory_id))
        own = (each for each in found if each.space == self.caller.personal)  # else any member could take its place
        return next(own, found[0] if found else None)

    def hits(
        self,
        query: str,
        *,
        space: str | None = None,
        project: str | None = None,
        type: str | None = None,
        scope: str | None = None,
        k: int = 8,
        mode: Mode = "fused",
        explain: bool = False,
    ) -> builtins.list[Hit]:
        """The k notes that best match a query, of the caller's spaces or of one of them."""
        wanted = search.Wanted(self._spaces(space, scope), self._project_names(project), _checked_type(type))
        found = search.search(self.db, query, wanted, min(k, search.MOST_HITS), mode)
        notes = self._notes((each.space, each.id) for each in found)
        hits = [
            Hit(notes[each.space, each.id], each.score, each.fit) for each in found if (each.space, each.id) in notes
        ]
        return hits_with_origins([hit._replace(marks=marked_by_itself(hit.memory)) for hit in hits], self.origins)

    def related(
        self,
        memory_id: str,
        *,
        project: str | None = None,
        k: int = 5,
        warm: bool = False,
    ) -> builtins.list[Hit]:
        """The k notes that are closest in meaning to a note; none where nothing is embedded."""
        note = self.get(memory_id)
        wanted = search.Wanted(self._spaces(None), self._project_names(project))
        found = search.related(self.db, self.caller.spaces[note.space].id, note.id, wanted, k) if not warm else []
        notes = self._notes((each.space, each.id) for each in found)
        hits = [Hit(notes[each.space, each.id], each.score) for each in found if (each.space, each.id) in notes]
        return hits_with_origins(hits, self.origins)

    def list(
        self,
        *,
        space: str | None = None,
        project: str | None = None,
        type: str | None = None,
        scope: str | None = None,
        limit: int | None = None,
        offset: int = 0,
    ) -> builtins.list[SharedNote]:
        """Notes, newest first, of the caller's spaces or of one of them."""
        projects = self._project_names(project)
        reach = (100 if limit is None else limit) + offset
        rows = self.db.execute(
            """
            SELECT space, id, version, text, author FROM (
                SELECT page.space, page.id, page.version, page.updated_at
                FROM unnest(%(spaces)s::bigint[]) AS given (space)
                CROSS JOIN unnest(%(projects)s::text[]) AS of (project)
                CROSS JOIN LATERAL (
                    SELECT n.space, n.id, n.version, n.updated_at FROM anamnesis.notes n
                    WHERE n.space = given.space AND NOT n.deleted AND NOT n.hidden
                        AND (of.project IS NULL OR n.project = of.project)
                        AND (%(type)s::text IS NULL OR n.type = %(type)s)
                    ORDER BY n.updated_at DESC, n.id DESC LIMIT %(reach)s
                ) AS page
                ORDER BY page.updated_at DESC, page.id DESC LIMIT %(limit)s OFFSET %(offset)s
            ) AS listed
            JOIN anamnesis.versions v USING (space, id, version) ORDER BY listed.updated_at DESC, id DESC
            """,
            {
                "spaces": self._spaces(space, scope),
                "projects": [None] if projects is None else projects,
                "type": _checked_type(type),
                "reach": reach,
                "limit": reach - offset,
                "offset": offset,
            },
        )
        return [SharedNote.of(row, self._names[row["space"]]) for row in rows]

    def count(
        self,
        *,
        space: str | None = None,
        project: str | None = None,
        type: str | None = None,
        scope: str | None = None,
    ) -> int:
        """How many notes there are; of a project or a type, not beyond 10,000."""
        projects = self._project_names(project)
        values = {"spaces": self._spaces(space, scope), "projects": projects, "type": _checked_type(type)}
        if projects is None and type is None:
            query = "SELECT coalesce(sum(notes), 0) AS notes FROM anamnesis.spaces WHERE id = ANY (%(spaces)s)"
            return int((one(self.db, query, values) or {})["notes"])
        query = f"""
            SELECT count(*) AS notes FROM (
                SELECT FROM anamnesis.notes WHERE space = ANY (%(spaces)s) AND NOT deleted AND NOT hidden
                    AND (%(projects)s::text[] IS NULL OR project = ANY (%(projects)s::text[]))
                    AND (%(type)s::text IS NULL OR type = %(type)s) LIMIT {_MOST_COUNTED}
            ) AS found
        """
        return int((one(self.db, query, values) or {})["notes"])

    def origins(self, notes: Iterable[Memory]) -> dict[str, Origin]:
        """Whose those of the notes are that other members, other programs or unreviewed agents wrote.

        A member may write a note under the id of one in another space. Of several with one id, this is the origin of
        the unreviewed one.
        """
        given = [note for note in notes if isinstance(note, SharedNote)]
        authors = self._other_authors(given)
        foreign: builtins.list[tuple[SharedNote, Origin]] = []
        for note in given:
            held = self.caller.spaces[note.space]
            author = authors.get((held.id, note.id)) or authors.get((held.id, conflict_of(note)), "")
            if origin := origin_by(note, author, held.name, held.projects):
                foreign.append((note, origin))
        known = acceptances.decisions(self.db, self.caller, {note.id for note, _ in foreign}) if foreign else {}
        found: dict[str, Origin] = {}
        for note, origin in foreign:
            decision = decision_about(known, note)
            decided = accepted_origin(origin, is_own=decision == OWN) if decision else origin
            if decided and (decided.is_unreviewed or note.id not in found):
                found[note.id] = decided
        return found

    def accept(self, note: SharedNote) -> None:
        """Record that the caller accepts the present text of a note."""
        if "write" not in self.caller.scopes:
            raise NotAllowed("This token has no scope 'write'.")
        acceptances.decide(self.db, self.caller, [note], ACCEPTED)

    def withdraw(self, notes: Iterable[Memory]) -> None:
        """Record that these notes wait for the caller again."""
        acceptances.decide(self.db, self.caller, notes, WITHDRAWN)

    def _other_authors(self, notes: Iterable[SharedNote]) -> dict[tuple[int, str], str]:
        """The last other member who wrote each of the notes, and each note of which one is a copy, by space and id."""
        shared = [note for note in notes if note.space != self.caller.personal]
        keys = [(self.caller.spaces[note.space].id, id) for note in shared for id in (note.id, conflict_of(note)) if id]
        if not keys:
            return {}
        rows = self.db.execute(
            """
            SELECT DISTINCT ON (v.space, v.id) v.space, v.id, v.author
            FROM unnest(%(spaces)s::bigint[], %(ids)s::text[]) AS given (space, id)
            JOIN anamnesis.versions v ON v.space = given.space AND v.id = given.id
            WHERE v.author NOT IN ('', %(user)s) ORDER BY v.space, v.id, v.version DESC
            """,
            {"spaces": [space for space, _ in keys], "ids": [id for _, id in keys], "user": self.caller.name},
        )
        return {(row["space"], row["id"]): row["author"] for row in rows}

    def sizes(self) -> dict[int, int]:
        """How many notes each of the caller's spaces has."""
        query = "SELECT id, notes FROM anamnesis.spaces WHERE id = ANY (%(spaces)s)"
        return {row["id"]: row["notes"] for row in self.db.execute(query, {"spaces": self._spaces(None)})}

    def projects(self) -> builtins.list[str]:
        """The projects of the caller's notes: one index lookup for each."""
        rows = self.db.execute(
            """
            WITH RECURSIVE found (space, project) AS (
                SELECT given.space, (
                    SELECT min(n.project) FROM anamnesis.notes n
                    WHERE n.space = given.space AND NOT deleted AND NOT hidden
                ) FROM unnest(%(spaces)s::bigint[]) AS given (space)
                UNION ALL
                SELECT f.space, (
                    SELECT min(n.project) FROM anamnesis.notes n
                    WHERE n.space = f.space AND n.project > f.project AND NOT deleted AND NOT hidden
                ) FROM found f WHERE f.project IS NOT NULL
            )
            SELECT DISTINCT project FROM found WHERE project IS NOT NULL ORDER BY project
            """,
            {"spaces": self._spaces(None)},
        )
        return [row["project"] for row in rows]

    def check_project(self, name: str) -> None:
        """Refuse a short name of several projects that is not a project itself: a list or a search of it is empty."""
        refuse_ambiguous(name, self.projects())

    def conflicts(self, most: int) -> builtins.list[SharedNote]:
        """The notes that a merge has made of what two machines wrote, in the spaces that the caller may write."""
        return self._where("'conflict' = ANY (n.tags) AND NOT n.hidden", self._writable(), most)

    def waiting(self, most: int) -> builtins.list[SharedNote]:
        """The imported and the held notes that the caller has not accepted, in any of the caller's spaces."""
        condition = f"(n.source = '{SOURCE}' OR n.held) AND NOT n.hidden"
        waiting: builtins.list[SharedNote] = []
        for skipped in count(step=_PAGE):  # what is accepted, or told anyway, is known only from the whole note
            page = self._where(condition, self._spaces(None), _PAGE, skipped)
            waiting += awaiting(page, self.origins(page))
            if len(page) < _PAGE or len(waiting) >= most:
                break
        return sorted(waiting[:most], key=lambda note: (note.updated_at, note.id), reverse=True)

    def unreflected(self, project: str | None = None) -> dict[str, int]:
        """The newest live episodes that were not folded into durable notes, the oldest first, with their versions.

        Only those of the spaces that the caller may write: reflection tags them.
        """
        condition = (
            f"n.type = 'episodic' AND NOT '{REFLECTED}' = ANY (n.tags) AND NOT n.hidden AND {_NOT_SUPERSEDED}"
            " AND (%(projects)s::text[] IS NULL OR n.project = ANY (%(projects)s::text[]))"
        )
        found = self._where(condition, self._writable(), _MOST_EPISODES, projects=self._project_names(project))
        return {note.id: note.version for note in reversed(found)}

    def live(self, ids: Iterable[str]) -> builtins.list[SharedNote]:
        """Those of the notes that are neither hidden nor superseded; of several with one id, as in `find`."""
        wanted = [*ids]
        condition = f"n.id = ANY (%(ids)s) AND NOT n.hidden AND {_NOT_SUPERSEDED}"
        found = self._where(condition, self._spaces(None), _MOST_COUNTED, ids=wanted)
        found.sort(key=lambda note: note.space != self.caller.personal)
        return [*{note.id: note for note in reversed(found)}.values()]

    def superseding(self, ids: Iterable[str]) -> dict[str, str]:
        """Which of these notes are superseded, and by which."""
        rows = self.db.execute(
            """
            SELECT superseded, max(id) AS id FROM anamnesis.supersessions p
            WHERE space = ANY (%(spaces)s) AND superseded = ANY (%(ids)s) AND anamnesis.hides(p) GROUP BY superseded
            """,
            {"spaces": self._spaces(None), "ids": [*ids]},
        )
        return {row["superseded"]: row["id"] for row in rows}

    def marks(self, ids: Iterable[str]) -> dict[str, Marks]:
        """Those of the notes that are outdated, contradicted or stale."""
        notes = [note for id in ids if (note := self.find(id))]
        return {note.id: marks for note in notes if (marks := marked_by_itself(note)) != Marks()}

    def write(self, *, space: str | None = None, **given: Any) -> SharedNote:
        """Write a new note: into a space by its name, or into that of its project, or into the caller's own.

        It names a shared space, so that it goes there wherever it is.
        """
        now = utcnow()
        note = Memory(id=_ids.next(), machine_id=MACHINE, created_at=now, updated_at=now, **given)
        held = self.place(note.project, space)
        return self._change(held, note.id, 0, self.placed(note, held))

    def place(self, project: str, space: str | None) -> Held:
        """The space for a new note: the named one, or that of its project, or the caller's own.

        If several spaces have the project, it is the caller's own.
        """
        if space:
            return self.caller.space(self.caller.personal if space == PERSONAL else space, "writer")
        given = [held for held in self.caller.spaces.values() if project != GLOBAL and is_among(project, held.projects)]
        writable = [held for held in given if not self.caller.refusal(held, "writer")]
        return writable[0] if len(writable) == 1 else self.caller.space(self.caller.personal, "writer")

    def placed(self, note: Memory, held: Held) -> Memory:
        """The note with the name of its space, unless that is the caller's own."""
        return note if held.name == self.caller.personal else with_space(note, held.name)

    def is_first_of_project(self, note: Memory) -> bool:
        """Whether a note of a shared space is the caller's first there of its project."""
        held = self.caller.spaces.get(space_of(note))
        query = """
            SELECT EXISTS (
                SELECT FROM anamnesis.notes n JOIN anamnesis.versions v USING (space, id)
                WHERE n.space = %(space)s AND n.project = %(project)s AND n.id <> %(id)s AND v.author = %(user)s
            ) AS found
        """
        values = {"space": held and held.id, "project": note.project, "id": note.id, "user": self.caller.name}
        return held is not None and not (one(self.db, query, values) or {})["found"]

    def lock(self, held: Held) -> None:
        """Let no other transaction change the space before this one ends."""
        lock_spaces(self.db, {held.id})

    def update(
        self, memory_id: str, *, space: str | None = None, expected: SharedNote | None = None, **changes: Any
    ) -> SharedNote:
        """Change some fields of a note and set its `updated_at`; not if it is no longer the `expected` one."""
        if unknown := sorted(changes.keys() - CHANGEABLE):
            names = ", ".join(sorted(CHANGEABLE))
            raise InvalidArgument(f"{unknown[0]!r} of a note cannot be changed.", f"These can: {names}.")
        note = self.get(memory_id, space=space)
        held = self.caller.space(note.space, "writer")
        if expected and expected.version != note.version:
            raise _conflict_of(memory_id)
        changed = replace(note, **changes)
        if changed == note:
            return note
        return self._change(held, note.id, note.version, replace(changed, updated_at=changed_at(note, changed)))

    def delete(self, memory_id: str, *, space: str | None = None) -> SharedNote:
        """Delete a note. Its versions stay, for who wrote them or deletes it."""
        note = self.get(memory_id, space=space)
        self._change(self.caller.space(note.space, "writer"), note.id, note.version, None)
        return note

    def put_text(self, space: str, id: str, base: int, text: str) -> SharedNote:
        """Store a whole text of a note on top of a version, as an editor sends it."""
        held = self.caller.space(space, "writer")
        return self._stored(held, id, base, text)

    def keep_copy(self, space: str, note: Memory) -> SharedNote:
        """Store the text of a note that another member took out of a space as a note of the caller's own."""
        held = self.caller.space(self.caller.personal, "writer")
        origin = self.origins([SharedNote.new(note, space)]).get(note.id)
        copy = replace(copy_of(note, held.name, origin), id=_ids.next())
        return self._change(held, copy.id, 0, copy)

    def _change(self, held: Held, id: str, base: int, note: Memory | None) -> SharedNote:
        return self._stored(held, id, base, None if note is None else render(note))

    def _stored(self, held: Held, id: str, base: int, text: str | None) -> SharedNote:
        change = checked_change(held.name, id, base, text)
        if change.refused:
            raise InvalidArgument(change.refused)
        (result,) = accept(self.db, self.caller, MACHINE, [change])
        if "refused" in result:
            raise InvalidArgument(result["refused"])
        if "conflict" in result:
            raise _conflict_of(id)
        row = {"text": change.text or text, "version": result["version"], "author": self.caller.name}
        return SharedNote.of(row, held.name) if text is not None else SharedNote(id, "semantic", "", "")

    def put_all(self, notes: Iterable[SharedNote]) -> None:
        """Store notes, new ones and changed ones, all or none; a changed one must still be the current version."""
        given = [checked_change(note.space, note.id, note.version, render(note)) for note in notes]
        with self.db.transaction():
            for change, result in zip(given, accept(self.db, self.caller, MACHINE, given), strict=True):
                if "refused" in result:
                    raise InvalidArgument(result["refused"])
                if "conflict" in result:
                    raise _conflict_of(change.id)

    def _where(
        self, condition: str, spaces: builtins.list[int], most: int, skipped: int = 0, **values: Any
    ) -> builtins.list[SharedNote]:
        """The current notes of some spaces that meet a condition, the last changed first."""
        query = f"""
            SELECT n.space, n.version, v.text, v.author FROM anamnesis.notes n
            JOIN anamnesis.versions v ON v.space = n.space AND v.id = n.id AND v.version = n.version
            WHERE n.space = ANY (%(spaces)s) AND NOT n.deleted AND {condition}
            ORDER BY n.updated_at DESC, n.space, n.id DESC LIMIT %(most)s OFFSET %(skipped)s
        """
        rows = self.db.execute(query.encode(), {**values, "spaces": spaces, "most": most, "skipped": skipped})
        return [SharedNote.of(row, self._names[row["space"]]) for row in rows]

    def _writable(self) -> builtins.list[int]:
        return [held.id for held in self.caller.spaces.values() if not self.caller.refusal(held, "writer")]

    def _spaces(self, name: str | None, scope: str | None = None) -> builtins.list[int]:
        if scope not in (None, "portable"):
            return []  # machine-local notes are never sent to a hub
        return [self.caller.space(name).id] if name else [*self._names]

    def _project_names(self, project: str | None) -> builtins.list[str] | None:
        if project and "\0" in project:
            raise InvalidArgument(f"{project[:40]!r} is not the key of a project.")
        return None if not project else (names_of(project, self.projects()) or [project])

    def _notes(self, keys: Iterable[tuple[int, str]]) -> dict[tuple[int, str], SharedNote]:
        """The current notes of these spaces and ids."""
        wanted = [*keys]
        rows = self.db.execute(
            """
            SELECT v.space, v.id, v.version, v.text, v.author
            FROM unnest(%(spaces)s::bigint[], %(ids)s::text[]) AS given (space, id)
            JOIN anamnesis.notes n ON n.space = given.space AND n.id = given.id AND NOT n.deleted
            JOIN anamnesis.versions v ON v.space = n.space AND v.id = n.id AND v.version = n.version
            """,
            {"spaces": [space for space, _ in wanted], "ids": [id for _, id in wanted]},
        )
        return {(row["space"], row["id"]): SharedNote.of(row, self._names[row["space"]]) for row in rows}


def marked_by_itself(note: Memory) -> Marks:
    """What the note's own marks say."""
    found = mark_values(note) if note.extra else {}
    return Marks(tuple(found.get(UPDATED_BY, ())), tuple(found.get(CONTRADICTS, ())), " ".join(found.get(STALE, ())))


def _checked_type(type: str | None) -> str | None:
    if type and type not in TYPES:
        raise InvalidArgument(f"type {type!r} is not one of {', '.join(TYPES)}.")
    return type or None


def _conflict_of(id: str) -> NoteConflict:
    return NoteConflict(f"Somebody else has changed the note {id}.", "Look at it again.")
