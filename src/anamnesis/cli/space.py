"""`anamnesis space`: the spaces of the hub, invitations to others, and the notes that were not exchanged."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from anamnesis.age import age
from anamnesis.cli.context import settings
from anamnesis.cli.options import as_json, open_store
from anamnesis.cli.output import bare_table, console, in_a_line, on_terminal, print_json, print_lines
from anamnesis.cli.spaces import hub_facts
from anamnesis.errors import InvalidArgument
from anamnesis.plural import counted, listed

if TYPE_CHECKING:
    from anamnesis.cli.screen import Screen


@click.group(invoke_without_command=True)
@as_json
@click.pass_context
def command(context: click.Context, as_json: bool) -> None:
    """List the spaces of the hub with your role in each, invitations, and the notes that were not exchanged.

    The list is as of the last sync, without a request to the hub. A space without a role is one that you were removed
    from: its notes stay on this machine. Nothing is exchanged with a space to which you are invited before you accept.

    \b
    In a pipe: the word space, name, role, notes here, projects;
    then invitation, space, role, inviter, projects; then news, sentence; then waiting, note, space, reason.
    JSON: {"url", "user", "reached_at", "failure": {"at", "reason", "hint"} or null,
           "spaces": [{"name", "role", "notes", "projects"}],
           "invitations": [{"space", "role", "inviter", "projects"}],
           "news": [SENTENCE about what other members did to notes, which no sync has told you],
           "waiting": [{"note", "title", "space", "reason"}]}
    """
    if context.invoked_subcommand is not None:
        return
    facts = hub_facts()
    if facts is None:
        raise InvalidArgument("This machine is not logged in to a hub.", "anamnesis login ADDRESS")
    with open_store(only_to_read=True) as store:
        for each in facts["waiting"]:
            note = store.find(each["note"])
            each["title"] = note.title if note else ""
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


@command.command()
@click.argument("name")
@as_json
def accept(name: str, as_json: bool) -> None:
    """Accept the invitation to the space NAME: the next sync receives its notes.

    If you may write there, it also sends your notes of the projects that belong to the space, now or later.

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
    if facts["failure"]:
        screen.print(f"{facts['failure']['reason']} {facts['failure']['hint']}".rstrip(), style="yellow")
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


def _draw_invitations(screen: Screen, invitations: list[dict[str, Any]]) -> None:
    for each in invitations:
        whose = each["inviter"], each["role"], each["space"]
        screen.draw("[bold]{}[/] [yellow]invites you to be a {} of[/] [bold]{}[/]", *whose)
        if each["projects"]:
            screen.draw("  with the notes of {}", listed(each["projects"]), style="dim")
        screen.draw("  [cyan]anamnesis space accept {}[/] or [cyan]decline {}[/]", each["space"], each["space"])
