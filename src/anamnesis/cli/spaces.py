"""Output about the hub and its spaces that several commands share, as of the last sync."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import closing
from typing import Any

from anamnesis.age import age
from anamnesis.cli.context import settings
from anamnesis.cli.output import console
from anamnesis.notes.spaces import PERSONAL
from anamnesis.plural import counted, listed


def hub_facts() -> dict[str, Any] | None:
    """The state of the hub; None without a login."""
    from anamnesis.exchange import standing

    return standing.hub_facts(settings().home)


def hub_rows(hub: dict[str, Any] | None) -> Iterator[tuple[object, ...]]:
    """The facts as rows, for pipes."""
    if hub:
        yield from ((name, hub[name] or "") for name in ("url", "user", "reached_at"))
        if hub["failure"]:
            yield "failure", hub["failure"]["reason"]
        for each in hub["spaces"]:
            yield "space", each["name"], each["role"], each["notes"]
        for each in hub["invitations"]:
            yield "invitation", each["space"], each["role"], each["inviter"]
        yield "waiting", len(hub["waiting"])


def draw_hub(hub: dict[str, Any]) -> None:
    """Print the hub, and the failure and the queued notes that need attention."""
    screen = console()
    reached = f"last reached {age(hub['reached_at'])}" if hub["reached_at"] else "not reached yet"
    names = ", ".join(f"{each['name']} ({each['role'] or 'removed'})" for each in hub["spaces"])
    if hub["url"]:
        screen.print(f"{hub['url']} as {hub['user']}, {reached}{f', with {names}' if names else ''}", style="dim")
    if hub["failure"]:
        screen.print(f"{hub['failure']['reason']} {hub['failure']['hint']}".rstrip(), style="yellow")
    if hub["invitations"]:
        count = counted(len(hub["invitations"]), "invitation waits", "invitations wait")
        screen.draw("[yellow]{}:[/] anamnesis space", count)
    if hub["waiting"]:
        count = counted(len(hub["waiting"]), "note was not exchanged", "notes were not exchanged")
        screen.draw("[yellow]{}:[/] anamnesis space", count)


def space_warnings(space: str | None) -> Iterator[str]:
    """Warnings about a note that could not be sent to a space, as of the last sync."""
    if not space:
        return
    hub = hub_facts()
    if hub is None:
        yield "This machine is not logged in to a hub, so the note stays here: anamnesis login ADDRESS"
        return
    roles = {each["name"]: each["role"] for each in hub["spaces"]}
    if space.startswith(PERSONAL) or not roles:
        return
    if not roles.get(space):
        yield f"You had no space {space} at the last sync: the note stays here until you have one."
    elif roles[space] == "reader":
        yield f"You may only read the space {space}: the note stays here until you may write."


_STAYS = (
    "What its members have synced stays in their trash and in the history of their machines; at the hub, a version is"
    " readable for who wrote it, and for you."
)


def departures(notes: Iterable[str], space: str = "", *, deletes: bool = False) -> Iterator[str]:
    """What the next sync does to notes of shared spaces that the user moves to a space, keeps here, or `deletes`."""
    from anamnesis.exchange.account import read_account
    from anamnesis.exchange.state import shared_homes
    from anamnesis.store.shared_notes import UNKNOWN, SharedNotes

    account = read_account(settings().home)
    homes = shared_homes(settings().home, account, notes) if account else {}
    leaving = {note: home for note, home in homes.items() if home != space}
    if not leaving:
        return
    with closing(SharedNotes(settings().home)) as shared:
        known = shared.of(leaving)
    authors = {note: each.author.replace(UNKNOWN, "Somebody") for note, each in known.items() if each.author}
    own = {} if deletes else {note: home for note, home in leaving.items() if note not in authors}
    for home in sorted({*leaving.values()}):
        gone = [note for note, each in (leaving if deletes else own).items() if each == home]
        if gone and deletes:
            yield f"The next sync deletes {_named(gone)} for all members of {home}. {_STAYS}"
        elif gone:
            yield f"The next sync takes {_named(gone)} out of {home}. {_STAYS}"
        others = [note for note in leaving if leaving[note] == home and note in authors]
        if others and not deletes:
            who = listed(sorted({authors[note] for note in others}))
            yield (
                f"{who} wrote in {_named(others)}. What another member brought into {home} stays in {home}, and the"
                " next sync gives you a copy; `anamnesis delete` removes it for everybody."
            )


def _named(notes: list[str]) -> str:
    return notes[0] if len(notes) == 1 else counted(len(notes), "note")


def release(notes: Iterable[str]) -> None:
    """Allow sending notes of a space of another hub to the hub of this machine."""
    from anamnesis.exchange.account import read_account
    from anamnesis.exchange.state import HubDatabase, HubState

    account = read_account(settings().home)
    if account:
        with closing(HubDatabase(settings().home)) as database:
            HubState(database, account).release(notes)
