"""Files touched are those that the session or its subagents really changed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.capture.conftest import Parse
from tests.capture.transcripts import LAST_YEAR, TODAY, Era, write

from anamnesis.capture import parse_transcript


def test_each_editing_tool_counts_once_per_file_in_the_order_of_the_first_edits(parse: Parse, era: Era) -> None:
    session = parse(
        era.ask("go"),
        era.call("Write", "t1", file_path="/w/app/b.py", content="x"),
        era.call("Edit", "t2", file_path="/w/app/a.py", old_string="1", new_string="2"),
        era.call("MultiEdit", "t3", file_path="/w/app/sub/c.py", edits=[]),
        era.call("NotebookEdit", "t4", notebook_path="/w/app/n.ipynb", new_source="1"),
        era.call("Edit", "t5", file_path="/w/app/b.py", old_string="1", new_string="2"),
        era.call("Read", "t6", file_path="/w/app/read.py"),
        era.call("Bash", "t7", command="touch /w/app/z.py"),
    )
    assert session.files_touched == ["b.py", "a.py", "sub/c.py", "n.ipynb"]
    assert session.files_created == []


def test_editing_tools_of_mcp_servers_count(parse: Parse, era: Era) -> None:
    files = ("Add File: new.py", "Update File: old.py", "Delete File: gone.py")
    patch = "\n".join(("*** Begin Patch", *(f"*** {file}\n@@\n+x" for file in files), "*** End Patch"))
    session = parse(
        era.call("mcp__acp__Edit", "t1", file_path="/w/app/a.py"),
        era.call("mcp__filesystem__write_file", "t2", path="/w/app/b.py"),
        era.call("apply_patch", "t3", input=patch),
        era.call("mcp__tickets__Close", "t4", path="/w/app/c.py"),
    )
    assert session.files_touched == ["a.py", "b.py", "new.py", "old.py", "gone.py"]


def test_the_result_of_an_mcp_tool_may_be_a_string(parse: Parse, era: Era) -> None:
    call = era.call("mcp__filesystem__write_file", "t1", path="/w/app/a.py")
    assert parse(call, era.result("t1", toolUseResult="Wrote a.py")).files_touched == ["a.py"]
    assert parse(call, era.result("t1", error=True, toolUseResult="No")).files_touched == []


def test_a_path_is_relative_only_inside_the_working_folder(parse: Parse, era: Era) -> None:
    paths = ["/w/app/a.py", "/w/apple/b.py", "/etc/hosts", "c.py"]
    calls = [era.call("Edit", f"t{number}", file_path=path) for number, path in enumerate(paths)]
    assert parse(era.ask("go"), *calls).files_touched == ["a.py", "/w/apple/b.py", "/etc/hosts", "c.py"]


def test_a_windows_path_is_relative_too(parse: Parse, era: Era) -> None:
    call = {**era.call("Edit", file_path="C:\\w\\app\\sub\\a.py"), "cwd": "C:\\w\\app"}
    assert parse(call).files_touched == ["sub\\a.py"]


def test_a_new_file_is_distinguished_from_an_overwritten_one(parse: Parse, era: Era) -> None:
    session = parse(
        era.call("Write", "t1", file_path="/w/app/new.py", content="x"),
        era.result("t1", toolUseResult={"type": "create", "filePath": "/w/app/new.py"}),
        era.call("Write", "t2", file_path="/w/app/old.py", content="x"),
        era.result("t2", toolUseResult={"type": "update", "filePath": "/w/app/old.py"}),
        era.call("Write", "t3", file_path="/w/app/third.py", content="x"),
        era.result("t3", "File created successfully at: /w/app/third.py"),
        era.call("Edit", "t4", file_path="/w/app/new.py"),
        era.result("t4", toolUseResult={"filePath": "/w/app/new.py"}),
    )
    assert session.files_touched == ["new.py", "old.py", "third.py"]
    assert session.files_created == ["new.py", "third.py"]


@pytest.mark.parametrize("text", ["User rejected tool use", "Error: File has not been read yet."])
def test_a_refused_or_failed_edit_does_not_count(parse: Parse, era: Era, text: str) -> None:
    session = parse(
        era.ask("go"),
        era.call("Edit", "t1", file_path="/w/app/refused.py"),
        era.result("t1", text, toolUseResult=text),
        era.call("Write", "t2", file_path="/w/app/failed.py"),
        era.result("t2", text, error=True),
        era.call("Edit", "t3", file_path="/w/app/done.py"),
        era.result("t3"),
    )
    assert session.files_touched == ["done.py"]


def test_an_edit_that_succeeds_at_the_second_try_counts(parse: Parse, era: Era) -> None:
    session = parse(
        era.call("Edit", "t1", file_path="/w/app/a.py"),
        era.result("t1", "no", error=True),
        era.call("Edit", "t2", file_path="/w/app/a.py"),
        era.result("t2"),
    )
    assert session.files_touched == ["a.py"]


def test_several_results_in_one_line_belong_to_their_calls(parse: Parse, era: Era) -> None:
    results = era.result("t0")
    results["message"]["content"] += [
        {"type": "tool_result", "tool_use_id": "t1", "content": "no", "is_error": True},
        {"type": "tool_result", "tool_use_id": "t2", "content": "ok"},
    ]
    calls = [era.call("Edit", f"t{number}", file_path=f"/w/app/{number}.py") for number in (1, 2)]
    assert parse(*calls, results).files_touched == ["2.py"]


def test_an_edit_whose_result_is_missing_counts(parse: Parse, era: Era) -> None:
    assert parse(era.ask("go"), era.call("Edit", file_path="/w/app/a.py")).files_touched == ["a.py"]


def test_a_subagents_edits_in_the_main_file_count(parse: Parse) -> None:
    call = {**LAST_YEAR.call("Edit", file_path="/w/app/a.py"), "isSidechain": True}
    session = parse(LAST_YEAR.ask("go"), call, {**LAST_YEAR.result(), "isSidechain": True})
    assert session.files_touched == ["a.py"]
    assert session.turns == 0


def test_a_subagents_edits_in_its_own_file_count(tmp_path: Path) -> None:
    main = write(tmp_path / "s1.jsonl", TODAY.ask("go"), TODAY.answer("Done."))
    folder = tmp_path / "s1" / "subagents" / "workflows" / "run"
    folder.mkdir(parents=True)
    side = {"isSidechain": True, "timestamp": "2027-01-01T00:00:00Z", "sessionId": "other", "gitBranch": "side"}
    entries = [
        TODAY.ask("you are a subagent"),
        TODAY.call("Edit", "t1", file_path="/w/app/a.py"),
        TODAY.result("t1"),
        TODAY.call("Edit", "t2", file_path="/w/app/b.py"),
        TODAY.result("t2", "no", error=True),
        TODAY.answer("Subagent done."),
    ]
    write(folder / "agent-1.jsonl", *({**entry, **side} for entry in entries))
    write(folder / "journal.jsonl", TODAY.call("Edit", file_path="/w/app/c.py"))
    session = parse_transcript(main)
    assert session.files_touched == ["a.py"]
    assert (session.prompts, session.last_outcome, session.turns) == (["go"], "Done.", 1)
    assert (session.ended_at, session.git_branch, session.session_id) == ("2026-08-01T10:00:00.000Z", "main", "s1")


@pytest.mark.parametrize("input", [None, [], {}, {"file_path": 7}, {"file_path": ""}, {"path": None}])
def test_a_call_without_a_path_is_ignored(parse: Parse, era: Era, input: object) -> None:
    call = era.call("Edit", "t1")
    call["message"]["content"][0]["input"] = input
    assert parse(call, era.call("Edit", "t2", file_path="/w/app/a.py")).files_touched == ["a.py"]


def test_tools_named_in_a_text_are_not_called(parse: Parse, era: Era) -> None:
    text = json.dumps({"type": "tool_use", "id": "t1", "name": "Edit", "input": {"file_path": "/w/app/a.py"}})
    assert parse(era.ask(text), era.answer(text)).files_touched == []
