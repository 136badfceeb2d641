"""What `uninstall` leaves on this machine and elsewhere, and the removal of the former with --everything."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import click

from anamnesis import service
from anamnesis.config import Settings
from anamnesis.errors import AnamnesisError, InvalidArgument, StoreUnavailable
from anamnesis.exchange.account import read_account
from anamnesis.onboard.ledger import FOLDER as BACKUPS
from anamnesis.pid_file import PidFile
from anamnesis.plural import counted, listed, these
from anamnesis.store.files import TREES
from anamnesis.sync.remote import without_password


class Remain(NamedTuple):
    """Something that `uninstall` leaves: what it is, where, and its folder if --everything removes it."""

    what: str
    place: str
    folder: Path | None = None

    @property
    def line(self) -> str:
        return f"{self.place} ({self.what})"


def remains(settings: Settings) -> Iterator[Remain]:
    """What is left when no agent uses the memory any more."""
    home = settings.home
    if home.is_dir():
        notes = sum(1 for tree in TREES.values() for _ in (home / tree).rglob("*.md"))
        names = {"engram.db": "engram.db", BACKUPS: "the agents' files before their changes"}
        there = [what for name, what in names.items() if (home / name).exists()]
        yield Remain(listed([counted(notes, "note"), "the settings", *there]), str(home), home)
        aside = [each for each in home.parent.iterdir() if each.name.startswith(f"{home.name}.before-")]
        yield from (Remain("a memory that a restore moved aside", str(each), each) for each in sorted(aside))
    if settings.remote:
        yield Remain("the git remote", without_password(settings.remote))
    try:
        account = read_account(home)
    except AnamnesisError:
        account = None  # an unreadable login is in the home
    if account:
        yield Remain(f"the hub, where the login of {account.user} stays valid until it is revoked", account.url)


def check_removable(settings: Settings) -> None:
    """Refuse to remove a memory that is in use, or a folder that holds more than a memory."""
    home = settings.home
    if running := PidFile(settings.engram_db()).running():
        raise StoreUnavailable(
            f"The daemon with process id {running.pid} uses this memory.", "Stop it first: anamnesis daemon stop"
        )
    if service.installed(home):
        raise StoreUnavailable("The service would create the memory again.", "First: anamnesis service uninstall")
    if home.is_symlink():
        raise InvalidArgument(f"{home} is a link, and only the folder itself is removed.", "Remove both by hand.")
    if settings.user_home.resolve().is_relative_to(home.resolve()):
        raise InvalidArgument(f"{home} holds your home folder, not only a memory.", "Remove the notes by hand.")


def confirm_removal(found: Sequence[Remain]) -> bool:
    """Show what is removed and what stays elsewhere, and ask."""
    folders = [each for each in found if each.folder]
    click.echo("This removes from this machine:")
    for each in folders:
        click.echo(f"  {each.line}")
    if elsewhere := [each for each in found if not each.folder]:
        click.echo("Not removed:")
        for each in elsewhere:
            click.echo(f"  {each.line}")
    return click.confirm(
        f"Remove {these(len(folders), 'folder')}? Nothing can restore the notes in them.", default=False
    )


def remove(found: Sequence[Remain]) -> None:
    """Remove the folders on this machine. Folders that links in them name are not followed."""
    for each in found:
        if each.folder:
            shutil.rmtree(each.folder)
