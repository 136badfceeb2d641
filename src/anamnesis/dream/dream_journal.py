"""The journal of dreams: each cycle as JSON, which `undo` reads, and as markdown for people."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from datetime import datetime
from itertools import islice
from typing import Any

from anamnesis.disk import write_atomically
from anamnesis.dream.dream_database import REVIEW, WAITING, DreamDatabase
from anamnesis.dream.proposal import Proposal
from anamnesis.dream.triage import Decisions
from anamnesis.plain import one_line
from anamnesis.plural import counted
from anamnesis.store import MemoryStore, changeset

# The kind of the change that a cycle makes, and the name of the follower that finds proposals.
KIND = FOLLOWER = "dream"
_LONGEST_TITLE = 80
_SHOWN = ("id", "kind", "notes", "reason", "confidence", "status", "evidence", "after")


def facts_of(decided: Decisions, trigger: str, looked_at: int, seconds: float) -> dict[str, Any]:
    """The facts about a cycle that are recorded with its files."""
    return {
        "trigger": trigger,
        "looked_at": looked_at,
        "seconds": round(seconds, 3),
        "proposals": [shown(proposal) for proposal in decided.applied],
        "waiting": len(decided.waiting),
        "review": len(decided.review),
    }


def shown(proposal: Proposal, status: str = "apply") -> dict[str, Any]:
    """A proposal as every surface shows it."""
    return {
        "id": proposal.key,
        "kind": proposal.kind,
        "notes": list(proposal.notes),
        "reason": proposal.reason,
        "confidence": round(proposal.confidence, 3),
        "status": status,
        "evidence": dict(proposal.evidence),
        "after": [note.id for note in proposal.after],
    }


def decisions(decided: Decisions) -> list[dict[str, Any]]:
    """The decision of a cycle about each proposal."""
    kinds = {"apply": decided.applied, "wait": decided.waiting, "review": decided.review}
    return [shown(proposal, status) for status, some in kinds.items() for proposal in some]


def entries(store: MemoryStore, most: int | None = None) -> list[dict[str, Any]]:
    """The latest cycles in the journal, the newest first."""
    return [entry(change) for change in islice(changeset.changes(store), most)]


def undone(store: MemoryStore) -> list[dict[str, Any]]:
    """The proposals that were applied and undone, as `shown` returns them."""
    undone = (change for change in changeset.changes(store) if change.state == changeset.UNDONE)
    return [proposal for change in undone for proposal in proposals(change)]


def proposals(change: changeset.Changeset) -> list[dict[str, Any]]:
    """The proposals that a change has applied, as `shown` returns them."""
    found = change.facts.get("proposals", ())
    return [each for each in found if isinstance(each, dict) and {*_SHOWN} <= each.keys()]


def entry(change: changeset.Changeset) -> dict[str, Any]:
    """A cycle without the texts of its files."""
    return {
        "id": change.id,
        "at": change.at,
        "kind": change.kind,
        "state": change.state,
        "reason": change.reason,
        "notes": [file.note for file in change.files],
        **change.facts,
    }


def status(store: MemoryStore) -> dict[str, Any]:
    """The last cycle, the number of notes that changed since, and the numbers of open proposals."""
    with contextlib.closing(DreamDatabase(store.root)) as database:
        counts = database.counts()
    last = next((entry(change) for change in changeset.changes(store)), None)
    open = {name: counts.get(name, 0) for name in (WAITING, REVIEW)}
    return {**open, "changed_notes": _changed(store), "last": last}


def _changed(store: MemoryStore) -> int:
    """How many notes have changed since the last cycle; before the first cycle, all notes."""
    pending = store.log.pending(FOLLOWER)
    return len(pending.changes) if pending else store.count()


def last_dream(store: MemoryStore) -> changeset.Changeset | None:
    """The newest cycle in the journal, other than accepted reviews and reflections."""
    return next((change for change in changeset.changes(store) if change.kind == KIND), None)


def gauges(store: MemoryStore) -> dict[str, float]:
    """The metrics about dreams, by name."""
    with contextlib.closing(DreamDatabase(store.root)) as database:
        counts, last = database.counts(), database.state("last")
    return {
        "anamnesis_notes": store.count(),
        "anamnesis_dream_last_timestamp_seconds": datetime.fromisoformat(last).timestamp() if last else 0,
        "anamnesis_dream_changed_notes": _changed(store),
        **{f"anamnesis_dream_proposals_{name}": counts.get(name, 0) for name in (WAITING, REVIEW)},
    }


def write_report(store: MemoryStore, change: changeset.Changeset) -> None:
    """Write the markdown of a cycle beside its JSON. A failure is ignored, because the report can be made again."""
    path = store.root / changeset.FOLDER / f"{change.id}.md"
    with contextlib.suppress(OSError):
        write_atomically(path, report(store, change).encode(), mode=0o600)


def report(store: MemoryStore, change: changeset.Changeset) -> str:
    """A cycle in markdown."""
    facts = change.facts
    lines = [f"# {change.kind.capitalize()} {change.id}", "", f"{change.at}, {change.state}. {change.reason}", ""]
    if "looked_at" in facts:
        looked = counted(facts["looked_at"], "episode" if change.kind == "reflection" else "changed note")
        lines += [f"Looked at {looked} in {facts['seconds']:.1f} s.", ""]
    named = _named(store, change)
    titles = {note.id: one_line(note.title, _LONGEST_TITLE) for note in named}
    titles |= {id: f"{titles[id]} ({origin.sentence})" for id, origin in store.origins(named).items()}
    for proposal in proposals(change):
        lines += [f"## {proposal['kind']} ({proposal['confidence']:.2f})", "", proposal["reason"], ""]
        lines += [f"- {id} {titles.get(id, '')}".rstrip() for id in proposal["notes"]]
        lines += [f"- → {id}" for id in proposal["after"] if id not in proposal["notes"]]
        lines.append("")
    if facts.get("waiting") or facts.get("review"):
        lines += [f"Waiting for a later cycle: {facts['waiting']}. For `anamnesis review`: {facts['review']}.", ""]
    if change.state == changeset.DONE and change.files:
        lines.append(f"`anamnesis dream undo {change.id}` takes it back.")
    return "\n".join(lines).rstrip("\n") + "\n"


def _named(store: MemoryStore, change: changeset.Changeset) -> Sequence[Any]:
    ids = {id for proposal in proposals(change) for id in (*proposal["notes"], *proposal["after"])}
    return [file.memory for file in store.files(ids).values() if file.memory]
