"""`anamnesis capture`: writes one note per session, when it ends or before it is compacted."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from anamnesis.bridge import open_memory
from anamnesis.capture import HeuristicSummarizer, Summarizer, find_transcript, parse_transcript, write_episodic
from anamnesis.config import resolve_machine_id, resolve_reflection
from anamnesis.hooks.event import Event, text_of, working_folder
from anamnesis.project import resolve_project_key

_SOURCES = {"precompact": "precompact", "PreCompact": "precompact"}


def capture(event: Event, options: dict[str, str]) -> str:
    """Write or update the session's note, and sync in the background; the agent gets no output."""
    sync = "no-sync" not in options
    transcript = options.get("transcript") or transcript_of(event, Path.home(), os.environ)
    arguments = _write_note(transcript, event, options) if transcript else []
    if arguments and "with-model" not in options and resolve_reflection().provider != "heuristic":
        _later("capture", "--with-model", *arguments, *([] if sync else ["--no-sync"]))  # and it syncs when it ends
    elif sync:
        _later("sync")
    return ""


def transcript_of(event: Event, home: Path, variables: Mapping[str, str]) -> str:
    """The transcript that the event names, or the one found by the session's id; "" if there is none."""
    named = text_of(event, "transcript_path")
    found = None if named else find_transcript(text_of(event, "host"), text_of(event, "session_id"), home, variables)
    return named or str(found or "")


def _write_note(transcript: str, event: Event, options: dict[str, str]) -> list[str]:
    """Write the note; returns the arguments for writing it again, none if there is no note."""
    session = parse_transcript(transcript, text_of(event, "last_assistant_message"), text_of(event, "cwd"))
    # The folder in which the session started: it may have ended in another project's.
    folder = Path(session.cwd) if session.cwd else working_folder(event)
    called = options.get("source") or text_of(event, "hook_event_name")
    source = _SOURCES.get(called, "session-end")
    project = options.get("project") or resolve_project_key(folder)
    with open_memory() as store:
        note = write_episodic(
            store,
            session,
            summarizer=_model() if "with-model" in options else HeuristicSummarizer(),
            project=project,
            source=source,
            machine_id=resolve_machine_id(),
        )
    return [f"--transcript={transcript}", f"--source={source}", f"--project={project}"] if note else []


def _later(*arguments: str) -> None:
    from anamnesis.later import run_later  # 5 ms that a compaction does not need

    run_later(*arguments)


def _model() -> Summarizer:
    from anamnesis.reflect import summarizer

    return summarizer(resolve_reflection())
