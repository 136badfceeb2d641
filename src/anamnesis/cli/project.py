"""`anamnesis project`: shows the project of a folder and its source, and trusts the files of a clone that set it."""

from __future__ import annotations

from pathlib import Path

import click

from anamnesis.cli.context import settings
from anamnesis.cli.options import as_json, project_here
from anamnesis.cli.output import on_terminal, print_json, print_lines
from anamnesis.engram.detection import detected
from anamnesis.project import Project
from anamnesis.trust import Claim, untrust
from anamnesis.trust import trust as confirm


@click.group(invoke_without_command=True)
@click.pass_context
def command(context: click.Context) -> None:
    """Show the project of this folder, and trust or distrust the files that name it.

    The key comes from the file .anamnesis/project, else from the git remote `origin`, else from the name of the
    repository or the folder. A file that git tracks came with the clone: if it contradicts the remote, it is
    ignored until you trust it. The same holds for the name in .engram/config.json.

    Without a command: show.
    """
    if context.invoked_subcommand is None:
        context.invoke(show)


@command.command()
@as_json
def show(as_json: bool = False) -> None:
    """Show the project of this folder, and where its key comes from.

    \b
    In a pipe: key and source, separated by a tab; then a line for each ignored file: `ignored`, path, name.
    JSON: {"key", "source", "ignored": [{"path", "name"}]}
    """
    project, ignored = _project_and_claims()
    if as_json:
        print_json({"key": project.key, "source": project.source, "ignored": _as_dict(ignored)})
    elif on_terminal():
        click.echo(f"{project.key}, from {project.source}")
        for each in ignored:
            click.echo(f"Ignored: {each.path}, which git tracks, says {each.name!r} and contradicts the remote.")
        if ignored:
            click.echo("If that is right, accept it: anamnesis project trust")
    else:
        print_lines([(project.key, project.source), *(("ignored", str(each.path), each.name) for each in ignored)])


@command.command()
@as_json
def trust(as_json: bool) -> None:
    """Accept the project that the tracked files of this folder name, on this machine.

    The trust is for this folder and this name: if the file later names another project, it is ignored again.

    \b
    JSON: {"key", "source", "trusted": [{"path", "name"}]}
    """
    _, ignored = _project_and_claims()
    confirm(settings().home, ignored)
    project = project_here()
    if as_json:
        print_json({"key": project.key, "source": project.source, "trusted": _as_dict(ignored)})
        return
    for each in ignored:
        click.echo(f"Trusted: {each.path} says {each.name!r}.")
    if not ignored:
        click.echo("No file of this folder needs trust.")
    click.echo(f"The project of this folder is {project.key}.")


@command.command(name="untrust")
@as_json
def untrust_(as_json: bool) -> None:
    """Ignore the tracked files of this folder again if they contradict the remote.

    \b
    JSON: {"key", "source", "untrusted": BOOLEAN}
    """
    here = Path.cwd()
    done = untrust(settings().home, [here, *here.parents])
    project = project_here()
    if as_json:
        print_json({"key": project.key, "source": project.source, "untrusted": done})
        return
    click.echo("No longer trusted." if done else "Nothing was trusted in this folder.")
    click.echo(f"The project of this folder is {project.key}.")


def _project_and_claims() -> tuple[Project, list[Claim]]:
    """The project of this folder, and the untrusted claims of its files."""
    project = project_here()
    claims = (project.ignored, detected(Path.cwd(), settings().home).ignored)
    return project, [each for each in claims if each]


def _as_dict(claims: list[Claim]) -> list[dict[str, str]]:
    return [{"path": str(each.path), "name": each.name} for each in claims]
