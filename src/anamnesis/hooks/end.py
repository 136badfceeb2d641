"""`anamnesis capture`: one note of a session, when it ends or is about to be compacted."""

from __future__ import annotations

from pathlib import Path

from anamnesis.capture import HeuristicSummarizer, parse_transcript, write_episodic
from anamnesis.config import resolve_home, resolve_machine_id
from anamnesis.hooks.event import Event, text_of, working_folder
from anamnesis.project import resolve_project_key
from anamnesis.store import MemoryStore

_SOURCES = {"precompact": "precompact", "PreCompact": "precompact"}


def capture(event: Event, options: dict[str, str]) -> str:
    """Write the session's note, or bring it up to date; the agent is told nothing."""
    transcript = options.get("transcript") or text_of(event, "transcript_path")
    if not transcript:
        return ""
    session = parse_transcript(transcript, text_of(event, "last_assistant_message"))
    # The folder the session began in: where it ended may be another project's.
    folder = Path(session.cwd) if session.cwd else working_folder(event)
    called = options.get("source") or text_of(event, "hook_event_name")
    with MemoryStore(resolve_home()) as store:
        write_episodic(
            store,
            session,
            summarizer=HeuristicSummarizer(),
            project=options.get("project") or resolve_project_key(folder),
            source=_SOURCES.get(called, "session-end"),
            machine_id=resolve_machine_id(),
        )
    return ""
