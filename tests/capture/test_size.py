"""A transcript of any size is read in a few megabytes of memory."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from tests.capture.agents import ALL, Line, Sample
from tests.capture.transcripts import Era, line

from anamnesis.capture import parse_transcript

# The kernel starts the peak of a process at the size of its parent, so a small process starts the measured one.
MEASURE = """
import resource, subprocess, sys
script = "import sys; from anamnesis.capture import parse_transcript; print(parse_transcript(sys.argv[1]))"
done = subprocess.run([sys.executable, "-c", script, sys.argv[1]], check=True)
peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
print(peak / (1024 * 1024 if sys.platform == "darwin" else 1024))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no resource module")
def test_200_megabytes_need_less_than_100(tmp_path: Path, era: Era) -> None:
    path = tmp_path / "s1.jsonl"
    big = line(era.result("t0", "x" * 500_000, toolUseResult={"stdout": "y" * 500_000}))
    with path.open("wb") as file:
        file.write(line(era.ask("the first ask")))
        for _ in range(100):
            file.write(big)
        file.seek(50_000_000, 1)  # one line of 50 MB
        file.write(b'"}\n')
        file.write(line(era.call("Edit", file_path="/w/app/a.py")))
        for _ in range(50):
            file.write(big)
        file.write(line(era.answer("The last answer.")))
    assert path.stat().st_size > 200_000_000
    shown, peak = measured(path)
    for part in ("the first ask", "'a.py'", "The last answer."):
        assert part in shown
    assert peak < 100


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no resource module")
@pytest.mark.parametrize("sample", [ALL[0], ALL[7]], ids=lambda sample: sample.file)
def test_100_megabytes_of_other_agents_need_less_than_100(tmp_path: Path, sample: Sample) -> None:
    """The two agents that write most: one whose results are skipped, one whose edits have no ids."""
    first, *rest = sample.lines()
    many = {"codex": output("x" * 4000), "cursor": said({"type": "tool_use", **wrote("x" * 4000)})}[sample.reader]
    block = json.dumps(many, separators=(",", ":")).encode() + b"\n"
    path = sample.lay(tmp_path)
    with path.open("wb") as file:
        file.write(first)
        for _ in range(25):
            file.write(block * 1000)
        file.write(b"".join(rest))
    assert path.stat().st_size > 100_000_000
    shown, peak = measured(path)
    for part in ("fix the login", "'src/auth.py'", "Fixed, and tested."):
        assert part in shown
    assert peak < 100


def measured(path: Path) -> tuple[str, float]:
    """The session as another process shows it, and how many megabytes that took."""
    done = subprocess.run([sys.executable, "-c", MEASURE, str(path)], capture_output=True, text=True, check=True)
    shown, peak = done.stdout.splitlines()
    return shown, float(peak)


def output(text: str) -> Line:
    payload = {"type": "function_call_output", "call_id": "call_9", "output": text}
    return {"timestamp": "2026-08-01T10:00:30.000Z", "type": "response_item", "payload": payload}


def said(block: Line) -> Line:
    return {"role": "assistant", "message": {"content": [block]}}


def wrote(text: str) -> Line:
    return {"name": "Write", "input": {"path": "/w/app/src/auth.py", "contents": text}}


def test_a_line_beyond_8_megabytes_is_skipped(tmp_path: Path, era: Era) -> None:
    path = tmp_path / "s1.jsonl"
    long = line(era.ask("x" * 8_400_000))
    path.write_bytes(line(era.ask("one")) + long + line(era.ask("two")) + long.rstrip())
    assert parse_transcript(path).prompts == ["one", "two"]
