"""Writes versions from a hub into the files: replaces unchanged files, and merges changed ones.

A file is written only if it still has the content that was read, and the agreement is recorded afterwards: after a kill
in between, the version is received again and matches the file.
"""

from __future__ import annotations

import contextlib
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from anamnesis.errors import InvalidNote, StoreUnavailable
from anamnesis.exchange.client import HubClient, Incoming
from anamnesis.exchange.local import Local, is_taken, read_local
from anamnesis.exchange.state import UNKNOWN_HASH, Agreed, Elsewhere, HubState, Space, Waiting, personal_space
from anamnesis.notes import SCOPES, TYPES, Memory, check_id, check_readable, parse, render
from anamnesis.notes.acceptance import Text, text_of
from anamnesis.notes.merge import conflict_of, copy_of, set_aside, without_conflict_tag
from anamnesis.notes.project_names import is_among
from anamnesis.notes.record import GLOBAL
from anamnesis.notes.spaces import PERSONAL, space_of, with_space
from anamnesis.plain import one_line
from anamnesis.store import MemoryStore
from anamnesis.store.files import TREES, digest
from anamnesis.store.placing import place, without_secrets
from anamnesis.store.second_files import says_the_same, step_aside
from anamnesis.store.shared_notes import Shared
from anamnesis.store.steps import Step
from anamnesis.store.tombstones import is_purged
from anamnesis.sync.integrate import File, Side, integrate
from anamnesis.sync.worktree import EXCHANGE_STAGE, Replacement, read_bytes, replace_files

_TREE = TREES["portable"]
# Retries while another program edits the same files.
_MOST_ROUNDS = 20
# The author of a version for which the hub names none.
SOMEBODY = "somebody"
# The version of an agreement about a note that has to be received again.
_INVALID = 0
# The longest title in a sentence about a note.
_LONGEST_TITLE = 60
CLAIMED = "Another member has a note with the same id in {}: yours stays as it is, and theirs is not received."
PURGED = "It was purged here, and is being deleted at the hub."


@dataclass(slots=True)
class Decision:
    """The planned changes of one note, and what to record after them."""

    note: str
    kind: str = ""  # as in `sync.names`; "" if no file changes
    title: str = ""
    agreed: list[Agreed] = field(default_factory=list)
    files: list[Replacement] = field(default_factory=list)
    queued: Waiting | None = None
    missed: list[Waiting] = field(default_factory=list)  # versions to receive later
    is_trashed: bool = False  # the store moves it to the trash, because its file has no front matter
    is_erased: bool = False
    conflicted: bool = False
    decided: list[str] = field(default_factory=list)
    author: str = ""  # another member who wrote the text that the file gets
    asides: list[str] = field(default_factory=list)  # notes that keep the other version of a conflict
    written: dict[Text, str] = field(default_factory=dict)  # who wrote the texts of the versions
    news: list[str] = field(default_factory=list)  # what to tell the user about it

    def postpone(self, spaces: Iterable[str], reason: str = "") -> None:
        """Receive the versions of these spaces later."""
        self.missed += [Waiting(self.note, space, reason, missed=True) for space in spaces]


