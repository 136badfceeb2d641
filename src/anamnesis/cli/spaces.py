"""Output about the hub and its spaces that several commands share, as of the last sync."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import closing
from typing import TYPE_CHECKING, Any

from anamnesis.age import age
from anamnesis.cli.context import settings
from anamnesis.cli.output import console
from anamnesis.errors import InvalidArgument
from anamnesis.notes.spaces import PERSONAL
from anamnesis.plural import counted

if TYPE_CHECKING:
    from anamnesis.store import MemoryStore


def hub_facts(store: MemoryStore) -> dict[str, Any] | None:
    """The state of the hub; None without a login."""
    from anamnesis.exchange import standing

    return standing.hub_facts(store)


def hub_rows(hub: dict[str, Any] | None) -> Iterator[tuple[object, ...]]:
    """The facts as rows, for pipes."""
    if hub:
        yield from ((name, hub[name] or "") for name in ("url", "user", "reached_at"))
        if hub["failure"]:
            yield "failure", hub["failure"]["reason"]
            yield "failing since", hub["failure"]["since"]
        for each in hub["spaces"]:
            yield "space", each["name"], each["role"], each["notes"]
        for each in hub["invitations"]:
            yield "invitation", each["space"], each["role"], each["inviter"]
        yield "unsent", hub["unsent"]
        yield "waiting", len(hub["waiting"])
        yield from (("other login", *each.values()) for each in hub["others"])


def draw_hub(hub: dict[str, Any]) -> None:
    """Print the hub, and the failure and the queued notes that need attention."""
    screen = console()
    reached = f"last reached {age(hub['reached_at'])}" if hub["reached_at"] else "not reached yet"
    names = ", ".join(f"{each['name']} ({each['role'] or 'removed'})" for each in hub["spaces"])
    if hub["url"]:
        screen.print(f"{hub['url']} as {hub['user']}, {reached}{f', with {names}' if names else ''}", style="dim")
    draw_unsent(hub)
    if hub["invitations"]:
        count = counted(len(hub["invitations"]), "invitation waits", "invitations wait")
        screen.draw("[yellow]{}:[/] anamnesis space", count)
    if hub["waiting"]:
        count = counted(len(hub["waiting"]), "note was not exchanged", "notes were not exchanged")
        screen.draw("[yellow]{}:[/] anamnesis space", count)


def draw_unsent(hub: dict[str, Any]) -> None:
    """Print why the last exchange failed and since when, and how many notes are not sent."""
    screen = console()
    if failure := hub["failure"]:
        first = f"Exchanges fail, first {age(failure['since'])}:" if failure["since"] else ""
        screen.print(f"{first} {failure['reason']} {failure['hint']}".strip(), style="yellow")
    if hub["unsent"]:
        screen.print(f"{counted(hub['unsent'], 'note is', 'notes are')} not sent yet: anamnesis sync", style="yellow")
    for each in hub["others"]:
        kept = counted(each["notes"], "note here belongs", "notes here belong")
        screen.print(f"{kept} to the login of {each['user']} at {each['url']}, and none is sent", style="dim")


def space_warnings(space: str | None) -> Iterator[str]:
    """Warnings about a note that could not be sent to a space, as of the last sync."""
    if not space:
        return
    from anamnesis.exchange.standing import roles_here

    roles = roles_here(settings().home)
    if roles is None:
        yield "This machine is not logged in to a hub, so the note stays here: anamnesis login ADDRESS"
        return
    if space.startswith(PERSONAL) or not roles:
        return
    if not roles.get(space):
        yield f"You had no space {space} at the last sync: the note stays here until you have one."
    elif roles[space] == "reader":
        yield f"You may only read the space {space}: the note stays here until you may write."


def check_known(space: str) -> None:
    """Refuse a space that this login did not have at the last sync: a note would leave its own for none."""
    from anamnesis.exchange.standing import roles_here

    roles = roles_here(settings().home)
    if roles and not space.startswith(PERSONAL) and space not in roles:
        raise InvalidArgument(f"You have no space {space}.", "`anamnesis space` lists yours, as of the last sync.")


def departures(notes: Iterable[str], space: str = "", *, deletes: bool = False) -> list[str]:
    """What the next sync does to notes of shared spaces that leave them."""
    from anamnesis.exchange import standing

    return standing.departures(settings().home, notes, space, deletes=deletes)


def release(notes: Iterable[str]) -> None:
    """Allow sending notes of another login of this home to the hub of this machine."""
    from anamnesis.exchange.account import read_account
    from anamnesis.exchange.state import HubDatabase, HubState
    from anamnesis.store.shared_notes import SharedNotes

    home, given = settings().home, [*notes]
    account = read_account(home)
    if account:
        with closing(HubDatabase(home)) as database, closing(SharedNotes(home)) as shared:
            HubState(database, account).release(given)
            shared.forget_personal(given)
