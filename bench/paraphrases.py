"""Developer notes, each with a question in other words.

The constants of `anamnesis.meaning.fusion` are fitted to `paraphrases.txt`; tests/eval has others, from other fields,
that are held out.
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
    """Read blocks of three lines: title, body and question. A block `# field` starts a field."""
    found, field = [], ""
    for block in path.read_text("utf-8").strip().split("\n\n"):
        if block.startswith("# "):
            field = block[2:]
        else:
            found.append(Paraphrase(field, *block.split("\n")))
    return found
