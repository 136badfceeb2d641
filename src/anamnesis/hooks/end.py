"""`anamnesis capture`: writes one note per session, when it ends or before it is compacted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from anamnesis.capture import (
    HeuristicSummarizer,
    ParsedSession,
    Summarizer,
    cited,
    find_transcript,
    named_notes,
    parse_transcript,
    unknown_to,
    write_episodic,
)
from anamnesis.config import Reflection, Settings
from anamnesis.hooks.event import Event, text_of, working_folder
from anamnesis.hooks.hosts import STARTS_AT_PROMPT
from anamnesis.hooks.received import forget, received_notes, told_space
from anamnesis.notes import Memory
from anamnesis.project import find_project
from anamnesis.store import MemoryStore
from anamnesis.store.recording import record
from anamnesis.store.spaces import space_of_project
from anamnesis.vault import open_vault
from anamnesis.working_copies import remember

# The most ids from the model's texts that are looked up.
_MOST_NAMED = 200
_SOURCES = {"precompact": "precompact", "PreCompact": "precompact"}


def capture(event: Event, options: dict[str, str], settings: Settings, *, variables: Mapping[str, str]) -> str:
    """Write or update the session's note and sync in the background; prints nothing.

    `variables` is the environment, from which the places of transcripts follow.
    """
    sync = "no-sync" not in options
    transcript = options.get("transcript") or transcript_of(event, settings.user_home, variables)
    arguments = _write_note(transcript, event, options, settings) if transcript else []
    if _source(event, options) == "precompact" and text_of(event, "host") in STARTS_AT_PROMPT:
        forget(settings.home, text_of(event, "session_id"))
    if arguments and "with-model" not in options and settings.reflection.provider != "heuristic":
        # That process syncs at its end.
        _in_background("capture", "--with-model", *arguments, *([] if sync else ["--no-sync"]))
    elif sync:
        _in_background("sync")
    return ""


def transcript_of(event: Event, home: Path, variables: Mapping[str, str]) -> str:
    """The transcript that the event names, or the one found by the session's id; "" if there is none."""
    named = text_of(event, "transcript_path")
    found = None if named else find_transcript(text_of(event, "host"), text_of(event, "session_id"), home, variables)
    return named or str(found or "")


def _write_note(transcript: str, event: Event, options: dict[str, str], settings: Settings) -> list[str]:
    """Write the note; returns the arguments for writing it again, none if there is no note."""
    session = parse_transcript(transcript, text_of(event, "last_assistant_message"), text_of(event, "cwd"))
    # The folder in which the session started: it may have ended in a folder of another project.
    folder = Path(session.cwd) if session.cwd else working_folder(event)
    source = _source(event, options)
    if not (project := options.get("project", "")):
        found = find_project(folder, settings.home, settings.user_home)
        project = found.key
        remember(settings.home, found, folder)
    with open_vault(settings, light=True) as vault:
        known = _known(vault.notes, event, session, settings.home)
        if session.statements:
            texts = (f"{note.title}\n{note.body}" for note in known)
            session = replace(session, statements=unknown_to(session.statements, texts))
        note = write_episodic(
            vault.notes,
            session,
            summarizer=_model(settings.reflection) if "with-model" in options else HeuristicSummarizer(),
            project=project,
            source=source,
            machine_id=settings.machine_id,
            space=_space(vault.notes, project, event, settings.home),
        )
    return [f"--transcript={transcript}", f"--source={source}", f"--project={project}"] if note else []


def _space(notes: MemoryStore, project: str, event: Event, home: Path) -> str:
    """The shared space that gets the session's note: the one that the session was told of; "" if of none."""
    space = told_space(home, text_of(event, "session_id"))
    return space if space and space_of_project(notes, project) == space else ""


def _source(event: Event, options: dict[str, str]) -> str:
    return _SOURCES.get(options.get("source") or text_of(event, "hook_event_name"), "session-end")


def _known(notes: MemoryStore, event: Event, session: ParsedSession, home: Path) -> list[Memory]:
    """The notes that the session received, without its own: their statements need not be written again.

    Also records the notes that its model cited, received ones or others by their ids.
    """
    name = text_of(event, "session_id") or session.session_id
    received = received_notes(home, name)
    found = filter(None, map(notes.find, received | {*sorted(named_notes(session.answers))[:_MOST_NAMED]}))
    others = [note for note in found if note.prov_session != session.session_id]
    record(home, "cited", cited(others, session.answers), name)
    return [note for note in others if note.id in received]


def _in_background(*arguments: str) -> None:
    from anamnesis.process import run_in_background  # takes 5 ms, which a compaction does not need

    run_in_background(*arguments)


def _model(reflection: Reflection) -> Summarizer:
    from anamnesis.reflect import summarizer

    return summarizer(reflection)
