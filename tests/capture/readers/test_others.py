"""What is peculiar to an agent's transcripts: who speaks in the user's name, where subagents are, what is missing."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, ClassVar

import pytest
from tests.capture.agents import SESSION, Line, write

from anamnesis.capture import ParsedSession, is_trivial_session, parse_transcript

TIME = "2026-08-01T10:00:00.000Z"


def text(words: str) -> Line:
    return {"type": "text", "text": words}


class TestQwen:
    def record(self, type: str, **fields: Any) -> Line:
        place = {"uuid": "u", "parentUuid": None, "sessionId": SESSION, "timestamp": TIME, "cwd": "/w/app"}
        return {**place, "type": type, "version": "0.21", **fields}

    def user(self, words: str, **fields: Any) -> Line:
        return self.record("user", message={"role": "user", "parts": [{"text": words}]}, **fields)

    @pytest.mark.parametrize("subtype", ["notification", "cron", "goal_runtime", "agent_launch_prompt"])
    def test_only_what_was_typed_is_an_ask(self, tmp_path: Path, subtype: str) -> None:
        path = write(tmp_path / "s.jsonl", self.user("tick", subtype=subtype), self.user("mine"))
        assert parse_transcript(path).prompts == ["mine"]

    def test_reminders_are_cut_out_of_an_ask(self, tmp_path: Path) -> None:
        parts = [{"text": "<system-reminder>\nx\n</system-reminder>"}, {"text": "mine"}]
        path = write(tmp_path / "s.jsonl", self.record("user", message={"role": "user", "parts": parts}))
        assert parse_transcript(path).prompts == ["mine"]

    def test_a_branch_of_a_session_has_its_own_id(self, tmp_path: Path) -> None:
        forked = self.user("mine", forkedFrom={"sessionId": "parent", "messageUuid": "u"})
        assert parse_transcript(write(tmp_path / "s.jsonl", forked)).session_id == SESSION


class TestDroid:
    START: ClassVar[Line] = {"type": "session_start", "id": SESSION, "title": "x", "cwd": "/w/app", "version": 2}

    def message(self, role: str, content: Any, **fields: Any) -> Line:
        return {
            "type": "message",
            "id": "m",
            "timestamp": TIME,
            "message": {"role": role, "content": content, **fields},
        }

    def test_a_subagents_session_is_none(self, tmp_path: Path) -> None:
        start = {**self.START, "callingSessionId": "parent", "callingToolUseId": "t1"}
        used = {"type": "tool_use", "id": "c", "name": "Edit", "input": {"file_path": "/a"}}
        lines = [start, self.message("user", "search the code base"), self.message("assistant", [used])]
        assert is_trivial_session(parse_transcript(write(tmp_path / "s.jsonl", *lines)))

    def test_a_patch_counts_as_its_files(self, tmp_path: Path) -> None:
        patch = "*** Begin Patch\n*** Update File: a.py\n*** Move to: b.py\n*** Add File: c.py\n+1\n*** End Patch"
        used = {"type": "tool_use", "id": "c", "name": "ApplyPatch", "input": {"input": patch}}
        session = parse_transcript(write(tmp_path / "s.jsonl", self.START, self.message("assistant", [used])))
        assert (session.files_touched, session.files_created) == (["a.py", "b.py", "c.py"], ["c.py"])


class TestCopilot:
    def event(self, type: str, **data: Any) -> Line:
        return {"type": type, "data": data, "id": "e", "timestamp": TIME, "parentId": None}

    def test_an_edit_that_was_only_looked_at_is_none(self, tmp_path: Path) -> None:
        lines = [
            self.event("tool.execution_start", toolCallId=call, toolName="str_replace_editor", arguments=given)
            for call, given in (
                ("c1", {"command": "view", "path": "a.py"}),
                ("c2", {"command": "str_replace", "path": "b.py"}),
                ("c3", {"command": "create", "path": "c.py"}),
            )
        ]
        session = parse_transcript(write(tmp_path / SESSION / "events.jsonl", *lines))
        assert (session.files_touched, session.files_created) == (["b.py", "c.py"], ["c.py"])
        assert session.session_id == SESSION

    def test_a_patch_is_a_text(self, tmp_path: Path) -> None:
        patch = "*** Begin Patch\n*** Delete File: a.py\n*** End Patch"
        request = {"toolCallId": "c1", "name": "apply_patch", "arguments": patch, "type": "custom"}
        line = self.event("assistant.message", messageId="a", content="", toolRequests=[request])
        assert parse_transcript(write(tmp_path / "events.jsonl", line)).files_touched == ["a.py"]

    def test_edits_of_subagents_count(self, tmp_path: Path) -> None:
        started = self.event("tool.execution_start", toolCallId="c", toolName="edit", arguments={"path": "a.py"})
        assert parse_transcript(write(tmp_path / "events.jsonl", {**started, "agentId": "x"})).files_touched == ["a.py"]


class TestCursor:
    def lay(self, folder: Path, *lines: Line) -> Path:
        return write(folder / "projects" / "w-app" / "agent-transcripts" / SESSION / f"{SESSION}.jsonl", *lines)

    def said(self, role: str, *blocks: Line) -> Line:
        return {"role": role, "message": {"content": list(blocks)}}

    def test_older_versions_put_nothing_around_an_ask(self, tmp_path: Path) -> None:
        lines = [self.said("user", text("fix it")), {"role": "user", "message": {"content": "and that"}}]
        assert parse_transcript(self.lay(tmp_path, *lines)).prompts == ["fix it", "and that"]

    def test_an_ask_may_speak_of_the_tag_around_it(self, tmp_path: Path) -> None:
        ask = text("<user_query>\nwhat does </user_query> mean?\n</user_query>")
        assert parse_transcript(self.lay(tmp_path, self.said("user", ask))).prompts == ["what does </user_query> mean?"]

    def test_what_the_editor_keeps_elsewhere_leaves_no_note_and_no_complaint(self, tmp_path: Path) -> None:
        session = parse_transcript(self.lay(tmp_path, {"type": "turn_ended", "status": "success"}))
        assert session == ParsedSession()

    def test_a_subagents_file_is_no_session_but_its_edits_count_in_its_parents(self, tmp_path: Path) -> None:
        wrote = {"type": "tool_use", "name": "Write", "input": {"path": "/w/app/a.py", "contents": "x"}}
        main = self.lay(tmp_path, self.said("user", text("go")), self.said("assistant", text("Done.")))
        side = write(
            main.parent / "subagents" / "x.jsonl", self.said("user", text("do")), self.said("assistant", wrote)
        )
        assert parse_transcript(side) == ParsedSession()
        session = parse_transcript(main)
        assert (session.prompts, session.last_outcome) == (["go"], "Done.")
        assert session.files_touched == ["/w/app/a.py"]

    @pytest.mark.parametrize(
        ("zone", "time"),
        [
            ("UTC", "2026-08-01T17:10:00+00:00"),
            ("UTC+5:30", "2026-08-01T17:10:00+05:30"),
            ("UTC-3:30", "2026-08-01T17:10:00-03:30"),
            ("UTC+99", ""),
        ],
    )
    def test_the_time_of_an_ask_is_in_its_zone(self, tmp_path: Path, zone: str, time: str) -> None:
        ask = f"<timestamp>Saturday, Aug 1, 2026, 5:10 PM ({zone})</timestamp>\n<user_query>go</user_query>"
        assert parse_transcript(self.lay(tmp_path, self.said("user", text(ask)))).started_at == time


class TestKimi:
    HEADER: ClassVar[Line] = {"type": "metadata", "protocol_version": "1.5", "created_at": 1785578400000}

    def lay(self, folder: Path, *lines: Line, agent: str = "main") -> Path:
        return write(folder / "sessions" / "wd" / SESSION / "agents" / agent / "wire.jsonl", self.HEADER, *lines)

    def appended(self, words: str, kind: str = "user") -> Line:
        message = {"role": "user", "content": [text(words)], "origin": {"kind": kind}}
        return {"type": "context.append_message", "message": message, "time": 1785578401000}

    def test_messages_for_the_model_are_asks_only_where_no_prompt_is_recorded(self, tmp_path: Path) -> None:
        lines = [self.appended("a"), self.appended("x", "injection"), self.appended("b")]
        assert parse_transcript(self.lay(tmp_path, *lines)).prompts == ["a", "b"]
        prompt = {"type": "turn.prompt", "input": [text("c")], "origin": {"kind": "user"}, "time": 1}
        assert parse_transcript(self.lay(tmp_path, *lines, prompt)).prompts == ["c"]

    def test_a_subagents_wire_is_no_session(self, tmp_path: Path) -> None:
        path = self.lay(tmp_path, self.appended("search the code"), agent="agent-2")
        assert parse_transcript(path) == ParsedSession()

    @pytest.mark.parametrize("time", [None, True, "", 1e300, -1e300, float("nan"), [1]])
    def test_a_strange_time_is_none(self, tmp_path: Path, time: object) -> None:
        session = parse_transcript(self.lay(tmp_path, {**self.appended("a"), "time": time}))
        assert (session.prompts, session.started_at) == (["a"], "")


class TestAntigravity:
    def step(self, type: str, source: str = "MODEL", **fields: Any) -> Line:
        return {"step_index": 1, "source": source, "type": type, "status": "DONE", "created_at": TIME, **fields}

    @pytest.mark.parametrize("source", ["SYSTEM", "USER_IMPLICIT"])
    def test_only_what_the_user_said_is_an_ask(self, tmp_path: Path, source: str) -> None:
        lines = [self.step("USER_INPUT", source, content="x"), self.step("USER_INPUT", "USER_EXPLICIT", content="mine")]
        assert parse_transcript(write(tmp_path / "transcript.jsonl", *lines)).prompts == ["mine"]

    def test_what_is_added_within_a_request_is_cut_out(self, tmp_path: Path) -> None:
        content = "<USER_REQUEST>\nmine\n<ADDITIONAL_METADATA>{}</ADDITIONAL_METADATA>\n</USER_REQUEST>"
        line = self.step("USER_INPUT", "USER_EXPLICIT", content=content)
        assert parse_transcript(write(tmp_path / "transcript.jsonl", line)).prompts == ["mine"]

    @pytest.mark.parametrize("path", ["/w/app/a.py", '"/w/app/a.py"'])
    def test_values_of_calls_may_be_json_themselves(self, tmp_path: Path, path: str) -> None:
        calls = [{"name": "default_api:replace_file_content", "args": {"TargetFile": path}}]
        line = self.step("PLANNER_RESPONSE", tool_calls=calls)
        assert parse_transcript(write(tmp_path / "transcript.jsonl", line)).files_touched == ["/w/app/a.py"]


class TestKiro:
    def test_the_folder_is_told_beside_the_transcript(self, tmp_path: Path) -> None:
        content = [{"kind": "text", "data": "go"}]
        path = write(tmp_path / "x.jsonl", {"version": "v1", "kind": "Prompt", "data": {"content": content}})
        assert (parse_transcript(path).session_id, parse_transcript(path).cwd) == ("x", "")
        about = {"session_id": SESSION, "cwd": "/w/app", "created_at": TIME}
        path.with_suffix(".json").write_text(json.dumps(about, indent=2))
        assert (parse_transcript(path).session_id, parse_transcript(path).cwd) == (SESSION, "/w/app")
