"""Every agent's transcript yields the same session, also from a damaged file."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.capture.agents import ALL, STREAMED, Sample
from tests.capture.transcripts import shuffled

from anamnesis.capture import (
    HeuristicSummarizer,
    ParsedSession,
    is_trivial_session,
    parse_transcript,
    write_episodic,
)
from anamnesis.capture.transcript_formats import FORMATS, reader_of
from anamnesis.store import MemoryStore

each = pytest.mark.parametrize("sample", ALL, ids=lambda sample: sample.file)
each_streamed = pytest.mark.parametrize("sample", STREAMED, ids=lambda sample: sample.file)
TOUCHED = ["src/auth.py", "tests/test_auth.py"]


@each
def test_each_agents_transcript_yields_the_same_session(tmp_path: Path, sample: Sample) -> None:
    session = parse_transcript(sample.lay(tmp_path), cwd="" if sample.cwd else "/w/app")
    assert session.prompts == ["fix the login", "now add a test"]
    assert session.last_outcome == "Fixed, and tested."
    assert session.files_touched == TOUCHED
    assert session.files_created == TOUCHED[1:] * sample.new
    assert (session.cwd, session.git_branch) == ("/w/app", sample.branch)
    assert session.session_id == sample.session
    assert session.turns >= len(session.prompts)
    assert session.problem == ""


@each
def test_times_are_those_of_the_transcript(tmp_path: Path, sample: Sample) -> None:
    session = parse_transcript(sample.lay(tmp_path))
    times = [session.started_at, session.ended_at]
    assert [bool(time) for time in times] == [sample.timed] * 2
    assert times == sorted(times)
    assert all(time.startswith(("2026-08-01T10:0", "2026-08-01T05:0")) for time in times if time)


@each
def test_the_transcripts_folder_is_preferred_to_the_hooks(tmp_path: Path, sample: Sample) -> None:
    session = parse_transcript(sample.lay(tmp_path), cwd="/w")
    assert session.cwd == ("/w/app" if sample.cwd else "/w")


@each
def test_the_note_of_a_session_is_the_same(tmp_path: Path, sample: Sample) -> None:
    path = sample.lay(tmp_path / "agent")
    with MemoryStore(tmp_path / "home") as store:
        notes = [
            write_episodic(
                store,
                parse_transcript(path, cwd="/w/app"),
                summarizer=HeuristicSummarizer(),
                project="app",
                source="session-end",
                machine_id="thinkpad",
            )
            for _ in range(2)
        ]
        (note,) = store.list()
    assert notes == [note, note]
    assert note.title == "fix the login"
    assert note.body.startswith("**Ask:** fix the login\n\n**Then:**\n- now add a test\n")
    assert note.body.endswith("\n\n**Outcome:** Fixed, and tested.")


@each
def test_the_last_message_replaces_an_outcome_that_is_not_written_yet(tmp_path: Path, sample: Sample) -> None:
    path = sample.lay(tmp_path)
    assert parse_transcript(path, "All is deployed.").last_outcome == "All is deployed."
    assert parse_transcript(path, "Fixed, and tested.").last_outcome == "Fixed, and tested."


@each_streamed
def test_a_last_message_alone_is_not_a_session(tmp_path: Path, sample: Sample) -> None:
    """Hooks also run for subagents, and Cursor's editor stores the other messages elsewhere."""
    first = sample.lines()[0] if sample.reader in ("codex", "gemini", "droid", "copilot", "kimi") else b""
    path = sample.lay(tmp_path, first)
    assert is_trivial_session(parse_transcript(path, "I have looked at all the files, and found nothing of note."))


@each_streamed
def test_no_line_is_recognised_as_another_agents(sample: Sample) -> None:
    for line in sample.lines():
        reader = reader_of(json.loads(line))
        assert reader is None or reader.__module__ == f"anamnesis.capture.readers.{sample.reader}"


def test_every_format_has_a_sample() -> None:
    assert {sample.reader for sample in ALL} == FORMATS.keys() - {"claude"}


@pytest.mark.parametrize("sample", [ALL[0], ALL[2]], ids=lambda sample: sample.file)
def test_only_the_reader_that_is_needed_is_imported(tmp_path: Path, sample: Sample) -> None:
    script = (
        "import sys; from anamnesis.capture import parse_transcript; parse_transcript(sys.argv[1]);"
        "print(*(name for name in sys.modules if name.startswith('anamnesis.capture.readers.')))"
    )
    done = subprocess.run([sys.executable, "-c", script, sample.lay(tmp_path)], capture_output=True, check=True)
    readers = set(done.stdout.decode().split()) - {"anamnesis.capture.readers.parts"}
    assert readers == {f"anamnesis.capture.readers.{sample.reader}"}


