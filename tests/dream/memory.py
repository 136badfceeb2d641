"""Notes of an agent, and proposals of earlier dreams about them."""

from __future__ import annotations

import contextlib
from typing import Any

from anamnesis.dream.dream_database import WAITING, DreamDatabase, NewProposal
from anamnesis.dream.proposal import Proposal
from anamnesis.notes import Memory
from anamnesis.store import MemoryStore

TEXT = "The deploy needs the tunnel to be open before the migration starts."


def write(store: MemoryStore, body: str = TEXT, **given: Any) -> Memory:
    """A note of an agent."""
    fields = {"type": "semantic", "title": "Deploy", "project": "shop", "prov_session": "s1", **given}
    return store.write(body=body, **fields)


def tree(store: MemoryStore) -> dict[str, bytes]:
    paths = [path for folder in (store.memory_dir, store.local_dir) for path in folder.rglob("*.md")]
    return {str(path.relative_to(store.root)): path.read_bytes() for path in paths}


def propose(store: MemoryStore, proposal: Proposal, phase: str = "consolidate") -> None:
    """Save a proposal as if an earlier cycle had found it."""
    ids = {*proposal.notes, *(note.id for note in proposal.after)}
    hashes = {id: hash.hex() for id, hash in store.hashes_of(ids).items()}
    with contextlib.closing(DreamDatabase(store.root)) as database:
        database.save([NewProposal(proposal, WAITING, phase)], hashes, "2026-01-01T00:00:00+00:00")


def proposals(store: MemoryStore, *statuses: str) -> list[Proposal]:
    with contextlib.closing(DreamDatabase(store.root)) as database:
        return [each.proposal for each in database.proposals(*statuses)]
