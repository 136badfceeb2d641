"""What is known of a session, as a value. Whatever the transcript did not say is empty."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class ParsedSession:
    """One session: asks and outcome in the words of the transcript, paths relative to `cwd` inside it."""

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
    # Messages of the model in the main thread: one more for every round of tools.
    turns: int = 0
    # Why the transcript could not be read, in one sentence; all else is empty then.
    problem: str = ""

    @property
    def asks(self) -> list[str]:
        """All asks, also of a session that was made with its first one only."""
        return self.prompts or [self.first_prompt] * bool(self.first_prompt.strip())
