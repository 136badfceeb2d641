"""A parsed session, as a value. A field that the transcript lacks is empty."""

from __future__ import annotations

from dataclasses import dataclass, field

from anamnesis.capture.statements import Statement


@dataclass(frozen=True, slots=True)
class ParsedSession:
    """One session: asks and outcome as in the transcript, paths relative to `cwd` if inside it."""

    first_prompt: str = ""
    last_outcome: str = ""
    files_touched: list[str] = field(default_factory=list)
    git_branch: str = ""
    cwd: str = ""
    session_id: str = ""
    prompts: list[str] = field(default_factory=list)
    files_created: list[str] = field(default_factory=list)
    model: str = ""
    started_at: str = ""
    ended_at: str = ""
    # Messages of the model in the main thread; each round of tool calls adds one.
    turns: int = 0
    # The most telling causes, decisions and rules.
    statements: list[Statement] = field(default_factory=list)
    # The model's messages, up to the limit of `Draft`.
    answers: list[str] = field(default_factory=list)
    # Why the transcript could not be read, in one sentence; everything else is then empty.
    problem: str = ""

    @property
    def asks(self) -> list[str]:
        """All asks, also if only `first_prompt` is set."""
        return self.prompts or [self.first_prompt] * bool(self.first_prompt.strip())
