"""The text of a session's note, and whether the session is worth one."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Protocol

from anamnesis.capture.cues import CAUSE, DECISION, RULE
from anamnesis.capture.session import ParsedSession
from anamnesis.capture.title import title_of

UNTITLED = "Session summary"
_TEXT = 600
_LINE = 200
_MOST_ASKS = 8
_MOST_FILES = 40
_SHORT_OUTCOME = 40
HEADINGS = {CAUSE: "Causes and fixes", DECISION: "Decisions", RULE: "Rules and caveats"}

_LONE_COMMAND = re.compile(r"/\S+")
_SMALL_TALK = re.compile(
    r"a|again|alright|and|bonjour|bye|cheers|claude|cool|danke|done|fine|good|goodbye|gracias|great"
    r"|hallo|hello|hey|hi|hola|i|k|lot|many|merci|morning|much|nice|night|no|ok|okay|perfect|ping|please"
    r"|so|sure|test|testing|thank|thanks|there|thx|ty|very|well|yep|yes|yo|you"
)
_SMALL_TALK_WORDS = 5


@dataclass(frozen=True, slots=True)
class SummaryResult:
    """A note's title and body, and the model that wrote them, if any."""

    title: str
    body: str
    prov_model: str = ""


class Summarizer(Protocol):
    """Turns a session into a note's text."""

    def summarize(self, session: ParsedSession) -> SummaryResult | None:
        """The text; None if the session is not worth a note."""
        ...


class HeuristicSummarizer:
    """Quotes the session's asks, branch, files, statements and outcome. Needs no model."""

    def summarize(self, session: ParsedSession) -> SummaryResult | None:
        asks = session.asks
        first = _clip(asks[0], _TEXT) if asks else "(no user prompt captured)"
        outcome = _clip(session.last_outcome, _TEXT) or "(no assistant output captured)"
        parts = [f"**Ask:** {first}", ""]
        if asks[1:]:
            further = [_clip(" ".join(ask.split()), _LINE) for ask in asks[1:]]
            parts += ["**Then:**", *_listed(further, _MOST_ASKS)]
        if session.git_branch:
            parts.append(f"**Branch:** {session.git_branch}")
        if session.files_touched:
            created = set(session.files_created)
            files = [f"{path} (new)" if path in created else path for path in session.files_touched]
            parts += [f"**Files touched ({len(files)}):**", *_listed(files, _MOST_FILES)]
        parts += [*_stated(session), "", f"**Outcome:** {outcome}"]
        return SummaryResult(title=_title(asks), body="\n".join(parts))


def is_trivial_session(session: ParsedSession) -> bool:
    """Whether the session did nothing worth remembering."""
    if session.files_touched:
        return False
    asks = [ask for ask in session.asks if not _LONE_COMMAND.fullmatch(ask.strip())]
    if not asks:
        return len(session.last_outcome.strip()) < _SHORT_OUTCOME
    # Small talk gets answers of any length, but more answers than asks mean that tools were used.
    return all(_is_small_talk(ask) for ask in asks) and session.turns <= len(session.asks)


def _title(asks: list[str]) -> str:
    return title_of([ask for ask in asks if not _is_small_talk(ask)] or asks) or UNTITLED


def _stated(session: ParsedSession) -> list[str]:
    """The causes, decisions and rules, each under its heading."""
    lines = []
    for kind, heading in HEADINGS.items():
        of_kind = [each for each in session.statements if each.kind == kind]
        said = [f"- {each.text}{' (user)' if each.by_user else ''}" for each in of_kind]
        lines += [f"**{heading}:**", *said] if said else []
    return lines


def _clip(text: str, limit: int) -> str:
    text = text.strip()
    return text if len(text) <= limit else f"{text[:limit].rstrip()} ..."


def _listed(items: list[str], most: int) -> list[str]:
    lines = [f"- {item}" for item in items[:most]]
    return [*lines, f"- and {len(items) - most} more"] if len(items) > most else lines


def _is_small_talk(ask: str) -> bool:
    words = re.sub(r"[\W_]+", " ", ask.casefold()).split()
    return len(words) <= _SMALL_TALK_WORDS and all(_SMALL_TALK.fullmatch(word) for word in words)
