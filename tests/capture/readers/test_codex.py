"""Codex records most things twice, repeats history in forks, and sends injected context as the user."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.capture.agents import ROLLOUT, SAMPLES, Line, write

from anamnesis.capture import ParsedSession, is_trivial_session, parse_transcript

TIME = "2026-08-01T10:00:00.000Z"
PATCH = "*** Begin Patch\n*** Update File: a.py\n@@\n-1\n+2\n*** End Patch"


def line(kind: str, /, **payload: Any) -> Line:
    return {"timestamp": TIME, "type": kind, "payload": payload}


def start(id: str = ROLLOUT, **fields: Any) -> Line:
    return line("session_meta", **{"id": id, "timestamp": TIME, "cwd": "/w/app", "source": "cli", **fields})


def typed(text: str, **fields: Any) -> Line:
    return line("event_msg", type="user_message", message=text, images=[], **fields)


def sent(*texts: str, role: str = "user") -> Line:
    kind = "output_text" if role == "assistant" else "input_text"
    return line("response_item", type="message", role=role, content=[{"type": kind, "text": text} for text in texts])


def item(**fields: Any) -> Line:
    return line("event_msg", type="item_completed", thread_id=ROLLOUT, turn_id="u1", item=fields)


def message_item(text: str) -> Line:
    return item(type="UserMessage", id="i1", content=[{"type": "text", "text": text}])


def call(name: str = "apply_patch", id: str = "c1", **fields: Any) -> Line:
    kind = "custom_tool_call" if "input" in fields else "function_call"
    return line("response_item", type=kind, name=name, call_id=id, **fields)


def output(text: Any, id: str = "c1", kind: str = "custom_tool_call_output") -> Line:
    return line("response_item", type=kind, call_id=id, output=text)


def read(tmp_path: Path, *lines: Line) -> ParsedSession:
    return parse_transcript(write(tmp_path / f"rollout-2026-08-01T10-00-00-{ROLLOUT}.jsonl", start(), *lines))


def test_the_messages_for_the_model_are_asks_only_if_no_event_has_the_typed_text(tmp_path: Path) -> None:
    lines = [sent("first"), sent("<skill>\nhow to\n</skill>"), sent("second")]
    assert read(tmp_path, *lines).prompts == ["first", "second"]
    assert read(tmp_path, *lines, typed("third")).prompts == ["third"]


@pytest.mark.parametrize(
    "text",
    [
        "<environment_context>\n<cwd>/w/app</cwd>\n</environment_context>",
        "<user_instructions>\nUse uv.\n</user_instructions>",
        "# AGENTS.md instructions for /w/app\n\n<INSTRUCTIONS>\nUse uv.\n</INSTRUCTIONS>",
        "<turn_aborted>\nThe user interrupted the previous turn.\n</turn_aborted>",
        "<subagent_notification>\n{}\n</subagent_notification>",
        "<user_shell_command>\n<command>ls</command>\n</user_shell_command>",
        '<hook_prompt hook_run_id="r1">remember</hook_prompt>',
    ],
)
def test_context_sent_as_the_user_is_not_an_ask(tmp_path: Path, text: str) -> None:
    assert read(tmp_path, sent(text), sent("mine")).prompts == ["mine"]
    assert read(tmp_path, sent(text, "mine")).prompts == ["mine"]


@pytest.mark.parametrize("kind", ["user_instructions", "environment_context"])
def test_older_events_mark_text_that_was_not_typed(tmp_path: Path, kind: str) -> None:
    assert read(tmp_path, typed("be brief", kind=kind), typed("mine", kind="plain")).prompts == ["mine"]


def test_the_context_that_an_editor_adds_before_an_ask_is_removed(tmp_path: Path) -> None:
    text = "# Context from my IDE setup:\n\n## Active file: a.py\n\n## My request for Codex:\nmend it"
    assert read(tmp_path, typed(text)).prompts == ["mend it"]
    assert read(tmp_path, message_item(text)).prompts == ["mend it"]


def test_an_ask_in_both_kinds_of_events_counts_once(tmp_path: Path) -> None:
    both = [message_item("go"), typed("go")]
    assert read(tmp_path, *both, sent("Done.", role="assistant"), *both).prompts == ["go", "go"]


def test_the_same_ask_typed_twice_counts_twice(tmp_path: Path) -> None:
    assert read(tmp_path, typed("go"), typed("go")).prompts == ["go", "go"]


def test_asks_that_were_rolled_back_do_not_count(tmp_path: Path) -> None:
    rollback = line("event_msg", type="thread_rolled_back", num_turns=2)
    assert read(tmp_path, typed("a"), typed("b"), typed("c"), rollback, typed("d")).prompts == ["a", "d"]
    for count in (0, -1, None, "2"):
        rollback["payload"]["num_turns"] = count
        assert read(tmp_path, typed("a"), rollback).prompts == ["a"]


def test_an_aborted_turn_keeps_its_ask_and_what_was_said(tmp_path: Path) -> None:
    aborted = line("event_msg", type="turn_aborted", turn_id="u1", reason="interrupted")
    session = read(tmp_path, typed("go"), sent("Starting.", role="assistant"), aborted)
    assert (session.prompts, session.last_outcome) == (["go"], "Starting.")


def test_a_fork_is_its_own_session_although_it_repeats_its_origin(tmp_path: Path) -> None:
    parent = start("0199aaaa-0000-7000-8000-000000000000", cwd="/w/parent", git={"branch": "old"})
    forked = start(forked_from_id=parent["payload"]["id"], git={"branch": "new"})
    path = write(tmp_path / "rollout.jsonl", forked, parent, typed("first"), typed("second"))
    session = parse_transcript(path)
    assert (session.session_id, session.cwd, session.git_branch) == (ROLLOUT, "/w/app", "new")
    assert session.prompts == ["first", "second"]


def test_a_fork_of_an_internal_session_is_the_users(tmp_path: Path) -> None:
    path = write(tmp_path / "rollout.jsonl", start(), start("other", source={"subagent": "review"}), typed("go on"))
    assert parse_transcript(path).prompts == ["go on"]


def test_a_resumed_session_continues_in_its_file(tmp_path: Path) -> None:
    once = read(tmp_path, typed("first"), sent("One.", role="assistant"))
    again = read(tmp_path, typed("first"), sent("One.", role="assistant"), start(), typed("second"))
    assert again.prompts == ["first", "second"]
    assert (again.session_id, again.started_at) == (once.session_id, once.started_at)


def test_a_compaction_does_not_repeat_asks(tmp_path: Path) -> None:
    history = [sent("first")["payload"], sent("summary of all", role="user")["payload"]]
    compacted = line("compacted", message="summary of all", replacement_history=history)
    assert read(tmp_path, typed("first"), compacted, typed("second")).prompts == ["first", "second"]
    assert read(tmp_path, sent("first"), compacted, sent("second")).prompts == ["first", "second"]


@pytest.mark.parametrize(
    "fields",
    [
        {"source": {"subagent": {"thread_spawn": {"parent_thread_id": "x", "depth": 1}}}},
        {"source": {"subagent": "review"}},
        {"source": "subagent"},
        {"thread_source": "memory_consolidation"},
    ],
)
def test_an_internal_run_of_codex_is_not_a_session(tmp_path: Path, fields: dict[str, Any]) -> None:
    path = write(tmp_path / "rollout.jsonl", start(**fields), typed("review the change"), call(input=PATCH))
    assert is_trivial_session(parse_transcript(path, "I have reviewed the change and found three things to mend."))


@pytest.mark.parametrize("source", ["cli", "vscode", "exec", {"custom": "atlas"}, None])
def test_a_session_from_any_program_counts(tmp_path: Path, source: object) -> None:
    path = write(tmp_path / "rollout.jsonl", start(source=source, thread_source="user"), typed("go"))
    assert parse_transcript(path).prompts == ["go"]


@pytest.mark.parametrize(
    "made",
    [
        call(input=PATCH),
        call(arguments=json.dumps({"input": PATCH})),
        call("shell", arguments=json.dumps({"command": ["apply_patch", PATCH]})),
        call("exec_command", arguments=json.dumps({"cmd": f"apply_patch <<'EOF'\n{PATCH}\nEOF\n"})),
    ],
)
def test_a_patch_counts_with_any_tool_unless_it_failed(tmp_path: Path, made: Line) -> None:
    kind = made["payload"]["type"] + "_output"
    good = json.dumps({"output": "Success. Updated the following files:\nM a.py\n", "metadata": {"exit_code": 0}})
    parts = [{"type": "input_text", "text": "Success. Updated the following files:\nM a.py"}]
    assert read(tmp_path, typed("go"), made).files_touched == ["a.py"]
    assert read(tmp_path, typed("go"), made, output(good, kind=kind)).files_touched == ["a.py"]
    assert read(tmp_path, typed("go"), made, output(parts, kind=kind)).files_touched == ["a.py"]
    assert read(tmp_path, typed("go"), made, output("verification failed", kind=kind)).files_touched == []


def test_reading_a_patch_is_not_applying_it(tmp_path: Path) -> None:
    shown = output(f"Success. Updated the following files:\n{PATCH}", "c9")
    grep = call("exec_command", id="c9", arguments=json.dumps({"cmd": "grep -rn '*** Begin Patch' ."}))
    script = call("exec", id="c8", input=f"console.log(`{PATCH}`)")
    assert read(tmp_path, typed("go"), grep, shown, script, sent(PATCH, role="assistant")).files_touched == []


@pytest.mark.parametrize("told", ["patch_apply_end", "item"])
def test_the_event_of_a_patch_overrides_the_call(tmp_path: Path, told: str) -> None:
    def event(made: bool, **changes: Any) -> Line:
        status = "completed" if made else "declined"
        if told == "item":
            return item(type="FileChange", id="c1", changes=changes, status=status)
        return line(
            "event_msg", type="patch_apply_end", call_id="c1", success=made, changes=changes, status=status, stdout=""
        )

    changes = {"/w/app/new.py": {"type": "add"}, "/w/app/a.py": {"type": "update", "move_path": "/w/app/b.py"}}
    session = read(tmp_path, typed("go"), call(input=PATCH), event(True, **changes), output("?"))
    assert session.files_touched == ["a.py", "b.py", "new.py"]
    assert session.files_created == ["new.py"]
    assert read(tmp_path, typed("go"), call(input=PATCH), event(False, **changes)).files_touched == []


def test_small_talk_with_tool_calls_is_not_trivial(tmp_path: Path) -> None:
    answered = [typed("yes"), sent("Sure.", role="assistant")]
    assert is_trivial_session(read(tmp_path, *answered))
    used = call("exec_command", arguments='{"cmd":"make"}')
    assert not is_trivial_session(read(tmp_path, typed("yes"), used, sent("Built.", role="assistant")))


def test_a_compressed_rollout_is_read_or_reported_as_compressed(tmp_path: Path) -> None:
    """Codex compresses rollouts after some days; the path that a hook received no longer exists then."""
    path = tmp_path / f"rollout-1-{ROLLOUT}.jsonl"
    packed = path.with_suffix(".jsonl.zst")
    try:
        from compression import zstd  # type: ignore[import-not-found,unused-ignore]
    except ImportError:
        packed.write_bytes(b"\x28\xb5\x2f\xfd")
        for given in (path, packed):
            session = parse_transcript(given)
            assert session == ParsedSession(problem=session.problem)
            assert session.problem == f"{packed} is compressed with zstd, which Python reads from version 3.14 on."
        return
    packed.write_bytes(zstd.compress((SAMPLES / "codex.jsonl").read_bytes()))
    for given in (path, packed):
        assert parse_transcript(given).prompts == ["fix the login", "now add a test"]
    packed.write_bytes(packed.read_bytes()[:-9])
    assert parse_transcript(packed).problem == ""
