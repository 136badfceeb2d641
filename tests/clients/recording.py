"""Requests of real clients, reduced to what the stand-in reads: written by `--record`, replayed in tests."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.clients.exchange import Question

FOLDER = Path(__file__).with_name("recorded")
# Clients' prompts are their makers' texts: only sentences of the scenes are kept.
_WORD = "heliotrope"
# A word of the note, or of the line in the instructions of clients without context hooks.
CONTEXT_WORDS = (_WORD, "your long-term memory")
_OURS = "ledger"
# The stand-in does not read tool descriptions and schemas; metadata differs from run to run.
_DROPPED = {"description", "parameters", "input_schema", "parametersJsonSchema", "metadata", "client_metadata"}


def write(host: str, questions: list[Question], root: Path) -> None:
    """Record a client's first request and the first one with the result of a tool."""
    kept = {
        "first": next((each for each in questions if each.tools and not each.results and _has_context(each)), None),
        "with a result": next((each for each in questions if any(_WORD in result for result in each.results)), None),
    }
    found = {name: {"dialect": each.dialect, "body": _cut(each.body, str(root))} for name, each in kept.items() if each}
    text = json.dumps(found, indent=1, ensure_ascii=False)
    (FOLDER / f"{host}.json").write_text(f"{text}\n", encoding="utf-8")


def read() -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Each recorded request: its client and kind, its dialect, its body."""
    for path in sorted(FOLDER.glob("*.json")):
        for name, each in json.loads(path.read_text("utf-8")).items():
            yield f"{path.stem}: {name}", each["dialect"], each["body"]


def _has_context(question: Question) -> bool:
    return any(word in question.text for word in CONTEXT_WORDS)


def _cut(value: Any, root: str) -> Any:
    if isinstance(value, dict):
        return {key: _cut(each, root) for key, each in value.items() if key not in _DROPPED}
    if isinstance(value, list):
        return [_cut(each, root) for each in value]
    if not isinstance(value, str):
        return value
    text = value.replace(root, "/play")
    if " " not in text or text.startswith("{"):  # a name, or the arguments or the result of a call
        return text
    ours = [line for line in text.splitlines() if any(word in line for word in (*CONTEXT_WORDS, _OURS))]
    return "\n".join(ours[-3:]) if ours else f"({len(text)} characters)"
