"""A project has at most 1,000 bytes at every door; a note that has a longer one already stays readable and editable."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.cli.command import Command

from anamnesis.errors import InvalidNote
from anamnesis.notes import MOST_PROJECT_BYTES, Memory, render
from anamnesis.store import MemoryStore

LONGEST = "é" * (MOST_PROJECT_BYTES // 2)
REASON = "The project has 1,002 bytes; at most 1,000 are possible."


def test_a_project_is_limited_where_a_note_is_written_and_where_its_project_changes(store: MemoryStore) -> None:
    note = store.write(type="semantic", title="T", body="B", project=LONGEST)
    with pytest.raises(InvalidNote, match=REASON):
        store.write(type="semantic", title="T", body="B", project=f"{LONGEST}é")
    with pytest.raises(InvalidNote, match=REASON):
        store.update(note.id, project=f"{LONGEST}é")
    assert [each.project for each in store.list()] == [LONGEST]


def test_a_note_with_a_longer_project_is_read_and_edited_and_its_project_can_be_shortened(store: MemoryStore) -> None:
    note = Memory("N1", "semantic", "T", "B", project="p" * 6_000, created_at="2026-11-16", updated_at="2026-11-16")
    path = store.root / "memory" / "semantic" / "N1.md"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(render(note))
    store.refresh()
    assert (store.problems(), store.get("N1").project) == ([], note.project)
    assert store.update("N1", body="Changed.").project == note.project
    assert store.update("N1", project="short").project == "short"


@pytest.fixture
def command(tmp_path: Path) -> Command:
    return Command(tmp_path)


def test_the_tools_of_agents_and_imports_say_so_in_one_sentence(command: Command) -> None:
    given = {"type": "semantic", "title": "T", "body": "B"}
    answers = _ask(command, "memory_write", given | {"project": f"{LONGEST}é"})
    assert answers["isError"] is True
    assert answers["content"][0]["text"].startswith(REASON)
    lines = command.folder / "notes.jsonl"
    lines.write_text(
        "".join(json.dumps({"id": f"N{len(each)}", **given, "project": each}) + "\n" for each in ("p", LONGEST + "é"))
    )
    done = command("import", "jsonl", str(lines))
    assert REASON in done.out + done.err
    assert [each["project"] for each in command("list", "--json").json] == ["p"]


def _ask(command: Command, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
    start = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
    messages = [
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": start},
        {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": tool, "arguments": arguments}},
    ]
    done = command("serve", stdin="".join(json.dumps(each) + "\n" for each in messages))
    result: dict[str, Any] = json.loads(done.out.splitlines()[-1])["result"]
    return result
