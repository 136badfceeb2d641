"""`anamnesis space`: the spaces of the hub, invitations to others, and the notes that were not exchanged."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from anamnesis.age import age
from anamnesis.cli.context import settings
from anamnesis.cli.naming import ResolvedNote, ask
from anamnesis.cli.options import as_json, open_store, space_option, yes_option
from anamnesis.cli.output import bare_table, console, in_a_line, on_terminal, print_json, print_lines
from anamnesis.cli.spaces import draw_unsent, hub_facts
from anamnesis.editing import apply_change
from anamnesis.errors import InvalidArgument
from anamnesis.notes.project_names import is_among
from anamnesis.notes.spaces import OWN, with_space
from anamnesis.plural import counted, listed
from anamnesis.store.spaces import Unshared, unshared

if TYPE_CHECKING:
    from anamnesis.cli.screen import Screen
    from anamnesis.store import MemoryStore


@click.group(invoke_without_command=True)
@as_json
@click.pass_context
def command(context: click.Context, as_json: bool) -> None:
    """List the spaces of the hub with your role in each, invitations, and the notes that were not exchanged.

    The list is as of the last sync, without a request to the hub. A space without a role is one that you were removed
    from: its notes stay on this machine. Nothing is exchanged with a space to which you are invited before you accept.

    \b
    In a pipe: the word space, name, role, notes here, projects;
    then invitation, space, role, inviter, projects; then news, sentence; then waiting, note, space, reason;
    then unshared, project, spaces, and the number of your notes of the project that only you read;
    then, if the last sync failed, failure, since when, reason; then unsent and the number of notes
    that are not sent yet; then other, user, address, notes of another login of this home.
    JSON: {"url", "user", "reached_at", "failure": {"at", "reason", "hint", "since"} or null,
           "spaces": [{"name", "role", "notes", "projects"}],
           "invitations": [{"space", "role", "inviter", "projects"}],
           "news": [SENTENCE about what other members did to notes, which no sync has told you],
           "waiting": [{"note", "title", "space", "reason"}],
           "unshared": [{"project", "spaces", "notes": [{"id", "title"}]}], "unsent",
           "others": [{"user", "url", "notes"}]}
    """
    if context.invoked_subcommand is not None:
        return
    with open_store(only_to_read=True) as store:
        facts = hub_facts(store)
        if facts is None:
            raise InvalidArgument("This machine is not logged in to a hub.", "anamnesis login ADDRESS")
        for each in facts["waiting"]:
            note = store.find(each["note"])
            each["title"] = note.title if note else ""
        facts["unshared"] = [_undecided(store, each) for each in unshared(store)]
    if as_json:
        print_json(facts)
    elif on_terminal():
        _draw(facts)
    else:
        rows = [[each["name"], each["role"], each["notes"], " ".join(each["projects"])] for each in facts["spaces"]]
        print_lines([("space", *row) for row in rows])
        print_lines([("invitation", *_row(each)) for each in facts["invitations"]])
        print_lines([("news", each) for each in facts["news"]])
        print_lines([("waiting", each["note"], each["space"], each["reason"]) for each in facts["waiting"]])
        print_lines(
            [("unshared", each["project"], " ".join(each["spaces"]), len(each["notes"])) for each in facts["unshared"]]
        )
        if facts["failure"]:
            print_lines([("failure", facts["failure"]["since"], facts["failure"]["reason"])])
        print_lines([("unsent", facts["unsent"])] if facts["unsent"] else [])
        print_lines([("other", *each.values()) for each in facts["others"]])


@command.command()
@click.argument("name")
@as_json
def accept(name: str, as_json: bool) -> None:
    """Accept the invitation to the space NAME: the next sync receives its notes.

    If you may write there, your new notes of the projects that belong to the space go there. Earlier ones stay your own
    until you answer for them: `anamnesis space` lists them.

    JSON: {"space", "role", "accepted"}
    """
    role = _answer(name, accepts=True)
    if as_json:
        print_json({"space": name, "role": role, "accepted": True})
    else:
        click.echo(f"You are a {role} of {name} now.")
        click.echo("Next: anamnesis sync", err=True)


@command.command()
@click.argument("name")
@as_json
def decline(name: str, as_json: bool) -> None:
    """Decline the invitation to the space NAME. Whoever invited you does not see it.

    JSON: {"space", "role", "accepted"}
    """
    role = _answer(name, accepts=False)
    if as_json:
        print_json({"space": name, "role": role, "accepted": False})
    else:
        click.echo(f"The invitation to {name} is declined.")


@command.command()
@click.argument("projects", nargs=-1, metavar="[PROJECT]...")
@space_option("The space to share with, if several have the project.")
@yes_option
@as_json
def share(projects: tuple[str, ...], space: str | None, yes: bool, as_json: bool) -> None:
    """Share your earlier notes of the projects of your spaces: the next sync sends them to everybody there.

    With PROJECT, only those of that project. `anamnesis space` lists them. `anamnesis move ID --space '~'` takes one
    back, but whoever has read it has read it.

    JSON: [{"project", "space", "notes": [ID]}]
    """
    _decide(projects, space, as_json=as_json, yes=yes)


@command.command()
@click.argument("projects", nargs=-1, metavar="[PROJECT]...")
@as_json
def keep(projects: tuple[str, ...], as_json: bool) -> None:
    """Keep your earlier notes of the projects of your spaces private, and list them no more.

    With PROJECT, only those of that project. `anamnesis move ID --space NAME` shares one later.

    JSON: [{"project", "space", "notes": [ID]}]
    """
    _decide(projects, OWN, as_json=as_json, yes=True)


def _decide(projects: tuple[str, ...], space: str | None, *, as_json: bool, yes: bool) -> None:
    """Give the notes that wait a line for the space, which is their project's if none is given."""
    with open_store() as store:
        waiting = [each for each in unshared(store) if not projects or is_among(each.project, projects)]
        if missing := [each for each in projects if not is_among(each, (some.project for some in waiting))]:
            raise InvalidArgument(f"No note of {missing[0]} waits for your answer.", "`anamnesis space` lists them.")
        chosen = [(each, _space(each, space)) for each in waiting]
        for each, to in chosen:
            if not yes:
                _confirm(store, each, to)
        for each, to in chosen:
            for id in each.notes:
                apply_change(store, note := store.get(id), {"extra": with_space(note, to).extra}, edits=False)
    if as_json:
        print_json([{"project": each.project, "space": to, "notes": each.notes} for each, to in chosen])
        return
    for each, to in chosen:
        count = counted(len(each.notes), "note")
        if to == OWN:
            click.echo(f"Private: {count} of {each.project}.")
        else:
            click.echo(f"To be shared with {to}: {count} of {each.project}.")
    if not chosen:
        click.echo("No note waits for your answer.")
    elif space != OWN:
        click.echo("Next: anamnesis sync", err=True)


