"""A transcript of any size is read in a few megabytes of memory."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from tests.capture.transcripts import Era, line

from anamnesis.capture import parse_transcript

# The kernel starts the peak of a process at the size of the one that started it: a small one stands between.
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
    done = subprocess.run([sys.executable, "-c", MEASURE, str(path)], capture_output=True, text=True, check=True)
    shown, peak = done.stdout.splitlines()
    for part in ("the first ask", "'a.py'", "The last answer."):
        assert part in shown
    assert float(peak) < 100


def test_a_line_beyond_8_megabytes_is_passed_over(tmp_path: Path, era: Era) -> None:
    path = tmp_path / "s1.jsonl"
    long = line(era.ask("x" * 8_400_000))
    path.write_bytes(line(era.ask("one")) + long + line(era.ask("two")) + long.rstrip())
    assert parse_transcript(path).prompts == ["one", "two"]