@dataclass(slots=True)
class Receiver:
    """Receives the versions of one account. `purge` removes a note that was erased at the hub."""

    store: MemoryStore
    state: HubState
    client: HubClient
    purge: Callable[[str], object]
    spaces: dict[str, Space] = field(default_factory=dict)
    received: list[tuple[str, str]] = field(default_factory=list)  # the kind and title of each change of a file
    conflicted: bool = False
    decided: list[str] = field(default_factory=list)
    authors: dict[tuple[str, str], list[str]] = field(default_factory=dict)  # of the notes that are being received

    def receive(
        self, versions: Sequence[Incoming], cursors: Mapping[str, int] | None = None, *, is_current: bool = False
    ) -> None:
        """Write these versions into the files, then record them and the cursors up to which they are complete.

        Skips known and older versions. With `is_current`, the versions were fetched just now, and a lower number is not
        older.
        """
        pending: dict[str, dict[str, Incoming]] = defaultdict(dict)
        for each in versions:
            with contextlib.suppress(InvalidNote):  # an id is a file name: a hub must not choose paths
                pending[check_id(each.note)][each.space] = each
        skipped: list[tuple[str, str]] = []
        known = self.state.agreed(pending)
        for note, rows in known.items():
            for space, row in rows.items():
                found = pending[note].get(space)
                if found and (found.version == row.version if is_current else found.version <= row.version):
                    del pending[note][space]
                    skipped.append((note, space))
        pending = {note: each for note, each in pending.items() if each}
        if is_current:
            self.state.remove_missed(skipped)
        for each in [each for found in pending.values() for each in found.values()]:
            if resolved := self._resolved_first(each, known.get(each.note, {}).get(each.space)):
                self._yield(each, resolved, pending)
        for _ in range(_MOST_ROUNDS):
            if not pending:
                break
            pending = {note: pending[note] for note in self._receive(pending)}
        else:
            raise StoreUnavailable(
                f"Files in {self.store.memory_dir} keep changing.", "Sync again when no program writes there."
            )
        if cursors:
            self.state.save((), cursors)

    def _resolved_first(self, version: Incoming, row: Agreed | None) -> Memory | None:
        """The other version of a conflict that the user has just removed, if another member resolved that first."""
        is_news = version.author not in ("", self.state.user) and not self._is_personal(version.space)
        if not (is_news and row and row.is_live and row.is_here) or read_local(self.store, [version.note]):
            return None
        other, left = self._trashed(version.note), _parse_version(version)
        is_resolved = version.text is None or (left and not conflict_of(left))
        return other if other and conflict_of(other) and is_resolved else None

    def _yield(self, resolved: Incoming, other: Memory, pending: dict[str, dict[str, Incoming]]) -> None:
        """Let the choice of the member who resolved a conflict first stand; the user's is an earlier version.

        A note that the user has changed beyond a choice is merged as usual.
        """
        id, space = conflict_of(other), resolved.space
        mine, row = read_local(self.store, [id]).get(id), self.state.agreed([id]).get(id, {}).get(space)
        theirs = pending.get(id, {}).get(space) or self.client.note(space, id)
        their_note = _parse_version(theirs) if theirs else None
        if not mine or not mine.memory or not mine.is_portable or not row or not theirs or not their_note:
            return
        is_other = _has_same_content(mine.memory, without_conflict_tag(other))
        has_both = resolved.text is not None
        if not is_other and mine.file.hash != row.hash:
            return
        if _has_same_content(mine.memory, their_note) and not has_both:
            return
        if is_other:
            self.state.save([row._replace(hash=mine.file.hash)])  # the file is replaced, and kept as a version
            pending.setdefault(id, {})[space] = theirs
        told = f"{resolved.author} resolved the conflict about {titled(mine.memory)} before you, and that choice stands"
        both = f": both versions are kept, as {id} and {resolved.note}" if has_both else ""
        yours = "" if has_both and not is_other else f". Yours is an earlier version: anamnesis history {id}"
        self.state.tell(id, [f"{told}{both}{yours}"])

    def _trashed(self, note: str) -> Memory | None:
        """The portable text of a note that the user has deleted."""
        found = next((each for each in self.store.trashed() if each.id == note and each.scope == SCOPES[0]), None)
        data = read_bytes(self.store.root / found.path) if found else None
        return File(note, data).memory if data else None

    def _receive(self, pending: Mapping[str, Mapping[str, Incoming]]) -> list[str]:
        """Try once; returns the notes whose files another program has just changed."""
        known, local = self.state.agreed(pending), read_local(self.store, pending)
        local = {
            note: each
            for note, each in local.items()
            if each.is_portable or not self._gives_way(each, pending[note], known.get(note, {}))
        }
        self._ask_for_authors(pending)
        elsewhere = self.state.elsewhere(pending)
        decisions = [
            _leave_to_other(other, each)
            if (other := elsewhere.get(note)) and _is_left(other, each, known.get(note, {}), local.get(note))
            else self._decide(note, each, known.get(note, {}), local.get(note))
            for note, each in pending.items()
        ]
        files = [file for decision in decisions for file in decision.files]
        self._record_authors(decisions)  # before the texts are written
        changed: set[str] = set()
        steps: list[Step] = []
        if files:
            replaced = replace_files(self.store.memory_dir, files, self.store.root / EXCHANGE_STAGE)
            changed, steps = {*replaced.left}, replaced.steps
        done = [each for each in decisions if not changed.intersection(file.path for file in each.files)]
        for each in done:
            self._finish(each)
        self.state.save(agreed for each in done for agreed in each.agreed)
        self.state.queue(each for decision in done for each in (decision.queued, *decision.missed) if each)
        if files:
            self.store.refresh_files([f"{_TREE}/{file.path}" for file in files], steps)
        return [each.note for each in decisions if each not in done]

    def _record_authors(self, decisions: Sequence[Decision]) -> None:
        shared = []
        for each in decisions:
            here = next((row.space for row in each.agreed if row.is_here and row.is_live), "")
            if here and (each.author or not self._is_personal(here)):
                shared += [Shared(note, here, each.author) for note in (each.note, *each.asides)]
        self.store.shared.record(shared)
        self.store.shared.record_writers({text: author for each in decisions for text, author in each.written.items()})

    def _ask_for_authors(self, pending: Mapping[str, Mapping[str, Incoming]]) -> None:
        """Ask at once for the authors of shared notes whose last one is the user: others may have written them too."""
        wanted = defaultdict(list)
        for versions in pending.values():
            for each in versions.values():
                if each.author == self.state.user and each.text is not None and not self._is_personal(each.space):
                    wanted[each.space].append(each.note)
        self.authors = {
            (space, note): authors
            for space, notes in wanted.items()
            for note, authors in self.client.authors_of(space, notes).items()
        }

    def _authors(self, space: str, note: str) -> list[str]:
        known = self.authors.get((space, note))
        return self.client.authors(space, note) if known is None else known

    def _other_author(self, version: Incoming, note: Memory) -> str:
        """The other member who wrote a version, or any version of a note that no session is told unaccepted."""
        if self._is_personal(version.space):
            return ""
        if version.author != self.state.user:
            return version.author or SOMEBODY
        space = self.spaces.get(version.space)
        if space and note.project != GLOBAL and is_among(note.project, space.projects):
            return ""
        authors = self._authors(version.space, note.id)
        return self.other_author(authors) or self.author_of_original(version.space, note)

    def author_of_original(self, space: str, note: Memory | None) -> str:
        """The other member who wrote the note whose other version in a conflict this is; "" if none."""
        original = conflict_of(note) if note else ""
        if not original:
            return ""
        known = self.store.shared.of([original]).get(original)
        return known.author if known and known.author else self.other_author(self.client.authors(space, original))

    def other_author(self, authors: Iterable[str]) -> str:
        """The last other member among the authors of a note; "" if there is none."""
        return next((each for each in authors if each not in ("", self.state.user)), "")

    def _is_personal(self, space: str) -> bool:
        return space in self.spaces and self.spaces[space].is_personal

    def _finish(self, done: Decision) -> None:
        if done.is_erased:
            self.purge(done.note)
        elif done.is_trashed:
            self.store.delete(done.note)
        self.conflicted |= done.conflicted
        self.decided += done.decided
        self.state.tell(done.note, done.news)
        if done.kind:
            self.received.append((done.kind, done.title))

    def _decide(
        self, note: str, fresh: Mapping[str, Incoming], known: Mapping[str, Agreed], local: Local | None
    ) -> Decision:
        decision = Decision(note)
        home = next((each for each in known.values() if each.is_here), None)
        claims = self._claims(fresh, known)
        for space in claims:
            decision.postpone([space], CLAIMED.format(space))
        undone = [space for space, each in fresh.items() if self._is_undone(each, known.get(space), local)]
        for space in undone:
            decision.agreed.append(self._agreement(fresh[space], False, known)._replace(is_leaving=True))
            decision.queued = Waiting(note, space, "")
        fresh = {space: each for space, each in fresh.items() if space not in (*claims, *undone)}
        if not fresh:
            return decision
        chosen = self._choose_space(fresh, known)
        if local and not local.is_portable:
            for space, each in fresh.items():
                if each.text is None:
                    decision.agreed.append(self._agreement(each, False, known))
                elif space in known and (_says_the_same(each, local) or self._stays_out(each, known)):
                    decision.agreed.append(self._agreement(each, True, known))
                    decision.queued = Waiting(decision.note, space, "")  # to delete it there
                elif space in known:  # the file has just been changed, or the version cannot be parsed
                    decision.agreed.append(known[space]._replace(is_here=False))
                    decision.postpone([space])
        elif not chosen:
            self._remove(decision, fresh, home, local)
            here = home.space if home else ""
            decision.agreed = [self._agreement(each, space == here, known) for space, each in fresh.items()]
        else:
            self._write(decision, chosen, fresh, known, local)
        return decision

    def _is_undone(self, version: Incoming, row: Agreed | None, local: Local | None) -> bool:
        """Whether a hub that was set back has a note again that was later deleted or moved out of the space.

        It is deleted there again. A version of after the restore is newer than the deletion, and received.
        """
        if row is None or row.is_live or version.text is None or not version.version < -row.version:
            return False
        return self.spaces[version.space].can_write and not (row.is_here and local)

    def _gives_way(self, local: Local, fresh: Mapping[str, Incoming], known: Mapping[str, Agreed]) -> bool:
        """Let a note that is kept on this machine give way to a version that another machine wrote meanwhile.

        A change wins over a removal among one user's machines, as with git. What was written on this machine alone
        stays on it, as another note. A note that the user took out of a shared space stays out.
        """
        versions = [
            each
            for each in fresh.values()
            if _parse_version(each)
            and not _says_the_same(each, local)
            and (each.space in known or self._has_written(each))
            and not self._stays_out(each, known)
        ]
        if not versions or not local.memory:
            return False
        here = local.memory
        is_included = any(
            former and says_the_same(here, former)
            for each in versions
            for text in self.client.texts(each.space, each.note)
            if (former := _parse_version(each._replace(text=text)))
        )
        aside = None if is_included else set_aside(here)
        self.conflicted |= step_aside(self.store, local.file, aside) and not is_included
        return not is_taken(self.store, local.file.path)

    def _stays_out(self, version: Incoming, known: Mapping[str, Agreed]) -> bool:
        """Whether the user has just kept a note of a shared space on this machine: no change there undoes that."""
        row = known.get(version.space)
        return bool(row and row.is_live and version.text is not None and not self._is_personal(version.space))

    def owner(self, space: str, note: str) -> str:
        """The other member who brought a note into a space; "" if the user did."""
        creator = self.client.creator(space, note)
        return "" if creator == self.state.user else creator

    def _claims(self, fresh: Mapping[str, Incoming], known: Mapping[str, Agreed]) -> list[str]:
        """The shared spaces in which others have written a note with the id of one of the user's own.

        It is no move of that note: the user, on whatever machine, has written no version there.
        """
        live = {space for space, each in known.items() if each.is_live and space not in fresh}
        live |= {space for space, each in fresh.items() if each.text is not None}
        if not any(self._is_personal(space) for space in live):
            return []
        new = [fresh[space] for space in live if space in fresh and not (space in known and known[space].is_live)]
        return [each.space for each in new if not self._is_personal(each.space) and not self._has_written(each)]

    def _has_written(self, version: Incoming) -> bool:
        user = self.state.user
        return version.author in ("", user) or user in self.client.authors(version.space, version.note)

    def _choose_space(self, fresh: Mapping[str, Incoming], known: Mapping[str, Agreed]) -> str:
        """Choose the space whose version the local file holds, among those that the note stays in; "" if none."""
        live = {space for space, each in known.items() if each.is_live and space not in fresh}
        live |= {space for space, each in fresh.items() if each.text is not None}
        staying = [space for space in live if space not in known or not known[space].is_leaving]
        return min(staying or live, key=lambda space: self._rank(space), default="")

    def _rank(self, name: str) -> tuple[bool, bool, str]:
        space = self.spaces.get(name)
        return (not space.role, *space.rank) if space else (True, True, name)

    def _agreement(self, each: Incoming, is_here: bool, known: Mapping[str, Agreed]) -> Agreed:
        """The agreement to record for a received version."""
        if each.text is None:
            return Agreed(each.note, each.space, each.version, None, "", is_here)
        note = _parse_version(each)
        is_leaving = each.space in known and known[each.space].is_leaving and not is_here
        hash = digest(each.text.encode("utf-8"))
        return Agreed(each.note, each.space, each.version, hash, space_of(note) if note else "", is_here, is_leaving)

    def _remove(
        self, decision: Decision, fresh: Mapping[str, Incoming], home: Agreed | None, local: Local | None
    ) -> None:
        """Move a note that is in no space any more to the trash.

        If it was changed here, a note of the user's own space stays, and of one of a shared space the user keeps a
        copy: the change must not bring it back to everybody.
        """
        if not home or home.space not in fresh or not local or not local.memory:
            return
        gone, is_changed = fresh[home.space], local.file.hash != home.hash
        is_older = home.version < 0 and gone.version < -home.version  # by a hub that was set back
        is_only_here = is_changed and (self._is_personal(home.space) or home.hash in (None, UNKNOWN_HASH))
        if not gone.version or is_older or is_only_here:
            if home.version < 0:
                decision.queued = Waiting(decision.note, home.space, "")
            return  # it has to be sent, as the hub never had it, or as it was changed
        decision.kind, decision.title = "deleted", local.memory.title
        copy = self.copy(local.memory, home.space, self.personal) if is_changed else None
        if copy:
            decision.files = [Replacement(f"{copy.type}/{copy.id}.md", None, render(copy).encode("utf-8"))]
        if gone.is_erased:
            decision.is_erased = True
        elif local.file.is_bare or home.version < 0:  # the hub may lack what the file has
            decision.is_trashed = True
        else:
            decision.files.append(Replacement(local.path, local.data, None))
        if not self._is_personal(home.space) and (copy or gone.author != self.state.user):
            decision.news = [_removal(gone, local.memory, copy)]

    @property
    def personal(self) -> str:
        """The name of the user's own space."""
        return personal_space(self.spaces)

    def copy(self, note: Memory, space: str, target: str) -> Memory:
        """A note of the user's own with the text of one of a space; on this machine, it keeps the author."""
        copy = copy_of(note, target, self.store.origins([note]).get(note.id))
        author = self.store.shared.of([note.id]).get(note.id)
        if author and author.author:
            self.store.shared.record([author._replace(note=copy.id)])
        return copy

    def keep(self, local: Local, space: str) -> Memory | None:
        """Keep the text of a file as a note of the user's own, and move the file to the trash."""
        copy = self.copy(local.memory, space, self.personal) if local.memory else None
        return copy if step_aside(self.store, local.file, copy) else None

    def take_over(self, local: Local, home: Agreed, target: str) -> bool:
        """Give the user a copy of another member's note instead of the note, whose space the user has left."""
        known = self.store.shared.of([home.note]).get(home.note)
        if not local.memory or not known or not known.author:
            return False
        is_done = step_aside(self.store, local.file, self.copy(local.memory, home.space, target))
        if is_done:
            self.state.save([home._replace(is_here=False)])
        return is_done

    def leave(self, local: Local, home: Agreed, target: str) -> Memory | None:
        """Give the user a copy of another member's note instead of the note, which is received again."""
        found = self.client.note(home.space, home.note)
        if not local.memory or not found:
            return None
        copy = self.copy(local.memory, home.space, target)
        if target:
            self.store.put(copy)
            self.state.save([home._replace(hash=local.file.hash)])  # its changes are in the copy
        else:  # killed before it is received again, its missing file must not delete it for everybody
            self.state.save([home._replace(is_here=False, version=_INVALID)])
            self.state.queue([Waiting(home.note, home.space, "", missed=True)])
            if not step_aside(self.store, local.file, copy):
                return None
        self._receive({home.note: {home.space: found}})
        return copy

    def _write(
        self,
        decision: Decision,
        chosen: str,
        fresh: Mapping[str, Incoming],
        known: Mapping[str, Agreed],
        local: Local | None,
    ) -> None:
        """Write the version of the chosen space into the file, with changes from the spaces that the note leaves."""
        home = next((each for each in known.values() if each.is_here), None) or _matching_version(fresh, local)
        versions = dict(fresh)
        if home and home.space != chosen and home.space in fresh and fresh[home.space].text is not None:
            # One version at a time: first that of the file's space, then the others.
            decision.postpone(space for space in fresh if space != home.space)
            chosen, versions = home.space, {home.space: fresh[home.space]}
            known = {home.space: home}
        if chosen not in fresh and (not home or home.space != chosen):
            found = self.client.note(chosen, decision.note)
            if not found or found.text is None:
                decision.postpone(fresh)  # it has just been deleted in the chosen space too
                return
            versions[chosen] = found
        if local and local.memory is None:
            decision.postpone(fresh, f"{local.file.path} cannot be read: {local.file.problem}")
            return
        if hidden := self._find_hidden(chosen, versions, known, home):
            home = self._keep_hidden(decision, hidden, chosen, versions, known, home, local)
        bases = {chosen: home, **{space: each for space, each in known.items() if each.is_leaving}}
        for space in (chosen, *(each for each in known if known[each].is_leaving and each != chosen)):
            theirs = versions.get(space)
            if theirs is None or theirs.text is None:
                continue
            if space != chosen and decision.files:
                decision.postpone([space])
                versions.pop(space)
            elif not self._apply(decision, theirs, bases.get(space), local):
                return
        here = chosen if chosen in versions else ""
        decision.agreed += [self._agreement(each, space == here, known) for space, each in versions.items()]
        # New files first: after a kill, a replaced note must still have its other version.
        decision.files.sort(key=lambda file: file.before is not None)

    def _find_hidden(
        self, chosen: str, fresh: Mapping[str, Incoming], known: Mapping[str, Agreed], home: Agreed | None
    ) -> str:
        """Find another space that has the note too, and whose version would be in no file; "" if none.

        This happens if one member moves a note while another, who cannot see the new space, changes it in the old one.
        """
        live = {space for space, each in known.items() if each.is_live and not each.is_leaving and space not in fresh}
        live |= {space for space, each in fresh.items() if each.text is not None} - {chosen}
        if home and home.space != chosen and home.space in live:
            return home.space
        own = (space for space in live if space != chosen and space in self.spaces and self.spaces[space].is_personal)
        return next(own, "") if chosen in fresh else ""

    def _keep_hidden(
        self,
        decision: Decision,
        hidden: str,
        chosen: str,
        versions: dict[str, Incoming],
        known: Mapping[str, Agreed],
        home: Agreed | None,
        local: Local | None,
    ) -> Agreed | None:
        """Keep the version of a hidden space as a separate note in that space: a merge could show it to other members.

        In the user's own space, the separate note replaces the note. An exception is a note that another machine may
        just be moving there, and will delete in the other space: deleted in both, it would be lost. Returns the
        agreement to compare the local file with.
        """
        is_here = bool(home and home.space == hidden and local)
        found = versions.get(hidden) or (None if is_here else self.client.note(hidden, decision.note))
        text = local.text if is_here and local else found.text if found else None
        other = _parse_version(Incoming(hidden, decision.note, 0, text)) if text else None
        theirs = _parse_version(versions[chosen]) if chosen in versions else None
        differs = bool(other and theirs and not _has_same_content(other, theirs))
        if other and differs:
            aside = with_space(set_aside(other), hidden)
            path = f"{aside.type}/{aside.id}.md"
            if not is_taken(self.store, f"{_TREE}/{path}"):
                decision.files.append(Replacement(path, None, render(aside).encode("utf-8")))
            decision.conflicted, decision.kind = True, "conflict"
        if self.spaces[hidden].is_personal:
            row = self._agreement(versions.pop(hidden), False, known) if hidden in versions else known[hidden]
            is_leaving = differs or not (other and space_of(other).startswith(PERSONAL))
            decision.agreed.append(row._replace(is_here=False, is_leaving=is_leaving))
            decision.queued = Waiting(decision.note, hidden, "") if is_leaving else None
        return home._replace(hash=local.file.hash) if is_here and home and local else home

    def _apply(self, decision: Decision, theirs: Incoming, base: Agreed | None, local: Local | None) -> bool:
        """Plan the change of the file for a version; False if the version has to be received later."""
        note, text = _parse_version(theirs), theirs.text or ""
        if note is None:
            reason = "The hub's version cannot be parsed as a note; a newer release of anamnesis may be needed."
            decision.postpone([theirs.space], reason)
            return False
        data = text.encode("utf-8")
        decision.title = note.title
        decision.author = self._other_author(theirs, note) or decision.author
        if theirs.author:
            decision.written[text_of(note)] = theirs.author
        if local is None:
            if is_purged(self.store.root, note.id):
                decision.queued = Waiting(note.id, theirs.space, PURGED)
                return True
            if base and base.is_live and base.space == theirs.space and self._is_deleted_here(theirs):
                decision.queued = Waiting(note.id, theirs.space, "")  # to delete it there
                return True
            decision.kind = "back" if base and base.is_live else "new"
            decision.files.append(Replacement(self._path(note, None, data), None, data))
            return True
        if local.data == data:
            decision.files += self._remove_old_file(note, local, base)
            return True
        is_comparable = base and base.space == theirs.space and base.hash not in (None, UNKNOWN_HASH)
        if base and is_comparable and theirs.version <= -base.version:
            decision.queued = Waiting(note.id, theirs.space, "")  # the hub was set back to before the file
            return True
        decision.kind = decision.kind or "changed"
        path = self._path(note, local, data)
        if (base and base.version > 0 and base.hash == local.file.hash) or (
            local.memory and _redacted(local.memory) == text
        ):
            former = [Replacement(local.path, local.data, None)] if path != local.path else []
            decision.files += [Replacement(path, None if former else local.data, data), *former]
        else:
            self._merge(decision, base, local, File(path, data))
        return True

    def _is_deleted_here(self, theirs: Incoming) -> bool:
        """Whether the user has deleted a note of a shared space, which wins over a change that another member made.

        The other version of a conflict that another member made a note of its own comes back.
        """
        space, note = self.spaces.get(theirs.space), _parse_version(theirs)
        if not space or not space.can_write or space.is_personal or not note:
            return False
        gone = self._trashed(theirs.note)
        return gone is not None and bool(conflict_of(gone)) == bool(conflict_of(note))

    def _merge(self, decision: Decision, base: Agreed | None, local: Local, theirs: File) -> None:
        common = None
        if base and base.hash not in (None, UNKNOWN_HASH) and base.version:
            common = self.client.text(base.space, base.note, abs(base.version))
        before = [File(local.path, common.encode("utf-8"))] if common is not None else []
        ours = File(local.path, local.text.encode("utf-8"))
        merged = integrate(Side(before, [ours]), Side(before, [theirs]))
        for path, file in merged.files.items():
            if path == local.path:
                decision.files.append(Replacement(path, local.data, file.data))
            elif not is_taken(self.store, f"{_TREE}/{path}"):  # else an interrupted exchange has written it
                decision.files.append(Replacement(path, None, file.data))
                decision.asides.append(PurePosixPath(path).stem)
        if local.path not in merged.files:
            decision.files.append(Replacement(local.path, local.data, None))
        decision.conflicted |= merged.conflicted
        decision.decided += merged.decided
        if merged.conflicted:
            decision.kind = "conflict"

    def _path(self, note: Memory, local: Local | None, data: bytes) -> str:
        """The path of a note in the portable tree: the path of its file, unless its type changed.

        A file with the same content does not count: an interrupted exchange has written it.
        """
        root = self.store.root

        def exists(path: str) -> bool:
            return is_taken(self.store, path) and read_bytes(root / path) != data

        return place(note, local.file if local else None, exists).removeprefix(f"{_TREE}/")

    def _remove_old_file(self, note: Memory, local: Local, base: Agreed | None) -> list[Replacement]:
        """Remove the old file of a note whose type changed, if an interrupted exchange left it."""
        paths = (f"{type}/{note.id}.md" for type in TYPES)
        found = ((path, read_bytes(self.store.memory_dir / path)) for path in paths if path != local.path)
        return [Replacement(path, data, None) for path, data in found if data and base and digest(data) == base.hash]


