"""`anamnesis daemon`: serve the memory over HTTP, in this process or in the background."""

from __future__ import annotations

import os
import sys
from dataclasses import asdict
from pathlib import Path

import click

from anamnesis import daemon
from anamnesis.cli.context import settings
from anamnesis.errors import StoreUnavailable

# Not that of `options`, whose imports would delay the daemon.
as_json = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
_STOP_SECONDS = 30.0


@click.group(invoke_without_command=True)
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    envvar="ENGRAM_PORT",
    default=daemon.DEFAULT_PORT,
    show_default=True,
    help="The port; also ENGRAM_PORT. 0 selects a free one.",
)
@click.option("--host", default=daemon.LOOPBACK, show_default=True, help="The address; any but loopback needs a token.")
@click.option("--background", is_flag=True, help="Return as soon as the daemon is ready.")
@click.pass_context
def command(ctx: click.Context, port: int, host: str, background: bool) -> None:
    """Serve the memory over HTTP and MCP until it is stopped.

    Clients of Engram find Engram's interface there; an engram.db is created when the first of them uses it. The daemon
    answers only this machine; with --host, also others. If ANAMNESIS_TOKEN has a token, every client must send it as
    `Authorization: Bearer`.
    """
    if ctx.invoked_subcommand is not None:
        return
    if background:
        click.echo(_start(port, host))
    else:
        daemon.run(settings(needs_config=True), port, host, _announce)


@command.command()
@as_json
def status(as_json: bool) -> None:
    """Show whether the daemon runs, and its address; the exit code is 1 if it does not run.

    \b
    JSON: {"running", "pid", "url", "host", "port", "started_at", "version", "home",
           "database": the path of engram.db, or null}
    """
    from anamnesis.cli.output import print_json, print_lines  # slow to import, and serving does not need it
    from anamnesis.pid_file import PidFile

    pid_file = PidFile(settings().engram_db())
    running = pid_file.running()
    facts: dict[str, object] = {"running": running is not None}
    if running:
        facts |= {"url": running.url, **asdict(running)}
    facts |= {"home": str(settings().home), "database": str(pid_file.database) if pid_file.database.exists() else None}
    print_json(facts) if as_json else print_lines([fact for fact in facts.items() if fact[1] is not None])
    if not running:
        sys.exit(1)


@command.command()
@as_json
def stop(as_json: bool) -> None:
    """Stop the daemon, once it has answered the accepted requests.

    \b
    JSON: {"stopped", "pid"}
    """
    from anamnesis.cli.output import print_json
    from anamnesis.pid_file import PidFile

    stopped = PidFile(settings().engram_db()).stop(_STOP_SECONDS)
    if as_json:
        print_json({"stopped": stopped is not None, "pid": stopped.pid if stopped else None})
    else:
        click.echo(f"Stopped the daemon with process id {stopped.pid}." if stopped else "No daemon was running.")


def _announce(url: str) -> None:
    """Print the address and the next step in one write: the parent process may read only the first line."""
    click.echo("\n".join([f"{url} (process id {os.getpid()})", *_next_step()]))


def _next_step() -> list[str]:
    """The line with the next step; none if the command is on PATH and the output is not a terminal."""
    import shlex
    import shutil

    if shutil.which("anamnesis"):
        return ["Next: `anamnesis init` sets up your agents."] if sys.stdout.isatty() else []
    program = Path(sys.executable).with_name("anamnesis")
    clone = Path(__file__).parents[3]
    link = f"ln -s {shlex.quote(str(program))} ~/.local/bin/"
    install = f"uv tool install {shlex.quote(str(clone))}" if shutil.which("uv") and _is_source(clone) else link
    return [f"Next: `{shlex.quote(str(program))} init` sets up your agents; to have anamnesis on PATH: {install}"]


def _is_source(folder: Path) -> bool:
    return (folder / "pyproject.toml").is_file()


def _start(port: int, host: str) -> str:
    """Start a daemon that outlives this process; returns its first line of output, printed once it is ready."""
    import subprocess

    arguments = [sys.executable, "-m", "anamnesis", "daemon", "--port", str(port), "--host", host]
    child = subprocess.Popen(
        arguments,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
        text=True,
    )
    assert child.stdout and child.stderr  # noqa: S101  they are pipes
    if first_line := child.stdout.readline().strip():
        return first_line
    message = child.stderr.read().strip().removeprefix("anamnesis: ")
    raise StoreUnavailable(message or f"The daemon ended with exit code {child.wait()} before it answered.")
