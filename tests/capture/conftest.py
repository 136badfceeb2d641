"""Runs each test of a transcript in both formats."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.capture.transcripts import LAST_YEAR, TODAY, Entry, Era, write

from anamnesis.capture import ParsedSession, parse_transcript

Parse = Callable[..., ParsedSession]


@pytest.fixture(params=[TODAY, LAST_YEAR], ids=lambda era: era.name)
def era(request: pytest.FixtureRequest) -> Era:
    found: Era = request.param
    return found


@pytest.fixture
def parse(tmp_path: Path) -> Parse:
    def parse(*entries: Entry, last_message: str = "") -> ParsedSession:
        return parse_transcript(write(tmp_path / "s1.jsonl", *entries), last_message)

    return parse
