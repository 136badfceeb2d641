"""`anamnesis backup`: saves everything that is not derived in one file, and restores it."""

from __future__ import annotations

from pathlib import Path

import click

from anamnesis.cli.context import settings
from anamnesis.cli.options import as_json
from anamnesis.cli.output import print_json
from anamnesis.errors import InvalidArgument, StoreUnavailable, Unwritable, explained
from anamnesis.onboard.ledger import FOLDER as LEDGER_FOLDER
from anamnesis.plural import counted
from anamnesis.store.ids import utcnow

_RESTORE = "restore"


@click.command()
@click.argument("words", nargs=-1, required=True, metavar="[restore] FILE")
@click.option("--replace", is_flag=True, help="With restore: move the existing files aside first.")
@as_json
def command(words: tuple[str, ...], replace: bool, as_json: bool) -> None:
    """Save everything that is not derived in one file, or restore it.

    The file holds the notes with their history and trash, the settings, the records of use, dreams and imports, and
    engram.db; not the index and the vectors, which are rebuilt. It is verified before the command succeeds. Agents
    and the daemon may keep running. The file is as confidential as the notes, and may hold a token.

    `anamnesis backup restore FILE` verifies the file, then restores it into a home that does not exist yet; --replace
    moves an existing home aside. The name of the machine, the launcher of the agents, and the records of their changed
    files and of the service are those of the existing home, never the saved ones. Restore only files that you saved
    yourself.

    JSON: {"file", "files", "databases", "bytes", "damaged"}; restore adds "moved_aside"
    """
    if len(words) != 1 and (len(words) != 2 or words[0] != _RESTORE):
        raise click.UsageError("Give a FILE, or `restore` and a FILE.")
    from anamnesis.backup import back_up  # imported here to keep the help fast

    file, is_restoring = Path(words[-1]), len(words) == 2
    try:
        if is_restoring:
            _restore(file, replace, as_json)
            return
        saved = back_up(settings().home, _engram(), file)
    except OSError as error:
        if not is_restoring and str(error.filename).startswith(str(settings().home)):
            raise explained(error) from error
        place = error.filename or (settings().home if is_restoring else file)
        raise Unwritable(f"{place} cannot be written: {error.strerror or error}.") from error
    if as_json:
        print_json({"file": str(file), **saved._asdict()})
    else:
        what = f"{counted(saved.files, 'file')} and {counted(saved.databases, 'database')}"
        click.echo(f"Saved {what} in {file}, and verified it.")
        for name in saved.damaged:
            click.echo(
                f"anamnesis: {name} is damaged and was saved in that state; `anamnesis doctor` may help.", err=True
            )


def _engram() -> Path | None:
    try:
        return settings().engram_db()
    except InvalidArgument:
        return None


def _restore(file: Path, replace: bool, as_json: bool) -> None:
    from anamnesis.backup import restore
    from anamnesis.pid_file import PidFile

    engram = settings().engram_db()
    if running := PidFile(engram).running():
        raise StoreUnavailable(
            f"The daemon with process id {running.pid} uses this memory.", "Stop it first: anamnesis daemon stop"
        )
    stamp = utcnow()[:19].replace(":", "").replace("-", "")
    saved, aside = restore(file, settings().home, engram, stamp, replace=replace)
    if as_json:
        print_json({"file": str(file), **saved._asdict(), "moved_aside": [str(path) for path in aside]})
        return
    click.echo(f"Restored {counted(saved.files, 'file')} and {counted(saved.databases, 'database')}.")
    for path in aside:
        click.echo(f"Moved aside: {path}")
    if not (settings().home / LEDGER_FOLDER).is_dir():
        click.echo("Next: `anamnesis init` sets up the agents of this machine and names it.")
