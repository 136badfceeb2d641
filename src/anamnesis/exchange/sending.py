"""Sends changes of notes to a hub, each with its base version. Conflicts are merged and sent again.

A move creates the note in the new space, records that, and only then deletes it in the old one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice

from anamnesis.exchange.client import HubFull, HubRefused, HubUnreachable, Incoming, Json, Outgoing, incoming
from anamnesis.exchange.local import Local, read_local, unreadable_ids
from anamnesis.exchange.receiving import CLAIMED, Receiver, titled
from anamnesis.exchange.state import Agreed, Elsewhere, Space, Waiting, personal_space
from anamnesis.notes import Memory
from anamnesis.notes.merge import conflict_of
from anamnesis.notes.spaces import PERSONAL, is_shared, space_of
from anamnesis.store.files import TREES, digest
from anamnesis.store.shared_notes import Shared
from anamnesis.sync.worktree import EXCHANGE_STAGE, Replacement, replace_files

# The limits of one request.
_MOST_CHANGES = 500
_MOST_BYTES = 3_000_000
# Attempts to merge and send a change while other machines change the same note.
_MOST_ROUNDS = 20

Known = Mapping[str, Mapping[str, Agreed]]


@dataclass(frozen=True, slots=True)
class _Offer:
    """A change to send, with the file it was read from."""

    change: Outgoing
    local: Local | None
    title: str = ""


@dataclass(slots=True)
class Sender:
    """Sends local changes; with `retries`, also changes that the hub refused before."""

    receiver: Receiver
    machine: str
    retries: bool = False
    sent: list[tuple[str, str]] = field(default_factory=list)  # the kind and title of each change
    sent_to: Counter[str] = field(default_factory=Counter)  # the number of texts by shared space

    def send(self, ids: Iterable[str]) -> None:
        """Send the changed ones of these notes; each is accepted by the hub or queued with a reason."""
        remaining = iter(dict.fromkeys(ids))
        while batch := [*islice(remaining, _MOST_CHANGES)]:
            self._send_batch(batch)

    def _send_batch(self, ids: Collection[str]) -> None:
        for _ in range(_MOST_ROUNDS):
            again = self._offer(ids)
            again |= self._delete_moved(ids)
            if not again:
                return
            ids = again
        raise HubUnreachable("Other machines keep changing the same notes.", "Sync again later.")

    def _offer(self, ids: Collection[str]) -> set[str]:
        """Send each note once; returns the notes to send again."""
        state = self.receiver.state
        local = read_local(self.receiver.store, ids)
        origins = {origin for each in local.values() if each.memory and (origin := conflict_of(each.memory))}
        known = state.agreed({*ids, *origins})
        queued = [each for each in state.waiting() if each.note in ids]
        waiting = {each.note: each for each in queued if not each.missed}
        claimed = {(each.note, each.space) for each in queued if each.reason == CLAIMED.format(each.space)}
        elsewhere = state.elsewhere(ids)
        held = unreadable_ids(self.receiver.store, [id for id in ids if id not in local and id in known])
        offers: list[_Offer] = []
        reasons: list[Waiting] = []
        for note_id in ids:
            rows, here = known.get(note_id, {}), local.get(note_id)
            if note_id in held:
                reasons.append(Waiting(note_id, "", "Its file cannot be read: `anamnesis doctor` says why."))
                continue
            if here and self._leave(here, _home(rows)):
                continue
            planned = (
                self._plan_change(note_id, here, rows, known, elsewhere.get(note_id))
                if here and here.is_portable
                else self._plan_deletion(note_id, rows)
            )
            if isinstance(planned, Waiting):
                reasons.append(planned)
            elif planned and (note_id, planned.change.space) in claimed:
                reasons.append(Waiting(note_id, planned.change.space, CLAIMED.format(planned.change.space)))
            elif planned and self._is_due(planned, waiting.get(note_id)):
                offers.append(planned)
            elif planned:
                reasons.append(waiting[note_id])
        state.dequeue(waiting.keys() - {each.note for each in reasons} - {each.change.note for each in offers})
        state.queue(reasons)
        self._mark_leaving(offers, known)
        return self._send(offers, known)

    def _leave(self, here: Local, home: Agreed | None) -> bool:
        """Leave another member's note in its space if the user takes it out; the user gets a copy.

        Returns whether that is done. Only a deletion removes what somebody else wrote.
        """
        receiver, note = self.receiver, here.memory
        space = receiver.spaces.get(home.space) if home and home.is_live else None
        if home is None or note is None or space is None or space.is_personal:
            return False
        named = target(note, home, receiver.spaces) if here.is_portable else ""
        if named == home.space or (named and self._write_fault(named)):
            return False
        if not space.role:  # the user was removed: the hub says nothing about it any more
            return receiver.take_over(here, home, named)
        if not (owner := receiver.owner(home.space, home.note)) or not (copy := receiver.leave(here, home, named)):
            return False
        where = f"in {named}" if named else "on this machine"
        stays = f"{titled(note)} is {owner}'s and stays in the space {home.space}"
        receiver.state.tell(note.id, [f"{stays}: you have a copy {where}, {copy.id}."])
        return True

    def _is_due(self, offer: _Offer, waiting: Waiting | None) -> bool:
        """Whether to send a change: a refused one is sent again only after an edit, or with `retries`."""
        is_same = waiting and waiting.hash is not None and offer.local and waiting.hash == offer.local.file.hash
        return self.retries or not is_same

    def _plan_change(
        self,
        note_id: str,
        local: Local,
        rows: Mapping[str, Agreed],
        known: Known,
        elsewhere: Elsewhere | None,
    ) -> _Offer | Waiting | None:
        """Plan what to send for a note that has a portable file."""
        note = local.memory
        home = _home(rows)
        if note is None:
            reason = f"{local.file.path} cannot be read: {local.file.problem}"
            return Waiting(note_id, home.space if home else "", reason)
        if home is None and elsewhere:
            if elsewhere.is_personal:
                return None  # `standing.py` counts them
            return Waiting(note.id, elsewhere.space, elsewhere.reason)
        origin = _home(known.get(conflict_of(note), {}))
        name = target(note, home or (None if space_of(note) else origin), self.receiver.spaces)
        if home and home.space == name and home.hash == local.file.hash:
            return None
        if fault := self._write_fault(name):
            return Waiting(note.id, name, fault)
        base = max(rows[name].version, 0) if name in rows else 0
        is_moved = home is not None and home.is_live and home.space != name
        return _Offer(Outgoing(name, note.id, base, local.text, anew=is_moved), local, note.title)

    def _plan_deletion(self, note_id: str, rows: Mapping[str, Agreed]) -> _Offer | Waiting | None:
        """Plan what to send for a note that has no portable file any more."""
        home = _home(rows)
        if home is None or not home.is_live:
            return None
        if fault := self._write_fault(home.space):
            return Waiting(note_id, home.space, f"It was deleted here. {fault}")
        return _Offer(Outgoing(home.space, note_id, max(0, home.version), None), None)

    def _write_fault(self, name: str) -> str:
        """Why the user cannot write to a space; "" if allowed."""
        space = self.receiver.spaces.get(name)
        if space is None:
            return f"You have no space {name} at the hub."
        if not space.role:
            return f"You are no longer a member of the space {name}."
        return "" if space.can_write else f"You may only read the space {name}."

    def _mark_leaving(self, offers: Iterable[_Offer], known: Known) -> None:
        """Record the notes that are about to move, so that a kill does not leave them in both spaces."""
        leaving = []
        for offer in offers:
            home = _home(known.get(offer.change.note, {}))
            if home and home.is_live and offer.change.text is not None and home.space != offer.change.space:
                leaving.append(home._replace(is_leaving=True))
        if leaving:
            self.receiver.state.save(leaving)

    def _delete_moved(self, ids: Collection[str]) -> set[str]:
        """Delete moved notes in their old spaces; returns the notes to send again."""
        offers, staying = [], []
        known = self.receiver.state.agreed(ids)
        for row in (row for rows in known.values() for row in rows.values() if row.is_leaving):
            if row.is_here or not row.is_live or self._write_fault(row.space):
                staying.append(row._replace(is_leaving=False))  # it was not moved, or may not be deleted there
            else:
                offers.append(_Offer(Outgoing(row.space, row.note, row.version, None), None))
        if staying:
            self.receiver.state.save(staying)
        return self._send(offers, known)

    def _send(self, offers: Iterable[_Offer], known: Known) -> set[str]:
        """Send changes and record the result of each; returns the notes to send again."""
        again: set[str] = set()
        for batch in _batches(offers):
            again |= self._deliver(batch, known)
        return again

    def _deliver(self, batch: Sequence[_Offer], known: Known, *, is_again: bool = False) -> set[str]:
        """Send a batch. If it fails while the hub answers other requests, split it: one change holds up no other.

        A single change is tried twice, and queued with the reason.
        """
        client = self.receiver.client
        space_ids = {name: int(space.id) for name, space in self.receiver.spaces.items() if space.id.isdecimal()}
        try:
            results = client.send(self.machine, [each.change for each in batch], space_ids)
        except HubFull:
            raise
        except (HubUnreachable, HubRefused) as error:
            client.me()  # raises if the hub answers nothing at all
            if len(batch) > 1:
                middle = len(batch) // 2
                return self._deliver(batch[:middle], known) | self._deliver(batch[middle:], known)
            if not is_again:
                return self._deliver(batch, known, is_again=True)
            results = [{"refused": error.message, "is_temporary": isinstance(error, HubUnreachable)}]
        return self._record(batch, results, known)

    def _record(self, batch: Sequence[_Offer], results: Sequence[Json], known: Known) -> set[str]:
        state = self.receiver.state
        agreed: list[Agreed] = []
        staying: list[Agreed] = []  # moved notes that the hub does not delete in the old space
        refused: list[Waiting] = []
        conflicts: list[Incoming] = []
        for offer, result in zip(batch, results, strict=True):
            change = offer.change
            row = known.get(change.note, {}).get(change.space)
            if isinstance(conflict := result.get("conflict"), dict):
                conflicts.append(incoming(change.space, {**conflict, "id": change.note}))
            elif offer.local and (taker := str(result.get("taken_by", ""))):
                self._withdraw(offer.local, change.space, taker)
            elif "refused" in result:
                is_temporary = bool(result.get("is_temporary"))
                is_replaced = "space_id" in result  # the next exchange learns the new names: send it again then
                hash = offer.local.file.hash if offer.local and not (is_replaced or is_temporary) else None
                if row and row.is_leaving and change.text is None and not is_temporary:
                    staying.append(row._replace(is_leaving=False))
                else:
                    refused.append(Waiting(change.note, change.space, str(result["refused"]), hash))
            else:
                version = incoming(change.space, {**result, "id": change.note})
                agreed.append(self._agreement(offer, version, row))
                kind = "deleted" if change.text is None else "changed" if row and row.is_live else "new"
                if not (row and row.is_leaving and change.text is None):
                    self.sent.append((kind, offer.title or change.note))
                if change.text is not None and is_shared(change.space):
                    self.sent_to[change.space] += 1
        self._record_shared(agreed, {each.change.note: each.local.memory for each in batch if each.local})
        state.save([*agreed, *staying], self._advance_cursors(agreed))
        state.dequeue(each.note for each in agreed)
        state.queue(refused)
        if conflicts:
            self.receiver.receive(conflicts, is_current=True)
        return {each.note for each in conflicts}

    def _withdraw(self, local: Local, space: str, taker: str) -> None:
        """Keep a note that another member took out of a space as the user's own: only a move brings it back."""
        copy = self.receiver.keep(local, space)
        if copy:
            own = f"{titled(copy)} is a note of your own, {copy.id}, as {taker} took it out of the space {space}"
            self.receiver.state.tell(copy.id, [f"{own}. To share it again: anamnesis move {copy.id} --space {space}"])

    def _record_shared(self, agreed: Iterable[Agreed], notes: Mapping[str, Memory | None]) -> None:
        """Record the authors: the user, or of the other version of a conflict, which git may have brought, a member."""
        here = [each for each in agreed if each.is_here and each.is_live]
        personal = {name for name, space in self.receiver.spaces.items() if space.is_personal}
        shared = self.receiver.store.shared
        shared.record(
            Shared(each.note, each.space, self.receiver.author_of_original(each.space, notes.get(each.note)))
            for each in here
            if each.space not in personal
        )
        shared.forget_own(each.note for each in here if each.space in personal)

    def _agreement(self, offer: _Offer, version: Incoming, row: Agreed | None) -> Agreed:
        """The agreement after the hub accepted a change; writes the text here if the hub redacted it."""
        change, local = offer.change, offer.local
        if change.text is None or local is None or local.memory is None:
            return Agreed(change.note, change.space, version.version, None, "", row.is_here if row else False)
        hash = local.file.hash
        if version.text is not None and version.text != change.text:
            data = version.text.encode("utf-8")
            hash = digest(data)
            store = self.receiver.store
            replacement = Replacement(local.path, local.data, data)
            replaced = replace_files(store.memory_dir, [replacement], store.root / EXCHANGE_STAGE)
            store.refresh_files([f"{TREES['portable']}/{local.path}"], replaced.steps)
        return Agreed(change.note, change.space, version.version, hash, space_of(local.memory), is_here=True)

    def _advance_cursors(self, agreed: Iterable[Agreed]) -> dict[str, int]:
        """Advance the cursors over our own changes, unless others wrote in between: they need not be received."""
        cursors: dict[str, int] = {}
        for each in sorted(agreed, key=lambda each: each.version):
            space = self.receiver.spaces.get(each.space)
            if space and each.version == cursors.get(each.space, space.cursor) + 1:
                cursors[each.space] = each.version
        for name, cursor in cursors.items():
            self.receiver.spaces[name] = self.receiver.spaces[name]._replace(cursor=cursor)
        return cursors


def target(note: Memory, home: Agreed | None, spaces: Mapping[str, Space]) -> str:
    """The space that a note belongs to.

    A note stays in its space until it names another one; a new note that names none is the user's own. Its project
    does not count here: whoever writes a note for a team's space by way of its project writes the space into it.
    """
    personal = personal_space(spaces)
    named = personal if space_of(note).startswith(PERSONAL) else space_of(note)
    if named and (home is None or space_of(note) != home.named):
        return named
    return home.space if home else personal


def _home(rows: Mapping[str, Agreed]) -> Agreed | None:
    """The agreement that the local file belongs to."""
    return next((each for each in rows.values() if each.is_here), None)


def _batches(offers: Iterable[_Offer]) -> Iterator[list[_Offer]]:
    """Split changes into requests, limited in number and in bytes."""
    batch: list[_Offer] = []
    size = 0
    for offer in offers:
        if batch and (len(batch) >= _MOST_CHANGES or size + offer.change.size > _MOST_BYTES):
            yield batch
            batch, size = [], 0
        batch.append(offer)
        size += offer.change.size
    if batch:
        yield batch
