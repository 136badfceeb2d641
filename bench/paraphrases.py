"""Notes of developers, each with a question in other words.

`paraphrases.txt` has those to which the constants of `anamnesis.meaning.fusion` are fitted; tests/eval has others, of
other fields, which nothing is fitted to.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

FITTED = Path(__file__).with_suffix(".txt")


class Paraphrase(NamedTuple):
    field: str
    title: str
    body: str
    question: str


def read(path: Path = FITTED) -> list[Paraphrase]:
    """A title, a body and a question in three lines each; `# field` stands above those of a field."""
    found, field = [], ""
    for block in path.read_text("utf-8").strip().split("\n\n"):
        if block.startswith("# "):
            field = block[2:]
        else:
            found.append(Paraphrase(field, *block.split("\n")))
    return found
