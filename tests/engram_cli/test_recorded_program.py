"""Our answers over MCP and on the command line equal the recorded ones of a running Engram, step by step."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest
from tests.engram_cli.program import Program

Step = dict[str, Any]
STEPS: list[Step] = [
    json.loads(line)
    for line in Path(__file__).parents[1].joinpath("engram/golden/stdio.jsonl").read_text().splitlines()
]
SCENARIOS = {name: list(steps) for name, steps in groupby(STEPS, key=lambda step: step["scenario"])}


# By default mem_save says the new id, mem_context has a limit, an import normalises the project Engramm, and mem_search
# finds notes by meaning where none has all words.
_DIFFERENT = ("mcp-save", "mcp-search", "mcp-read", "mcp-change", "mcp-sessions", "cli")


@pytest.mark.parametrize("name", SCENARIOS)
def test_a_recorded_conversation_is_repeated_word_for_word_if_strict(tmp_path: Path, name: str) -> None:
    program = Program(tmp_path)
    program.variables["ANAMNESIS_ENGRAM_STRICT"] = "1"
    repeat(program, name)


@pytest.mark.parametrize("name", sorted(SCENARIOS.keys() - set(_DIFFERENT)))
def test_every_other_conversation_is_repeated_word_for_word_by_default(tmp_path: Path, name: str) -> None:
    repeat(Program(tmp_path), name)


def repeat(program: Program, name: str) -> None:
    for step in SCENARIOS[name]:
        assert played(program, step) == step["result"], {**step, "result": "...", "text": "..."}


def played(program: Program, step: Step) -> Step:
    if "file" in step:
        (program.folder / step["file"]).write_text(step["text"])
        return {}
    if "read" in step:
        return {"text": neutral(program, (program.folder / step["read"]).read_text())}
    if "cli" in step:
        return command(program, step)
    with program.mcp(*step["mcp"]) as tools:
        if step.get("list"):
            replies: list[Any] = [list(map(declared, tools.ask("tools/list", {})["result"]["tools"]))]
        else:
            replies = [reply(program, tools.call(*call)) for call in step["calls"]]
    return {"server": tools.server["name"], "replies": replies}


def command(program: Program, step: Step) -> Step:
    done = program(*step["cli"])
    errors = neutral(program, done.err.strip())
    if step["result"]["err"] == "(a message)":
        assert errors
        assert "Traceback" not in errors
        errors = "(a message)"
    return {"exit": done.code, "out": neutral(program, done.out), "err": errors}


def reply(program: Program, answer: Any) -> Step:
    if "error" in answer:
        return {"error": {"code": answer["error"]["code"]}}
    (content,) = answer["result"]["content"]
    return {"isError": answer["result"].get("isError", False), "text": neutral(program, content["text"])}


def declared(value: Any) -> Any:
    """A declaration without what is said in words of our own."""
    if not isinstance(value, dict):
        return value
    return {name: declared(each) for name, each in value.items() if name != "description"}


def neutral(program: Program, text: str) -> str:
    """A text without what differs from run to run."""
    text = text.replace(str(program.home), "<home>")
    # Kept in one second in the recording, so neither was the newer; here a second may begin between them.
    text = text.replace("Projects: engram, engramm", "Projects: engramm, engram")
    text = re.sub(r"\b(obs|prompt)-[0-9a-f]{16}\b", r"\1-<hex>", text)
    text = re.sub(r"(Created chunk |\"id\": \")[0-9a-f]{8}\b", r"\1<id>", text)
    text = re.sub(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", "<rfc3339>", text)
    return re.sub(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d", lambda found: _age(found[0]), text)


def _age(moment: str) -> str:
    then = datetime.fromisoformat(moment).replace(tzinfo=UTC)
    return "<now>" if abs((datetime.now(UTC) - then).total_seconds()) < 600 else moment


def test_every_recording_is_played() -> None:
    assert (len(SCENARIOS), sum(map(len, SCENARIOS.values()))) == (9, 63)
