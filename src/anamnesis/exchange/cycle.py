"""One exchange with a hub: receive its changes, then send the local ones. The cost grows with the number of changes.

A kill is safe at any step: files are written before they are recorded, and a change that was sent but not recorded is
recognised when it is received.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from anamnesis.errors import InvalidNote, StoreUnavailable
from anamnesis.exchange.client import HubRefused, Incoming, Json, incoming
from anamnesis.exchange.receiving import Receiver
from anamnesis.exchange.sending import Sender
from anamnesis.exchange.state import UNVERIFIED, Invitation, Space, Waiting
from anamnesis.notes.acceptance import fingerprint, read_decisions, written
from anamnesis.notes.spaces import PERSONAL, check_space
from anamnesis.store.ids import utcnow
from anamnesis.store.tombstones import purged_ids
from anamnesis.sync.backend import Announce

FOLLOWER = "hub"
_BATCH = 500
# Answers without changes before an exchange gives up. Some are normal: the request is repeated after a restore of the
# hub, a rename of a space or a reset of its cursor.
_MOST_IDLE = 5
# Batches that one exchange sends at most; the next exchange continues.
_MOST_ROUNDS = 10_000
# If more notes than this vanish at once without a trace, they are lost, not deleted.
_LOSS_THRESHOLD = 20
# A rescan finds edits in place that neither the index nor a daemon noticed: at each exchange up to this many notes
# (30 ms), and with more notes at this interval.
_ALWAYS_COMPARED = 20_000
_COMPARE_SECONDS = 3600.0


@dataclass(slots=True)
class Cycle:
    """The progress of one exchange."""

    receiver: Receiver
    sender: Sender
    announce: Announce
    hub: str  # its id
    save_hub: Callable[[str], object]  # saves a changed id of the hub in the account
    accepted: str = ""  # the fingerprint of the user's decisions at the hub; "" of a hub that keeps none
    restored: int = 0  # notes that were lost here and received again
    removed: list[str] = field(default_factory=list)  # spaces that the user was removed from

    def run(self) -> None:
        state = self.receiver.state
        self.receiver.spaces = state.spaces()
        self._receive()
        store = self.receiver.store
        spaces = self.receiver.spaces
        store.shared.close_spaces({name for name, space in spaces.items() if not space.can_write})
        store.shared.save_projects({name: space.projects for name, space in spaces.items() if space.role})
        self._find_authors()
        self._exchange_accepted()
        self._catch_up()
        if self._find_lost():
            self._receive()
        self._send()
        state.mark("reached_at", utcnow())

    def _exchange_accepted(self) -> None:
        """Exchange what the user has accepted on this machine and on others, if the hub has something else."""
        accepted, client = self.receiver.store.accepted, self.receiver.client
        here = accepted.exchanged()
        if self.accepted not in ("", fingerprint(here)):
            accepted.unite(read_decisions(client.accepted(written(here))))

    def _find_authors(self) -> None:
        """Ask for the authors of notes of which they are not known here, because the record of them was lost."""
        receiver = self.receiver
        for each in receiver.store.shared.unknown():
            is_visible = each.space in receiver.spaces and receiver.spaces[each.space].role
            if is_visible and (authors := receiver.client.authors(each.space, each.note)):
                note = receiver.store.find(each.note)
                author = receiver.other_author(authors) or receiver.author_of_original(each.space, note)
                receiver.store.shared.record([each._replace(author=author)])

    def _catch_up(self) -> None:
        """Fetch the current versions of notes that an earlier exchange could not receive."""
        receiver = self.receiver
        missed = [each for each in receiver.state.waiting() if each.missed]
        found = {(each.note, each.space): receiver.client.note(each.space, each.note) for each in missed}
        receiver.state.remove_missed(key for key, version in found.items() if version is None)
        receiver.receive([version for version in found.values() if version], is_current=True)

    def _receive(self) -> None:
        """Receive all changes, page by page."""
        receiver = self.receiver
        idle = 0
        while idle < _MOST_IDLE:
            self.announce(f"Receiving from {receiver.client.address.host}")
            cursors = {space.name: space.cursor for space in receiver.spaces.values() if space.role}
            answer = receiver.client.changes(self.sender.machine, cursors)
            versions: list[Incoming] = []
            has_more = False
            self.accepted = str(answer.get("accepted", ""))
            if (hub := str(answer.get("hub", ""))) and hub != self.hub:
                self._change_hub(hub)
                idle += 1
                continue
            if any(not isinstance(entry, dict) for entry in answer["spaces"].values()):
                raise HubRefused("The hub sent a space that is not a JSON object.")
            if self._match_ids(answer["spaces"]):
                idle += 1  # the answer is for the cursors of the old names
                continue
            for name, entry in answer["spaces"].items():
                has_more |= self._apply_entry(name, entry, versions)
            receiver.state.save_spaces(receiver.spaces.values())
            receiver.state.save_invitations([*map(_invitation, answer.get("invitations") or ())])
            cursors = {}
            for each in versions:
                cursors[each.space] = max(cursors.get(each.space, 0), each.version)
            receiver.receive(versions, cursors)
            for name, cursor in cursors.items():
                receiver.spaces[name] = receiver.spaces[name]._replace(cursor=cursor)
            if not has_more:
                receiver.state.requeue_unseen()
                return
            idle = 0 if versions else idle + 1
        raise HubRefused("The hub announces changes but sends none.", "Its log may say why.")

    def _change_hub(self, hub: str) -> None:
        """Record the new id of a hub that was restored from a backup, and invalidate the known versions."""
        self.receiver.state.change_hub(hub)
        self.save_hub(hub)
        self.hub = hub
        self.receiver.spaces = self.receiver.state.spaces()

    def _match_ids(self, entries: Mapping[str, Json]) -> bool:
        """Match the known spaces with the hub's by id; returns whether a space was renamed.

        A shared space counts as gone if another space now has its name: its notes must not reach the members of that
        space.
        """
        receiver = self.receiver
        present = {name: str(entry["id"]) for name, entry in entries.items() if entry.get("id")}
        by_id = {id: name for name, id in present.items()}
        names: dict[str, str] = {}
        for known in receiver.spaces.values():
            now, id = by_id.get(known.id, known.name), known.id.removeprefix(UNVERIFIED)
            if now != known.name:
                names[known.name] = now
            elif not known.is_personal and id != known.name and present.get(known.name, id) != id:
                names[known.name] = f"{known.name} (no. {id})"
                receiver.spaces[known.name] = known._replace(role="", cursor=0)
                self.removed += [names[known.name]] if known.role else []
        if names:
            receiver.state.save_spaces(receiver.spaces.values())
            receiver.state.rename_spaces(names)
            renamed = [space._replace(name=names.get(name, name)) for name, space in receiver.spaces.items()]
            receiver.spaces = {space.name: space for space in renamed}
        return bool(names)

    def _apply_entry(self, name: str, entry: Json, versions: list[Incoming]) -> bool:
        """Apply the hub's entry of a space and collect its versions; returns whether another page follows."""
        spaces, known = self.receiver.spaces, self.receiver.spaces.get(name)
        if entry.get("gone"):
            if known and known.role:
                self.removed.append(name)
                spaces[name] = known._replace(role="", cursor=0)
            return False
        id = str(entry.get("id") or name)
        projects = tuple(map(str, entry.get("projects") or ()))
        role = str(entry.get("role", ""))
        if known and known.cursor and (known.id != id or int(entry.get("seq", 0)) < known.cursor):
            self.receiver.state.reset_space(name)
            spaces[name] = Space(name, id, role, known.is_personal, 0, projects)
            return True
        cursor = known.cursor if known else 0
        if known and not cursor:
            self.receiver.state.forget_incomparable(name, int(entry.get("seq", 0)))
        spaces[name] = Space(name, id, role, name.startswith(PERSONAL), cursor, projects)
        versions += [incoming(name, each) for each in entry.get("changes") or ()]
        return bool(entry.get("more"))

    def _find_lost(self) -> bool:
        """Reset the state of the notes that vanished here without having been deleted, if they are the majority.

        Returns whether the notes have to be received again. A folder that was removed or replaced must not delete the
        notes of a team.
        """
        store, state = self.receiver.store, self.receiver.state
        pending = store.log.pending(FOLLOWER, state.identity)
        if pending is None:  # a new follower: the log has no earlier deletions
            here = state.live_here()
            gone = here.keys() - store.hashes().keys()
            state.queue(Waiting(note, "", "") for note in gone)
            store.log.subscribe(FOLLOWER, state.identity)
        else:
            gone = {each.note_id for each in pending.changes if each.hash is None}
            here = state.live_here() if len(gone) > _LOSS_THRESHOLD else {}
            gone &= here.keys()
        if len(gone) <= max(_LOSS_THRESHOLD, len(here) // 2):
            return False
        lost = gone - {each.id for each in store.trashed()} - purged_ids(store.root)
        if len(lost) <= max(_LOSS_THRESHOLD, len(here) // 2):
            return False
        self.restored = len(lost)
        state.dequeue(lost)
        state.forget(lost)
        self.receiver.spaces = state.spaces()
        return True

    def _send(self) -> None:
        """Send the queued notes, the notes of projects that were given to a space, and the local changes."""
        store, state, sender = self.receiver.store, self.receiver.state, self.sender
        self.announce(f"Sending to {self.receiver.client.address.host}")
        if waiting := state.waiting():
            sender.send(each.note for each in waiting)
        self._follow_projects()
        for _ in range(_MOST_ROUNDS):
            pending = store.log.pending(FOLLOWER, state.identity, _BATCH)
            if pending is None or not pending.changes:
                return
            sender.send(each.note_id for each in pending.changes)
            store.log.advance(FOLLOWER, pending)
        raise StoreUnavailable("Notes keep changing while they are sent.", "Sync again when no program writes notes.")

    def _follow_projects(self) -> None:
        """Send the notes of projects that were given to a space since the last exchange."""
        known = self.receiver.state.spaces()
        for space in self.receiver.spaces.values():
            before = known[space.name].projects if space.name in known else ()
            if space.can_write and (new := {*space.projects}.difference(before)):
                for project in sorted(new):
                    self.sender.send(self.receiver.store.ids_of(project))
            if space.role and space.projects != before and (space.can_write or not space.projects):
                self.receiver.state.save_projects(space.name, space.projects)


def _invitation(found: Json) -> Invitation:
    try:
        projects = tuple(map(str, found.get("projects") or ()))
        return Invitation(check_space(str(found["space"])), str(found["role"]), str(found["inviter"]), projects)
    except (AttributeError, KeyError, TypeError, InvalidNote) as error:
        raise HubRefused("The hub sent an invitation that cannot be read.") from error


def compare(receiver: Receiver) -> None:
    """Rescan the files for edits in place, if a rescan is due."""
    store, state = receiver.store, receiver.state
    now = time.time()
    if store.count() <= _ALWAYS_COMPARED or not 0 <= now - state.compared_at() < _COMPARE_SECONDS:
        store.refresh()
        state.mark("compared_at", now)
