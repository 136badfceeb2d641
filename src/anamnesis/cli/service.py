"""`anamnesis service`: runs the daemon as a service of this user that starts at login."""

from __future__ import annotations

import os
import subprocess
import sys
import time

import click

from anamnesis import service
from anamnesis.cli.context import settings
from anamnesis.cli.options import as_json
from anamnesis.cli.output import console, on_terminal, print_json, print_lines
from anamnesis.config import HOME_VARIABLE, HUB_VARIABLES, SETTINGS
from anamnesis.daemon import DEFAULT_PORT, LOOPBACK
from anamnesis.daemon.port import bind
from anamnesis.doctor import Finding
from anamnesis.errors import InvalidArgument, StoreUnavailable
from anamnesis.onboard import machine
from anamnesis.onboard.own_package import own_package
from anamnesis.pid_file import PidFile, Running
from anamnesis.service import Service, Start

# A hub's address may hold a password, and the daemon does not need it.
_SECRET = {setting.variable for setting in SETTINGS if setting.is_secret} | HUB_VARIABLES.keys()
_STOP_SECONDS = 30.0
_START_SECONDS = 20.0


@click.group()
def command() -> None:
    """Keep the daemon running: a service of systemd, launchd or Windows' task scheduler.

    It starts when you log in and is restarted after a failure, a few times. It runs as you, on loopback.
    """


@command.command()
@click.option(
    "--port",
    type=click.IntRange(1, 65535),
    envvar="ENGRAM_PORT",
    default=DEFAULT_PORT,
    show_default=True,
    help="The port of the daemon; also ENGRAM_PORT.",
)
@click.option("--print", "only_print", is_flag=True, help="Show the files and commands, and change nothing.")
@as_json
def install(port: int, only_print: bool, as_json: bool) -> None:
    """Install the service and start it. A second run changes only what is outdated.

    It starts this program with PATH and the variables of Anamnesis and Engram as they are now, except secrets: set a
    token with `anamnesis config set token`. A daemon that runs already is stopped first.

    \b
    In a pipe: the written files, a path per line, and the address.
    JSON: {"system", "written": [PATH], "url", "logs"}, or with --print {"system", "files": {PATH: TEXT},
          "commands": [COMMAND]}
    """
    start = _start(port)
    wanted = _service(start)
    if only_print:
        _print(wanted, as_json)
        return
    if machine.runs_from_cache():
        raise InvalidArgument(
            "This program runs from a cache that may be cleared.",
            f"Install it first: uv tool install {own_package()}",
        )
    pid_file = PidFile(settings().engram_db())
    if wanted.changes() or not service.is_active(wanted):
        earlier = service.installed(settings().home)
        service.stop(_service(earlier) if earlier else wanted)
        if stopped := pid_file.stop(_STOP_SECONDS):
            click.echo(f"anamnesis: Stopped the daemon with process id {stopped.pid}.", err=True)
        bind(LOOPBACK, port).close()  # raises with the program that holds the port
    written = service.install(wanted, settings().home, start)
    running = _wait(pid_file, wanted)
    if as_json:
        print_json({"system": wanted.system, "written": [*map(str, written)], "url": running.url, "logs": wanted.logs})
    elif on_terminal():
        screen = console()
        for path in written:
            screen.draw("[green]✓[/] wrote {}", path)
        screen.draw("[green]✓[/] The daemon runs at [bold]{}[/], and starts when you log in.", running.url)
        screen.draw("[dim]Its log: {}[/]", wanted.logs)
    else:
        print_lines([*((path,) for path in written), (running.url,)])