def _is_left(other: Elsewhere, fresh: Mapping[str, Incoming], known: Mapping[str, Agreed], local: Local | None) -> bool:
    """Whether the file of a note is left to another login of this home: a merge would send what that user wrote here.

    Users of one shared space have the same file, as long as it is as the hub has it.
    """
    texts = {each.text for each in fresh.values() if each.text is not None}
    if not texts or any(row.is_here for row in known.values()):
        return False
    is_same = local is None or local.file.hash == other.hash or local.text in texts
    return other.is_personal or not is_same


def _leave_to_other(other: Elsewhere, fresh: Mapping[str, Incoming]) -> Decision:
    decision = Decision(other.note)
    decision.postpone(fresh, other.reason)
    return decision


def _matching_version(fresh: Mapping[str, Incoming], local: Local | None) -> Agreed | None:
    """An agreement for an unrecorded file that equals the version of one of these spaces."""
    for each in fresh.values():
        if local and each.text is not None and each.text == local.text:
            return Agreed(each.note, each.space, each.version, local.file.hash, is_here=True)
    return None


def _has_same_content(one: Memory, other: Memory) -> bool:
    return (one.title, one.body, one.tags) == (other.title, other.body, other.tags)


def _parse_version(version: Incoming) -> Memory | None:
    """The note of a version; None if it cannot be parsed."""
    try:
        note = parse(version.text or "", scope="portable")
        check_readable(note)
    except InvalidNote:
        return None
    return note if note.id == version.note else None


