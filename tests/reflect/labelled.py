"""Sessions as the episodes that capture writes, labelled with the sentences that a later session needs."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from anamnesis.capture.draft import Draft
from anamnesis.capture.summary import HeuristicSummarizer
from anamnesis.notes import Memory, derived_id

FOLDER = Path(__file__).parent / "episodes"
TIME = "2026-08-01T10:00:00+00:00"


@dataclass
class Labelled:
    """What was said in a session or written about it, and what of it is durable, by kind."""

    name: str
    turns: list[tuple[str, str]] = field(default_factory=list)
    durable: dict[str, str] = field(default_factory=dict)

    @property
    def episode(self) -> Memory:
        draft, body = Draft(), ""
        for role, text in self.turns:
            if role == "user":
                draft.ask([text])
            elif role == "assistant":
                draft.answer([text])
            else:
                body = text
        summary = HeuristicSummarizer().summarize(draft.session(""))
        assert summary
        return episode(self.name, body or summary.body, title=self.name if body else summary.title)


class Score(NamedTuple):
    found: int
    right: int
    labelled: int

    @property
    def precision(self) -> float:
        return self.right / (self.found or 1)

    @property
    def recall(self) -> float:
        return self.right / (self.labelled or 1)


def episode(name: str, body: str, **given: object) -> Memory:
    values = {"title": name, "project": "shop", "machine_id": "desktop", "prov_source": "session-end", **given}
    times = {"created_at": TIME, "updated_at": TIME, "prov_session": name}
    return Memory(id=derived_id(TIME, name), type="episodic", body=body, **{**times, **values})  # type: ignore[arg-type]


def read(name: str) -> list[Labelled]:
    found: list[Labelled] = []
    for block in (FOLDER / f"{name}.txt").read_text("utf-8").split("=== ")[1:]:
        title, _, rest = block.partition("\n")
        labelled = Labelled(title.strip())
        for part in f"\n{rest.strip()}".split("\n@")[1:]:
            head, _, text = part.partition("\n")
            role, _, kind = head.partition(" ")
            if role == "durable":
                labelled.durable[text.strip()] = kind
            else:
                labelled.turns.append((role, text.strip()))
        found.append(labelled)
    return found