def _space(each: Unshared, given: str | None) -> str:
    """The space for the notes of a project: the given one, or the only one that the project belongs to."""
    if given == OWN or given in each.spaces:
        return given
    if given or len(each.spaces) > 1:
        raise InvalidArgument(
            f"{each.project} belongs to {listed(each.spaces)}.", f"anamnesis space share {each.project} --space NAME"
        )
    return each.spaces[0]


def _confirm(store: MemoryStore, each: Unshared, space: str) -> None:
    names = [ResolvedNote(note.id, note.title, is_guess=False) for note in store.whole(each.notes)]
    many = counted(len(names), "note")
    ask(
        names,
        f"Show {many} of {each.project} to everybody in {space}?",
        f"{many} of {each.project} would be read by everybody in {space}, and there is no terminal to confirm it on.",
        "Add --yes.",
    )


def _undecided(store: MemoryStore, each: Unshared) -> dict[str, Any]:
    notes = [{"id": note.id, "title": note.title} for note in store.whole(each.notes)]
    return {"project": each.project, "spaces": each.spaces, "notes": notes}


def _answer(name: str, *, accepts: bool) -> str:
    from anamnesis.exchange.account import read_account
    from anamnesis.exchange.login import answer_invitation

    account = read_account(settings().home)
    if account is None:
        raise InvalidArgument("This machine is not logged in to a hub.", "anamnesis login ADDRESS")
    return answer_invitation(settings().home, account, name, accepts=accepts, proxies=settings().proxies)


def _row(invitation: dict[str, Any]) -> tuple[str, ...]:
    return invitation["space"], invitation["role"], invitation["inviter"], " ".join(invitation["projects"])


def _draw(facts: dict[str, Any]) -> None:
    from rich.text import Text

    screen = console()
    reached = f"last reached {age(facts['reached_at'])}" if facts["reached_at"] else "not reached yet: anamnesis sync"
    screen.draw("[bold]{}[/] as {}, {}", facts["url"], facts["user"], reached)
    draw_unsent(facts)
    table = bare_table("space", "role", "notes here", "projects")
    for each in facts["spaces"]:
        role = Text(each["role"]) if each["role"] else Text("removed", "yellow")
        table.add_row(Text(each["name"], "bold"), role, f"{each['notes']:,}", Text(", ".join(each["projects"])))
    if facts["spaces"]:
        screen.print(table)
    _draw_invitations(screen, facts["invitations"])
    for each in facts["news"]:
        screen.print(f"! {in_a_line(each)}", style="yellow")
    if facts["waiting"]:
        count = counted(len(facts["waiting"]), "note was not exchanged", "notes were not exchanged")
        screen.print(f"{count}:", style="yellow")
    for each in facts["waiting"]:
        screen.draw("  [cyan]{}[/] {}: {}", each["note"], in_a_line(each["title"]), each["reason"])
    for each in facts["unshared"]:
        count = counted(len(each["notes"]), "note")
        screen.draw(
            "[yellow]{}[/] of {} only you read, though the project belongs to {}",
            count,
            each["project"],
            listed(each["spaces"]),
        )
    if facts["unshared"]:
        screen.draw(
            "  [cyan]anamnesis space share[/] or [cyan]keep[/] answers for all; add a project for its notes alone"
        )


def _draw_invitations(screen: Screen, invitations: list[dict[str, Any]]) -> None:
    for each in invitations:
        whose = each["inviter"], each["role"], each["space"]
        screen.draw("[bold]{}[/] [yellow]invites you to be a {} of[/] [bold]{}[/]", *whose)
        if each["projects"]:
            screen.draw("  with the notes of {}", listed(each["projects"]), style="dim")
        screen.draw("  [cyan]anamnesis space accept {}[/] or [cyan]decline {}[/]", each["space"], each["space"])
