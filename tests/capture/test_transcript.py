"""What is read of a session in Claude Code's transcript, also from a damaged file."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tests.capture.conftest import Parse
from tests.capture.transcripts import LAST_YEAR, TODAY, Entry, Era, line, queued, shuffled, write

from anamnesis.capture import HeuristicSummarizer, ParsedSession, is_trivial_session, parse_transcript
from anamnesis.notes import Memory, parse, render


def test_a_missing_file_is_an_empty_session(tmp_path: Path) -> None:
    for path in (tmp_path / "no.jsonl", str(tmp_path / "no" / "no.jsonl"), tmp_path, "", "nul\0byte"):
        assert parse_transcript(path) == ParsedSession()


@pytest.mark.parametrize(
    "head",
    [
        {"type": "metadata", "protocol_version": "1"},
        {"step_index": 0, "source": "USER_EXPLICIT", "type": "USER_INPUT", "content": "go"},
    ],
)
def test_a_transcript_may_be_in_any_folder(head: Entry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for folder in (tmp_path, tmp_path / "logs", tmp_path / "agents"):
        folder.mkdir(exist_ok=True)
        monkeypatch.chdir(folder)
        write(folder / "wire.jsonl", head)
        assert not parse_transcript("wire.jsonl").problem
        monkeypatch.chdir(tmp_path)
        assert not parse_transcript(Path(folder.name) / "wire.jsonl").problem


def test_an_impossible_time_is_ignored(tmp_path: Path) -> None:
    for hours in ("9" * 5_000, "9" * 30, "99"):
        stamp = f"<timestamp>Mon, Jan 5, 2026, 3:04 PM (UTC+{hours})</timestamp>"
        content = [{"type": "text", "text": f"{stamp}<user_query>go</user_query>"}]
        write(tmp_path / "s.jsonl", {"role": "user", "message": {"content": content}})
        session = parse_transcript(tmp_path / "s.jsonl")
        assert (session.first_prompt, session.started_at) == ("go", "")


def test_a_home_in_the_path_is_expanded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    write(tmp_path / "s1.jsonl", TODAY.ask("go"))
    assert parse_transcript("~/s1.jsonl").first_prompt == "go"
    assert parse_transcript("~nobody-has-this-name/s1.jsonl") == ParsedSession()


def test_place_and_times_come_from_the_lines(parse: Parse, era: Era) -> None:
    session = parse(
        {"type": "summary", "summary": "Old things", "leafUuid": "x"},
        {**era.ask("go"), "timestamp": "2026-08-01T10:00:00.000Z"},
        {**era.answer("Done."), "timestamp": "2026-08-01T11:30:00.000Z", "gitBranch": "feature", "cwd": "/w/other"},
        {"type": "last-prompt", "lastPrompt": "go", "sessionId": "s1"},
    )
    assert (session.cwd, session.git_branch, session.session_id) == ("/w/app", "main", "s1")
    assert session.started_at == "2026-08-01T10:00:00.000Z"
    assert session.ended_at == "2026-08-01T11:30:00.000Z"
    assert (session.model, session.turns) == ("claude-x", 1)


def test_the_first_line_with_a_time_is_the_start_whatever_its_type(parse: Parse, era: Era) -> None:
    first = {"type": "queue-operation", "timestamp": "2026-08-01T09:59:00Z", "sessionId": "s1"}
    assert parse({"type": "mode", "mode": "plan"}, first, era.ask("go")).started_at == "2026-08-01T09:59:00Z"


@pytest.mark.parametrize("branch", ["", "HEAD", None])
def test_a_missing_branch_is_empty(parse: Parse, era: Era, branch: str | None) -> None:
    assert parse({**era.ask("go"), "gitBranch": branch}).git_branch == ""
    assert parse({**era.ask("go"), "gitBranch": branch}, era.answer("ok")).git_branch == "main"


def test_without_a_session_id_the_file_name_is_the_id(tmp_path: Path) -> None:
    path = tmp_path / "0b1c.jsonl"
    path.write_text('{"type":"user","message":{"content":"go"}}\n')
    assert parse_transcript(path).session_id == "0b1c"


def test_a_forked_session_has_its_own_id(tmp_path: Path) -> None:
    copied = TODAY.ask("go", sessionId="parent")
    path = write(tmp_path / "fork.jsonl", copied, TODAY.answer("ok", sessionId="fork"))
    assert parse_transcript(path).session_id == "fork"
    assert parse_transcript(write(tmp_path / "renamed.jsonl", copied)).session_id == "parent"


def test_the_outcome_is_the_last_text_of_the_main_thread(parse: Parse, era: Era) -> None:
    session = parse(
        era.answer("First.", id="msg_1"),
        era.answer("I will edit it.", id="msg_2"),
        era.call("Edit", "t1", "msg_2", file_path="/w/app/a.py"),
        era.result("t1"),
        era.answer("It works now.", id="msg_3"),
        era.call("Bash", "t2", "msg_4", command="ls"),
        era.answer("Side talk.", id="msg_5", isSidechain=True),
        era.answer("No response requested.", id="msg_6", model="<synthetic>"),
        era.answer("API Error: 529 overloaded", id="msg_7", isApiErrorMessage=True),
    )
    assert session.last_outcome == "It works now."
    assert session.model == "claude-x"
    assert session.turns == 4


def test_the_lines_of_one_message_are_one_answer(parse: Parse, era: Era) -> None:
    session = parse(
        era.answer("Old.", id="msg_1"),
        era.answer("Part one.", id="msg_2"),
        era.call("Bash", "t1", "msg_2", command="ls"),
        era.result("t1"),
        era.answer("Part two.", "Part three.", id="msg_2"),
        era.answer("Part two.", id="msg_2"),
    )
    assert session.last_outcome == "Part one.\nPart two.\nPart three."
    assert session.turns == 2


def test_lines_without_a_message_id_are_separate_answers(parse: Parse, era: Era) -> None:
    assert parse(era.answer("One.", id=""), era.answer("Two.", id="")).last_outcome == "Two."


def test_the_last_message_replaces_an_outcome_that_is_not_written_yet(parse: Parse, era: Era) -> None:
    lines = (era.ask("go"), era.answer("Working on it."))
    assert parse(*lines, last_message=" All is done.\n").last_outcome == "All is done."
    assert parse(*lines, last_message="").last_outcome == "Working on it."


def test_a_last_message_that_is_already_written_changes_nothing(parse: Parse, era: Era) -> None:
    lines = (era.ask("go"), era.answer("It works."), era.answer("Shall I commit?"))
    assert parse(*lines, last_message="Shall I commit?").last_outcome == "It works.\nShall I commit?"


def test_broken_and_foreign_lines_are_skipped(tmp_path: Path, era: Era) -> None:
    path = tmp_path / "s1.jsonl"
    good = line(era.ask("one")) + line(era.answer("Two.", id="m2")) + line(era.ask("caf\u00e9"))
    bad = [b"", b"{", b"[1, 2]", b'"user"', b"7", b"null", b"\xff\xfe", b"[" * 100_000]
    bad += [b'{"type":"user","message":{"content":"brok', b'{"type":"unheard-of","message":{"content":"x"}}']
    bad += [b'{"type":"user","message":"x"}', b'{"type":["user"]}', b'{"n":' + b"9" * 5000 + b',"type":"user"}']
    path.write_bytes(good.join(part + b"\n" for part in (*bad, *bad)) + good[:90])
    session = parse_transcript(path)
    assert session.prompts == ["one", "caf\u00e9"] * (2 * len(bad) - 1)
    assert session.last_outcome == "Two."


def test_the_last_line_needs_no_newline(tmp_path: Path, era: Era) -> None:
    path = tmp_path / "s1.jsonl"
    path.write_bytes(line(era.ask("one")) + line(era.ask("two")).rstrip())
    assert parse_transcript(path).prompts == ["one", "two"]


def test_bytes_that_are_not_utf8_are_replaced(tmp_path: Path, era: Era) -> None:
    path = tmp_path / "s1.jsonl"
    path.write_bytes(line(era.ask("caf_ au lait")).replace(b"f_", b"f\xe9"))
    assert parse_transcript(path).prompts == ["caf\ufffd au lait"]


def test_a_lone_surrogate_is_replaced_in_the_note(tmp_path: Path, era: Era) -> None:
    path = tmp_path / "s1.jsonl"
    entries = [era.ask("half \ud83d here"), era.call("Edit", file_path="/w/app/\ud800.py"), era.answer("\udfff")]
    path.write_text("\n".join(json.dumps(entry) for entry in entries))
    session = parse_transcript(path)
    assert session.first_prompt == "half \ud83d here"
    summary = HeuristicSummarizer().summarize(session)
    assert summary is not None
    note = Memory("x", "episodic", summary.title, summary.body)
    assert note.title == "half \ufffd here"
    assert parse_note(note) == note


def parse_note(note: Memory) -> Memory:
    return parse(render(note).encode("utf-8").decode("utf-8"))


KEYS = [
    "type message content text id name input file_path tool_use_id is_error toolUseResult attachment prompt",
    "commandMode origin kind timestamp sessionId cwd gitBranch isMeta isSidechain model isApiErrorMessage",
]
WORDS = [
    "user assistant attachment queued_command prompt human text tool_use tool_result Edit Write apply_patch t1",
    "create <command-name>/x</command-name> <pasted_content <system-reminder> </system-reminder> /model HEAD",
]
SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8)
KNOWN = st.sampled_from(" ".join(WORDS).split())
VALUES = st.recursive(
    SCALARS | KNOWN,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(" ".join(KEYS).split()), inner, max_size=6)
    ),
    max_leaves=25,
)
LINES = st.binary(max_size=60) | VALUES.map(lambda value: json.dumps(value).encode())


@given(st.lists(LINES, max_size=8))
@example([b'{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t1'])
@example([b'{"type":"user","type":"tool_result","tool_use_id":"t1'])
@example([b'{"type":"assistant","message":{"id":{},"content":[{"type":"tool_use","id":[],"name":"Edit"}]}}'])
def test_no_file_content_raises(tmp_path_factory: pytest.TempPathFactory, lines: list[bytes]) -> None:
    path = tmp_path_factory.getbasetemp() / "any.jsonl"
    path.write_bytes(b"\n".join(lines))
    session = parse_transcript(path)
    is_trivial_session(session)
    summary = HeuristicSummarizer().summarize(session)
    assert summary is not None
    note = Memory("x", "episodic", summary.title, summary.body, prov_session=session.session_id)
    assert parse_note(note) == note


TEXTS = st.text(max_size=12) | st.sampled_from(["tool_result", '"type":"user"', "}\n{", "<bash-input>", "/fix it"])


def known_entries(era: Era) -> st.SearchStrategy[Entry]:
    paths = st.sampled_from(["/w/app/a.py", "/w/app/b.py", "/x"])
    calls = st.sampled_from(["t1", "t2", "t3"])
    return st.one_of(
        TEXTS.map(era.ask),
        TEXTS.map(queued),
        st.builds(era.answer, TEXTS, id=st.sampled_from(["m1", "m2"])),
        st.builds(lambda call, path: era.call("Write", call, file_path=path), calls, paths),
        st.builds(era.result, calls, TEXTS, error=st.booleans()),
        st.builds(lambda call: era.result(call, toolUseResult={"type": "create"}), calls),
        st.builds(lambda call: era.result(call, toolUseResult="rejected"), calls),
        TEXTS.map(lambda text: era.entry("progress", data={"type": "assistant", "message": era.ask(text)})),
        TEXTS.map(lambda text: era.entry("attachment", attachment={"type": "file", "content": text})),
        st.just({"type": "file-history-snapshot", "snapshot": {"type": "user", "timestamp": "x"}}),
    )


@given(st.data(), st.sampled_from([TODAY, LAST_YEAR]), st.integers(0, 999))
def test_skipping_lines_by_their_bytes_makes_no_difference(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject, era: Era, seed: int
) -> None:
    """With other spacing and another order of keys, fewer lines can be skipped without decoding."""
    entries = data.draw(st.lists(known_entries(era), max_size=12))
    entries = [{**entry, "timestamp": f"2026-01-01T00:00:{second:02}Z"} for second, entry in enumerate(entries)]
    path = tmp_path_factory.getbasetemp() / "same.jsonl"
    expected = parse_transcript(write(path, *entries))
    path.write_bytes(b"".join(line(shuffled(entry, seed), compact=False) for entry in entries))
    assert parse_transcript(path) == expected
