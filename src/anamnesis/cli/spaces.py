"""Output about the hub and its spaces that several commands share, as of the last sync."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import closing
from typing import Any

from anamnesis.age import age
from anamnesis.cli.context import settings
from anamnesis.cli.output import console
from anamnesis.notes.spaces import PERSONAL
from anamnesis.plural import counted


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


def departures(notes: Iterable[str], space: str = "", *, deletes: bool = False) -> list[str]:
    """What the next sync does to notes of shared spaces that leave them."""
    from anamnesis.exchange import standing

    return standing.departures(settings().home, notes, space, deletes=deletes)


def release(notes: Iterable[str]) -> None:
    """Allow sending notes of a space of another hub to the hub of this machine."""
    from anamnesis.exchange.account import read_account
    from anamnesis.exchange.state import HubDatabase, HubState

    account = read_account(settings().home)
    if account:
        with closing(HubDatabase(settings().home)) as database:
            HubState(database, account).release(notes)
