"""The state of a transcript while it is read. Readers report to it in the order of the transcript."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable

from anamnesis.capture.asks import typed_text
from anamnesis.capture.edited_files import Edits
from anamnesis.capture.entries import LONGEST_TEXT
from anamnesis.capture.session import ParsedSession
from anamnesis.capture.statements import FINAL, Statement, most_telling, statements_in

# Far more than a real answer has; bounds the memory that a damaged transcript can use.
_MOST_TEXTS = 100
# Characters of answers that are searched for statements. The longest real sessions have a third of this.
_MOST_SEARCHED = 2_000_000
_MOST_STATEMENTS = 500


class Draft:
    """A session that is still being read: asks, answers, edits, place and time."""

    def __init__(self) -> None:
        self.session_id = ""
        self.cwd = ""
        self.branch = ""
        self.model = ""
        self.started_at = ""
        self.ended_at = ""
        self.asks: list[str] = []
        self.edits = Edits()
        self.turns = 0
        self._message: object = None
        # The texts of the last message that has text, and its id.
        self._answer: list[str] = []
        self._answered: object = None
        self._statements: deque[list[Statement]] = deque(maxlen=_MOST_STATEMENTS)
        self._answers: list[str] = []
        self._budget = _MOST_SEARCHED

    def place(self, *, session_id: str = "", cwd: str = "", branch: str = "", started_at: str = "") -> None:
        """Set where and when the session was. Values that are already set stay."""
        self.session_id = self.session_id or session_id
        self.cwd = self.cwd or cwd
        self.branch = self.branch or branch
        self.started_at = self.started_at or started_at

    def mark_time(self, time: str) -> None:
        """Record the time of a message."""
        self.started_at = self.started_at or time
        self.ended_at = time or self.ended_at

    def ask(self, texts: Iterable[str], time: str = "") -> None:
        """Record a message of the user, if a person typed any of it."""
        if ask := typed_text(texts):
            self.asks.append(ask)
            self.mark_time(time)

    def answer(self, texts: Iterable[str] = (), time: str = "", message: object = None) -> None:
        """Record a message of the model. One message may come in several pieces, with others in between."""
        name = message or object()
        self.turns += name != self._message
        self._message = name
        self.mark_time(time)
        for text in texts:
            if name != self._answered:
                self._answer, self._answered = [], name
            if (text := text[:LONGEST_TEXT]) not in self._answer and len(self._answer) < _MOST_TEXTS:
                self._answer.append(text)
                self._read(text)

    def session(self, last_message: str) -> ParsedSession:
        """The session read so far. `last_message` is its outcome, but does not make a session by itself."""
        outcome = "\n".join(self._answer)
        touched, created = self.edits.touched(self.cwd)
        if last_message not in outcome and (self.asks or self.turns or touched):
            outcome = last_message
        return ParsedSession(
            first_prompt=self.asks[0] if self.asks else "",
            last_outcome=outcome[:LONGEST_TEXT],
            files_touched=touched,
            git_branch=self.branch,
            cwd=self.cwd,
            session_id=self.session_id,
            prompts=self.asks,
            files_created=created,
            model=self.model,
            started_at=self.started_at,
            ended_at=self.ended_at,
            turns=self.turns,
            statements=self._stated(outcome[:LONGEST_TEXT]),
            answers=[*self._answers, *([last_message] if last_message else [])],
        )

    def _read(self, text: str) -> None:
        if self._budget > 0:
            self._budget -= len(text)
            self._answers.append(text)
            if found := statements_in(text):
                self._statements.append(found)

    def _stated(self, outcome: str) -> list[Statement]:
        """The most telling statements. Asks are searched only now: some agents let the user undo them."""
        asked = [statements_in(ask, by_user=True) for ask in self.asks[-_MOST_STATEMENTS:]]
        return most_telling([*self._statements, *asked, statements_in(outcome, weight=FINAL)])
