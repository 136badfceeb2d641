"""Turns a session's transcript into one episodic note: what was asked, changed and stated, and how it ended."""

from anamnesis.capture.citations import cited, named_notes
from anamnesis.capture.episodic import write_episodic
from anamnesis.capture.session import ParsedSession
from anamnesis.capture.statements import Statement, unknown_to
from anamnesis.capture.summary import HeuristicSummarizer, Summarizer, SummaryResult, is_trivial_session
from anamnesis.capture.transcript import parse_transcript
from anamnesis.capture.transcript_places import find_transcript

__all__ = [
    "HeuristicSummarizer",
    "ParsedSession",
    "Statement",
    "Summarizer",
    "SummaryResult",
    "cited",
    "find_transcript",
    "is_trivial_session",
    "named_notes",
    "parse_transcript",
    "unknown_to",
    "write_episodic",
]
