"""The verbs that move memories between machines: export, import, sync."""

from __future__ import annotations

from pathlib import Path

from anamnesis.config import Settings
from anamnesis.disk import locked, write_atomically
from anamnesis.engram import chunks, exchange, gojson
from anamnesis.engram.clean import cleaned
from anamnesis.engram.gotext import indented, quote
from anamnesis.engram.record import Export, Observation
from anamnesis.engram_cli import open_engram
from anamnesis.engram_cli.console import CommandLine, Stop, parse, print_err, print_out
from anamnesis.notes.cleaning import warning
from anamnesis.plural import counted

_EXPORT = "engram-export.json"
# How many of the observations that an import skips are named.
_MOST_NAMED = 20


def run_export(arguments: list[str], settings: Settings) -> None:
    file = arguments[0] if arguments else _EXPORT
    with open_engram.opened(settings) as db:
        everything = exchange.export(db, clean=open_engram.cleaning(settings).outgoing, left_out=warn_of_left_out)
    path = Path(file)
    data = indented(gojson.dumps(everything))
    try:
        if not arguments:  # replaces a file or a link of this name; a link is not followed
            write_atomically(path, data, mode=0o600)
        elif path.exists() and not path.is_file():  # /dev/stdout, a pipe
            path.write_bytes(data)
        else:
            write_atomically(path.resolve(), data, mode=0o600)
    except OSError as error:
        raise Stop(f"engram: open {file}: {error.strerror}") from error
    print_out(f"Exported to {file}\n")
    _print_counts(len(everything.sessions), len(everything.observations), len(everything.prompts))


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
    older: list[Observation] = []
    with open_engram.opened(settings) as db:
        origin = cleaning(Path(file).name)
        cleaned_content = cleaned(content, cleaning.all)
        counts = exchange.import_(db, cleaned_content, origin, strict=cleaning.strict, skipped=older.append)
    print_out(f"Imported from {file}\n")
    _print_counts(counts.sessions_imported, counts.observations_imported, counts.prompts_imported)
    _print_skipped(older)
    print_err(warning(cleaning.kinds))


def run_sync(arguments: list[str], settings: Settings) -> None:
    given = parse(arguments, "--project", "--import --status --all")
    folder = Path(chunks.FOLDER)
    cleaning = open_engram.cleaning(settings)
    # Two syncs at once would overwrite each other's manifest.
    with open_engram.opened(settings) as db, locked(settings.engram_db().with_name("engram-sync.lock")):
        if "--status" in given.switches:
            found = chunks.status(db, folder)
            print_out(
                f"Sync status:\n  Local chunks:    {found.local}\n  Remote chunks:   {found.remote}\n"
                f"  Pending import:  {found.pending}\n"
            )
        elif "--import" in given.switches:
            imported = chunks.import_(db, folder, clean=cleaning.all, strict=cleaning.strict)
            _print_imported(imported, warning(cleaning.kinds))
        else:
            project = None if "--all" in given.switches else _project(given, settings.home)
            subject = "ALL memories (all projects)" if project is None else f"memories for project {quote(project)}"
            print_out(f"Exporting {subject}...\n")
            written = chunks.export(
                db, folder, settings.user, project, _warn, clean=cleaning.outgoing, left_out=warn_of_left_out
            )
            _print_exported(written, project)


def warn_of_left_out(counts: str) -> None:
    print_err(f"Left out, as machine-local: {counts}.")


def _warn(reason: str) -> None:
    print_err(f"engram: {reason}")


def _print_exported(written: tuple[str, chunks.Chunk] | None, project: str | None) -> None:
    if written is None:
        subject = "" if project is None else f" for project {quote(project)}"
        print_out(f"Nothing new to sync{subject} — all memories already exported.\n")
        return
    id, chunk = written
    print_out(f"Created chunk {id}\n")
    _print_counts(len(chunk.sessions), len(chunk.observations), len(chunk.prompts))
    print_out('\nAdd to git:\n  git add .engram/ && git commit -m "sync engram memories"\n')


def _print_imported(result: chunks.ImportedChunks, redacted: str) -> None:
    if result.chunks:
        print_out(f"Imported {result.chunks} new chunk(s) from {chunks.FOLDER}/\n")
        _print_counts(result.sessions, result.observations, result.prompts)
        if result.skipped:
            print_out(f"  Skipped:      {result.skipped} (already imported)\n")
    else:
        print_out("No new chunks to import.\n")
        if result.skipped:
            print_out(f"  ({result.skipped} chunks already imported)\n")
    _print_skipped(result.older)
    print_err(redacted)
    if result.unreadable:
        raise Stop("\n".join(f"engram: {reason}" for reason in result.unreadable))


def _print_skipped(older: list[Observation]) -> None:
    """Name what was not imported; a repetition of what is here is not named."""
    if older:
        print_err(f"Not imported, as it is newer or deleted here: {counted(len(older), 'observation')}")
    for each in older[:_MOST_NAMED]:
        print_err(f"  {each.sync_id} {quote(each.title)}")
    if len(older) > _MOST_NAMED:
        print_err(f"  and {len(older) - _MOST_NAMED:,} more")


def _print_counts(sessions: int, observations: int, prompts: int) -> None:
    print_out(f"  Sessions:     {sessions}\n  Observations: {observations}\n  Prompts:      {prompts}\n")


def _project(given: CommandLine, home: Path) -> str:
    from anamnesis.engram.detection import detect  # starts git, which few verbs need

    return given.text("--project") or detect(Path.cwd(), home)