@each_streamed
def test_broken_and_foreign_lines_change_nothing(tmp_path: Path, sample: Sample) -> None:
    expected = parse_transcript(sample.lay(tmp_path / "whole"))
    bad = [b"", b"{", b"[1, 2]", b"7", b"null", b"\xff\xfe", b"[" * 100_000, b'{"type":["user"]}', b'{"type":"new"}']
    bad += [b'{"type":"message","message":"x"}', b'{"payload":7,"data":[],"event":null,"content":"x"}', b'{"kind":{}}']
    separator = b"".join(line + b"\n" for line in bad)
    mixed = separator + separator.join(sample.lines())
    assert parse_transcript(sample.lay(tmp_path / "mixed", mixed)) == expected


@each_streamed
def test_the_last_line_needs_no_newline(tmp_path: Path, sample: Sample) -> None:
    expected = parse_transcript(sample.lay(tmp_path / "whole"))
    assert parse_transcript(sample.lay(tmp_path / "cut", b"".join(sample.lines()).rstrip())) == expected


@each
def test_bytes_that_are_not_utf8_are_replaced(tmp_path: Path, sample: Sample) -> None:
    content = b"".join(sample.lines()).replace(b"now add a test", b"now add a t\xe9st")
    assert parse_transcript(sample.lay(tmp_path, content)).prompts[-1] == "now add a t\ufffdst"


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    yield tmp_path_factory.mktemp("agents")


def parsed_and_summarised(path: Path) -> ParsedSession:
    session = parse_transcript(path)
    assert HeuristicSummarizer().summarize(session) is not None
    return session


@each
@given(data=st.data())
def test_any_beginning_of_a_transcript_can_be_read(folders: Path, sample: Sample, data: st.DataObject) -> None:
    """A hook may read while the agent writes: it gets what is written so far, and later captures only add asks."""
    content = b"".join(sample.lines())
    cut = data.draw(st.integers(0, len(content)))
    session = parsed_and_summarised(sample.lay(folders, content[:cut]))
    asks = [ask for ask in session.prompts if ask != "delete everything"]  # undone later in Gemini's
    assert asks == ["fix the login", "now add a test"][: len(asks)]


@each
@given(data=st.data())
def test_damaged_bytes_do_not_raise(folders: Path, sample: Sample, data: st.DataObject) -> None:
    content = bytearray(b"".join(sample.lines()))
    for _ in range(data.draw(st.integers(1, 4))):
        start = data.draw(st.integers(0, len(content)))
        content[start : start + data.draw(st.integers(0, 40))] = data.draw(st.binary(max_size=4))
    parsed_and_summarised(sample.lay(folders, bytes(content)))


def changed(value: Any, draw: Any) -> Any:
    """The same JSON with some values of another type."""
    if draw(st.integers(0, 15)) == 0:
        return draw(st.sampled_from([None, True, 7, 1e300, "", "x", [], {}, [[]], {"type": "text", "text": {}}]))
    if isinstance(value, dict):
        return {key: changed(inner, draw) for key, inner in value.items()}
    return [changed(inner, draw) for inner in value] if isinstance(value, list) else value


@each_streamed
@given(data=st.data())
def test_values_of_another_type_do_not_raise(folders: Path, sample: Sample, data: st.DataObject) -> None:
    lines = sample.lines()
    number = data.draw(st.integers(0, len(lines) - 1))
    lines[number] = json.dumps(changed(json.loads(lines[number]), data.draw)).encode() + b"\n"
    parsed_and_summarised(sample.lay(folders, b"".join(lines)))


@each_streamed
@given(seed=st.integers(0, 999))
def test_skipping_lines_by_their_bytes_makes_no_difference(folders: Path, sample: Sample, seed: int) -> None:
    """With other spacing and another order of keys, fewer lines can be skipped without decoding."""
    expected = parse_transcript(sample.lay(folders))
    spaced = [json.dumps(shuffled(json.loads(line), seed)).encode() + b"\n" for line in sample.lines()]
    assert parse_transcript(sample.lay(folders, b"".join(spaced))) == expected
