"""The verbs that move memories between machines: export, import, sync."""

from __future__ import annotations

from pathlib import Path

from anamnesis.config import Settings
from anamnesis.disk import locked, write_atomically
from anamnesis.engram import chunks, exchange, gojson
from anamnesis.engram.clean import cleaned
from anamnesis.engram.gotext import indented, quote
from anamnesis.engram.record import Export
from anamnesis.engram_cli import open_engram
from anamnesis.engram_cli.console import Given, Stop, read, say, tell
from anamnesis.notes.cleaning import warning

_EXPORT = "engram-export.json"


def run_export(arguments: list[str], settings: Settings) -> None:
    file = arguments[0] if arguments else _EXPORT
    with open_engram.opened(settings) as db:
        everything = exchange.export(db, clean=open_engram.cleaning(settings).outgoing)
    path = Path(file)
    data = indented(gojson.dumps(everything))
    try:
        if not arguments:  # a file of this name in the working tree is replaced, and no link is followed
            write_atomically(path, data, mode=0o600)
        elif path.exists() and not path.is_file():  # /dev/stdout, a pipe
            path.write_bytes(data)
        else:
            write_atomically(path.resolve(), data, mode=0o600)
    except OSError as error:
        raise Stop(f"engram: open {file}: {error.strerror}") from error
    say(f"Exported to {file}\n")
    _say_counts(len(everything.sessions), len(everything.observations), len(everything.prompts))


def run_import(arguments: list[str], settings: Settings) -> None:
    if not arguments:
        raise Stop("usage: engram import <file.json>")
    file = arguments[0]
    try:
        data = Path(file).read_bytes()
        content = gojson.loads(data, Export, alone=True)
    except OSError as error:
        raise Stop(f"engram: read {file}: {error.strerror}") from error
    except gojson.InvalidJSON as error:
        raise Stop(f"engram: parse {file}: {error}") from error
    cleaning = open_engram.cleaning(settings)
    with open_engram.opened(settings) as db:
        origin = cleaning(Path(file).name)
        counts = exchange.import_(db, cleaned(content, cleaning), origin, strict=cleaning.strict)
    say(f"Imported from {file}\n")
    _say_counts(counts.sessions_imported, counts.observations_imported, counts.prompts_imported)
    tell(warning(cleaning.kinds))


def run_sync(arguments: list[str], settings: Settings) -> None:
    given = read(arguments, "--project", "--import --status --all")
    folder = Path(chunks.FOLDER)
    cleaning = open_engram.cleaning(settings)
    # Two syncs at once would overwrite each other's manifest.
    with open_engram.opened(settings) as db, locked(settings.engram_db().with_name("engram-sync.lock")):
        if "--status" in given.switches:
            found = chunks.status(db, folder)
            say(
                f"Sync status:\n  Local chunks:    {found.local}\n  Remote chunks:   {found.remote}\n"
                f"  Pending import:  {found.pending}\n"
            )
        elif "--import" in given.switches:
            imported = chunks.import_(db, folder, clean=cleaning, strict=cleaning.strict)
            _say_imported(imported, warning(cleaning.kinds))
        else:
            project = None if "--all" in given.switches else _project(given, settings.home)
            subject = "ALL memories (all projects)" if project is None else f"memories for project {quote(project)}"
            say(f"Exporting {subject}...\n")
            written = chunks.export(db, folder, settings.user, project, _warn, clean=cleaning.outgoing)
            _say_exported(written, project)


def _warn(reason: str) -> None:
    tell(f"engram: {reason}")


def _say_exported(written: tuple[str, chunks.Chunk] | None, project: str | None) -> None:
    if written is None:
        subject = "" if project is None else f" for project {quote(project)}"
        say(f"Nothing new to sync{subject} — all memories already exported.\n")
        return
    id, chunk = written
    say(f"Created chunk {id}\n")
    _say_counts(len(chunk.sessions), len(chunk.observations), len(chunk.prompts))
    say('\nAdd to git:\n  git add .engram/ && git commit -m "sync engram memories"\n')


def _say_imported(result: chunks.ImportedChunks, redacted: str) -> None:
    if result.chunks:
        say(f"Imported {result.chunks} new chunk(s) from {chunks.FOLDER}/\n")
        _say_counts(result.sessions, result.observations, result.prompts)
        if result.skipped:
            say(f"  Skipped:      {result.skipped} (already imported)\n")
    else:
        say("No new chunks to import.\n")
        if result.skipped:
            say(f"  ({result.skipped} chunks already imported)\n")
    tell(redacted)
    if result.unreadable:
        raise Stop("\n".join(f"engram: {reason}" for reason in result.unreadable))


def _say_counts(sessions: int, observations: int, prompts: int) -> None:
    say(f"  Sessions:     {sessions}\n  Observations: {observations}\n  Prompts:      {prompts}\n")


def _project(given: Given, home: Path) -> str:
    from anamnesis.engram.detection import detect  # starts git, which few verbs need

    return given.text("--project") or detect(Path.cwd(), home)