def _says_the_same(version: Incoming, local: Local) -> bool:
    note = _parse_version(version)
    return bool(note and local.memory and says_the_same(note, local.memory))


def _redacted(note: Memory) -> str:
    """The hub's redacted text of a note, which a killed exchange may not have written here."""
    return render(without_secrets(note))


def _removal(gone: Incoming, note: Memory, copy: Memory | None) -> str:
    """What to tell the user about a note that was taken out of a shared space."""
    what = f"{gone.author or SOMEBODY} took {titled(note)} out of the space {gone.space}"
    trashed = "it is in your trash"
    if conflict_of(note):  # the note itself stays
        what = f"{gone.author or SOMEBODY} resolved the conflict about {titled(note)} in the space {gone.space}"
        trashed = "the note with the other version is in your trash"
    if gone.is_erased:
        what = f"The note {note.id} of the space {gone.space} was erased at the hub"
    elif not copy:
        what = f"{what}, and {trashed}"
    back = "" if gone.is_erased else f"; `anamnesis restore {note.id}` makes it a note of your own"
    return f"{what}: your changed version is a note of your own, {copy.id}." if copy else f"{what}{back}."


def titled(note: Memory) -> str:
    """The title of a note in a sentence."""
    return f"“{one_line(note.title, _LONGEST_TITLE)}”"
