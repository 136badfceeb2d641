"""`anamnesis capture`: one note of a session, when it ends or is about to be compacted."""

from __future__ import annotations

import sys
from pathlib import Path

from anamnesis.capture import HeuristicSummarizer, Summarizer, parse_transcript, write_episodic
from anamnesis.config import resolve_home, resolve_machine_id, resolve_reflection
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
    source = _SOURCES.get(called, "session-end")
    project = options.get("project") or resolve_project_key(folder)
    with_model = "with-model" in options
    with MemoryStore(resolve_home()) as store:
        note = write_episodic(
            store,
            session,
            summarizer=_model() if with_model else HeuristicSummarizer(),
            project=project,
            source=source,
            machine_id=resolve_machine_id(),
        )
    if note and not with_model and resolve_reflection().provider != "heuristic":
        _reflect_later(transcript, source, project)
    return ""


def _model() -> Summarizer:
    from anamnesis.reflect import summarizer

    return summarizer(resolve_reflection())


def _reflect_later(transcript: str, source: str, project: str) -> None:
    """Let a model improve the note when the agent no longer waits: at its end, all hooks share 1.5 seconds."""
    import subprocess

    options = ["--with-model", f"--transcript={transcript}", f"--source={source}", f"--project={project}"]
    subprocess.Popen(
        [sys.executable, "-m", "anamnesis", "capture", *options],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