@command.command()
@as_json
def status(as_json: bool) -> None:
    """Show whether the service is installed and runs; the exit code is 1 if it does not run.

    \b
    JSON: {"installed", "running", "system", "url", "pid", "files": [PATH], "changed": [PATH], "logs"}
    """
    start = service.installed(settings().home)
    running = PidFile(settings().engram_db()).running()
    facts: dict[str, object] = {"installed": start is not None, "running": False}
    if start:
        found = _service(start)
        facts |= {"running": service.is_active(found) and running is not None, "system": found.system}
        facts |= {"url": running.url, "pid": running.pid} if running else {}
        facts |= {"files": [*map(str, found.files)], "changed": [*map(str, found.changes())], "logs": found.logs}
    if as_json:
        print_json(facts)
    else:
        lines = [(name, *value) if isinstance(value, list) else (name, value) for name, value in facts.items()]
        print_lines([line for line in lines if len(line) > 1])
    sys.exit(0 if facts["running"] else 1)


@command.command()
@as_json
def uninstall(as_json: bool) -> None:
    """Stop the service and remove it. The notes stay.

    \b
    In a pipe: the removed files, a path per line.
    JSON: {"removed": [PATH]}
    """
    start = service.installed(settings().home)
    removed = service.uninstall(_service(start), settings().home) if start else []
    if as_json:
        print_json({"removed": [*map(str, removed)]})
    elif on_terminal() or not start:
        click.echo("The service is removed." if start else "No service was installed.")
    else:
        print_lines([(path,) for path in removed])


def findings() -> list[Finding]:
    """The faults of the service, if one is installed."""
    start = service.installed(settings().home)
    if start is None:
        return []
    found = _service(start)
    reinstall = "anamnesis service install"
    reinstall += f" --port {start.port}" if start.port != DEFAULT_PORT else ""
    if not machine.can_run(start.words):
        return [Finding("service", f"The service starts {start.words[0]}, which does not run.", reinstall)]
    if changes := found.changes():
        return [Finding(str(changes[0]), "The service's file is missing or was changed.", reinstall)]
    if not service.is_active(found):
        return [
            Finding("service", "The service is installed, but does not run.", f"{reinstall}; its log: {found.logs}")
        ]
    return []


def _start(port: int) -> Start:
    program = machine.program(settings())
    return Start(program.runs or program.words, _variables(), port)


def _variables() -> dict[str, str]:
    """The variables that the daemon needs to find the same memory, git and its helpers."""
    names = ("ANAMNESIS_", "ENGRAM_")
    variables = machine.place(settings()).variables
    kept = {name: variables[name] for name in sorted(variables) if name == "PATH" or name.startswith(names)}
    if HOME_VARIABLE in kept:
        kept[HOME_VARIABLE] = str(settings().home)  # the variable may be relative to this folder
    return {name: value for name, value in kept.items() if name not in _SECRET and value.isprintable()}


def _service(start: Start) -> Service:
    place = machine.place(settings())
    if place.system == "macos":
        from anamnesis.service import launchd

        return launchd.service(start, place.home, os.getuid())
    if place.system == "windows":
        from anamnesis.service import task_scheduler

        return task_scheduler.service(start, settings().home)
    from anamnesis.service import systemd

    return systemd.service(start, place.config())


def _print(wanted: Service, as_json: bool) -> None:
    texts = {str(path): _text(content) for path, content in wanted.files.items()}
    commands = [subprocess.list2cmdline(each) for each in wanted.enable]
    if as_json:
        print_json({"system": wanted.system, "files": texts, "commands": commands})
    else:
        parts = [f"# {path}\n{text}" for path, text in texts.items()]
        click.echo("\n".join([*parts, *commands]))


def _text(content: bytes) -> str:
    return content.decode("utf-16" if content.startswith((b"\xff\xfe", b"\xfe\xff")) else "utf-8")


def _wait(pid_file: PidFile, started: Service) -> Running:
    """Wait for the daemon."""
    deadline = time.monotonic() + _START_SECONDS
    while time.monotonic() < deadline:
        if running := pid_file.running():
            return running
        time.sleep(0.05)
    raise StoreUnavailable("The service is installed, but its daemon does not start.", f"Its log: {started.logs}")
