"""Notes of developers in four fields, each with a question in other words, and questions about something else."""

from __future__ import annotations

from pathlib import Path

from bench.paraphrases import read

_HERE = Path(__file__).parent

HELD_OUT = read(_HERE / "paraphrases.txt")
FOREIGN = (_HERE / "foreign.txt").read_text("utf-8").splitlines()
EVERYDAY = (
    *("ok continue", "fix the tests", "thanks", "yes, do that", "thanks, that works", "commit this", "looks good"),
    *("what does this function do?", "refactor this file", "add a test for it", "why does it fail?", "make it faster"),
    *("can you explain that?", "run the tests again", "write the docs", "update the readme", "undo the last change"),
    *("there is an error in the log", "rename the variable", "try again with another approach", "the build is broken"),
)
