"""One exchange with a hub: receive what changed there, then send what changed here. Its cost is that of the changes.

Every step can be killed: files are written before it is recorded that they were, and what was sent but not recorded is
recognised when it comes back.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from anamnesis.errors import StoreUnavailable
from anamnesis.exchange.client import HubRefused, Incoming, Json, incoming
from anamnesis.exchange.receiving import Receiver
from anamnesis.exchange.sending import Sender
from anamnesis.exchange.state import DOUBTED, Space, Waiting
from anamnesis.notes.spaces import PERSONAL
from anamnesis.store.ids import utcnow
from anamnesis.store.tombstones import purged_ids
from anamnesis.sync.backend import Announce

FOLLOWER = "hub"
_BATCH = 500
# Answers without changes before an exchange gives up: the hub may have been restored, and spaces have other names or
# start again.
_MOST_IDLE = 5
# Rounds of sending that one exchange makes at the most; the next one goes on.
_MOST_ROUNDS = 10_000
# More notes than these that vanish at once without a trace are lost, not deleted.
_FEW = 20
# Edits in place that neither the index nor a daemon noticed are found by comparing all files: at each exchange up to
# this many notes (30 ms), and beyond it at this interval.
_FEW_NOTES = 20_000
_COMPARE_SECONDS = 3600.0


@dataclass(slots=True)
class Cycle:
    """The progress of one exchange."""

    receiver: Receiver
    sender: Sender
    announce: Announce
    hub: str  # its id
    rename: Callable[[str], object]  # records another id of the hub
    restored: int = 0  # notes that were lost here and are received again
    removed: list[str] = field(default_factory=list)  # spaces that the user was removed from

    def run(self) -> None:
        state = self.receiver.state
        self.receiver.spaces = state.spaces()
        self._receive()
        store = self.receiver.store
        store.shared.close_spaces({name for name, space in self.receiver.spaces.items() if not space.can_write})
        self._catch_up()
        if self._find_lost():
            self._receive()
        self._send()
        state.mark("reached_at", utcnow())

    def _catch_up(self) -> None:
        """Receive the current versions of notes that could not be received when they came."""
        receiver = self.receiver
        missed = [each for each in receiver.state.waiting() if each.missed]
        found = {(each.note, each.space): receiver.client.note(each.space, each.note) for each in missed}
        receiver.state.catch_up(key for key, version in found.items() if version is None)
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
            if (hub := str(answer.get("hub", ""))) and hub != self.hub:
                self._rename(hub)
                idle += 1
                continue
            if any(not isinstance(entry, dict) for entry in answer["spaces"].values()):
                raise HubRefused("The hub describes a space in a way that is not known.")
            if self._match(answer["spaces"]):
                idle += 1  # the answer is to the cursors of other spaces
                continue
            for name, entry in answer["spaces"].items():
                has_more |= self._enter(name, entry, versions)
            receiver.state.save_spaces(receiver.spaces.values())
            cursors = {}
            for each in versions:
                cursors[each.space] = max(cursors.get(each.space, 0), each.version)
            receiver.receive(versions, cursors)
            for name, cursor in cursors.items():
                receiver.spaces[name] = receiver.spaces[name]._replace(cursor=cursor)
            if not has_more:
                receiver.state.drop_unseen()
                return
            idle = 0 if versions else idle + 1
        raise HubRefused("The hub announces changes and sends none.", "Its log may say why.")

    def _rename(self, hub: str) -> None:
        """Go on with a hub that was restored from a backup: what is known of its versions does not hold any more."""
        self.receiver.state.rename(hub)
        self.rename(hub)
        self.hub = hub
        self.receiver.spaces = self.receiver.state.spaces()

    def _match(self, entries: Mapping[str, Json]) -> bool:
        """Recognise the known spaces by their ids; whether one has another name now.

        A shared space whose name another one has now is gone: its notes must not reach the members of that one.
        """
        receiver = self.receiver
        present = {name: str(entry["id"]) for name, entry in entries.items() if entry.get("id")}
        by_id = {id: name for name, id in present.items()}
        names: dict[str, str] = {}
        for known in receiver.spaces.values():
            now, id = by_id.get(known.id, known.name), known.id.removeprefix(DOUBTED)
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

    def _enter(self, name: str, entry: Json, versions: list[Incoming]) -> bool:
        """Take up what the hub says of a space; whether it has more to say."""
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
            self.receiver.state.restart(name)
            spaces[name] = Space(name, id, role, known.is_personal, 0, projects)
            return True
        cursor = known.cursor if known else 0
        spaces[name] = Space(name, id, role, name.startswith(PERSONAL), cursor, projects)
        versions += [incoming(name, each) for each in entry.get("changes") or ()]
        return bool(entry.get("more"))

    def _find_lost(self) -> bool:
        """Whether most notes vanished here without having been deleted: then they are received again.

        A folder that was removed or replaced must not delete the notes of a team.
        """
        store, state = self.receiver.store, self.receiver.state
        pending = store.log.pending(FOLLOWER, state.identity)
        if pending is None:  # of notes that were deleted before, the log has no changes
            here = state.live_here()
            gone = here.keys() - store.hashes().keys()
            state.wait(Waiting(note, "", "") for note in gone)
            store.log.subscribe(FOLLOWER, state.identity)
        else:
            gone = {each.note_id for each in pending.changes if each.hash is None}
            here = state.live_here() if len(gone) > _FEW else {}
            gone &= here.keys()
        if len(gone) <= max(_FEW, len(here) // 2):
            return False
        lost = gone - {each.id for each in store.trashed()} - purged_ids(store.root)
        if len(lost) <= max(_FEW, len(here) // 2):
            return False
        self.restored = len(lost)
        state.settle(lost)
        state.forget(lost)
        self.receiver.spaces = state.spaces()
        return True

    def _send(self) -> None:
        """Send what waits, what follows its project, and what changed here."""
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
        raise StoreUnavailable("Notes change all the time.", "Sync again when nothing writes them.")

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


def compare(receiver: Receiver) -> None:
    """Index files that were edited in place."""
    store, state = receiver.store, receiver.state
    now = time.time()
    if store.count() <= _FEW_NOTES or not 0 <= now - state.compared_at() < _COMPARE_SECONDS:
        store.refresh()
        state.mark("compared_at", now)
