"""Help for people: examples, colours on a terminal, and suggestions for mistyped commands."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence

import click

# By the path of the command; every line can be run as it is.
EXAMPLES = {
    "anamnesis": (
        'anamnesis write "Use WAL mode" "Set busy_timeout on every connection." --tag sqlite',
        "anamnesis search how to avoid lock errors",
        "anamnesis show @1",
        "anamnesis init",
    ),
    "anamnesis search": (
        "anamnesis search database lock",
        "anamnesis search -p . --since 7d lock",
        "anamnesis search --tag sqlite --long timeout",
    ),
    "anamnesis list": (
        "anamnesis list -p .",
        "anamnesis list --tag pinned --sort title",
        "anamnesis list --source session-end --since yesterday",
    ),
    "anamnesis show": ("anamnesis show @1", "anamnesis show 4CWPY7", 'anamnesis show "Use WAL mode"'),
    "anamnesis tui": ("anamnesis tui",),
    "anamnesis pick": ("anamnesis pick", "anamnesis pick --body sqlite lock"),
    "anamnesis related": ("anamnesis related @1", 'anamnesis related "Use WAL mode" -k 3'),
    "anamnesis history": ("anamnesis history @1", 'anamnesis history "Use WAL mode" --restore 2'),
    "anamnesis status": ("anamnesis status", "anamnesis status --json"),
    "anamnesis write": (
        'anamnesis write "Use WAL mode" "Set busy_timeout on every connection." --tag sqlite',
        'git log -1 --format=%B | anamnesis write "Why the pool was removed" -p .',
        'anamnesis write "Use a pool" "Six connections." --supersedes @1',
    ),
    "anamnesis edit": ("anamnesis edit @1",),
    "anamnesis tag": ("anamnesis tag @1 sqlite performance",),
    "anamnesis untag": ("anamnesis untag @1 performance",),
    "anamnesis move": ("anamnesis move @1 -p .", "anamnesis move @1 -t procedural --scope machine-local"),
    "anamnesis pin": ("anamnesis pin @1",),
    "anamnesis unpin": ("anamnesis unpin @1",),
    "anamnesis delete": ("anamnesis delete @1", "anamnesis delete 4CWPY7 --purge"),
    "anamnesis restore": ("anamnesis restore", "anamnesis restore 4CWPY7"),
    "anamnesis review": ("anamnesis review", "anamnesis review @1 --accept"),
    "anamnesis reflect": ("anamnesis reflect --dry-run", "anamnesis reflect --project ."),
    "anamnesis dream": ("anamnesis dream --dry-run", "anamnesis dream", "anamnesis dream log"),
    "anamnesis sync": ("anamnesis config set remote git@host:notes.git", "anamnesis sync"),
    "anamnesis login": ("anamnesis login https://hub.example",),
    "anamnesis logout": ("anamnesis logout",),
    "anamnesis space": ("anamnesis space", "anamnesis space accept core"),
    "anamnesis conflicts": ("anamnesis conflicts", "anamnesis conflicts @1 --keep this"),
    "anamnesis init": ("anamnesis init", "anamnesis init --print", "anamnesis init --agent claude --yes"),
    "anamnesis uninstall": ("anamnesis uninstall --print",),
    "anamnesis config": ("anamnesis config list", "anamnesis config set machine_id thinkpad"),
    "anamnesis project": ("anamnesis project show", "anamnesis project trust"),
    "anamnesis import": (
        "anamnesis import",
        "anamnesis import claude-mem --dry-run",
        "anamnesis import markdown .",
    ),
    "anamnesis export": ("anamnesis export obsidian ~/vault --project .", "anamnesis export jsonl notes.jsonl"),
    "anamnesis backup": ("anamnesis backup memory.zip", "anamnesis backup restore memory.zip"),
    "anamnesis completion": ("anamnesis completion bash",),
    "anamnesis hub": (
        "anamnesis hub init",
        "anamnesis hub user add you",
        "anamnesis hub space add core --member you:writer --member mate:reader",
        "anamnesis hub token create you",
        "anamnesis hub serve --port 8437",
    ),
    "anamnesis doctor": ("anamnesis doctor", "anamnesis doctor --fix"),
    "anamnesis reindex": ("anamnesis reindex",),
    "anamnesis bridge": ("anamnesis bridge status", "anamnesis bridge reconcile"),
    "anamnesis eval": (
        "anamnesis eval build -o cases.jsonl",
        "anamnesis eval run cases.jsonl",
        "anamnesis eval compare cases.jsonl --a words --b fused",
    ),
    "anamnesis service": ("anamnesis service install", "anamnesis service status"),
    "anamnesis daemon": ("anamnesis daemon --background", "anamnesis daemon stop"),
}
# Names that other programs have for our commands.
SYNONYMS = {
    **dict.fromkeys(("add", "create", "new", "note", "remember", "save"), "write"),
    **dict.fromkeys(("find", "grep", "query"), "search"),
    **dict.fromkeys(("cat", "get", "open", "read", "view"), "show"),
    **dict.fromkeys(("del", "forget", "remove", "rm"), "delete"),
    **dict.fromkeys(("change", "update"), "edit"),
    **dict.fromkeys(("diff", "log", "revisions"), "history"),
    **dict.fromkeys(("pull", "push"), "sync"),
    **dict.fromkeys(("install", "setup"), "init"),
    **dict.fromkeys(("set", "settings"), "config"),
    **dict.fromkeys(("run", "start"), "daemon"),
    "ls": "list",
    "mv": "move",
    "undelete": "restore",
    "undo": "restore",
    "check": "doctor",
    "mcp": "serve",
    **dict.fromkeys(("browse", "ui"), "tui"),
    **dict.fromkeys(("choose", "fzf", "select"), "pick"),
}
_MARKS = re.compile(
    r"^(?P<bold>[A-Z][A-Za-z ]{2,20}:)|^  (?P<cyan>(?:-\w, )?--?[\w-]+|[a-z]+(?=  ))|^  (?P<green>anamnesis .*|git .*)",
    re.MULTILINE,
)


def help_of(ctx: click.Context) -> str:
    """The help of a command, with its examples."""
    examples = EXAMPLES.get(ctx.command_path, ())
    return "\n".join([ctx.get_help(), *(["", "Examples:"] if examples else []), *(f"  {line}" for line in examples)])


def show_help(ctx: click.Context) -> None:
    """Print the help of a command, coloured on a terminal."""
    if not sys.stdout.isatty():
        click.echo(help_of(ctx))
        return
    from rich.text import Text

    from anamnesis.cli.output import console

    text = Text(help_of(ctx))
    text.highlight_regex(_MARKS)
    console().print(text, soft_wrap=True)


def _help(ctx: click.Context, _: click.Parameter, is_set: bool) -> None:
    if is_set and not ctx.resilient_parsing:
        show_help(ctx)
        ctx.exit()


HELP_OPTION = click.Option(
    ["-h", "--help"],
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_help,
    help="Show this message and exit.",
)


def _help_option(_: click.Context) -> click.Option:
    return HELP_OPTION


def add_help(command: click.Command) -> None:
    """Make a command and its subcommands print their help with `show_help`."""
    for each in (command, *_subcommands(command)):
        each.get_help_option = _help_option  # type: ignore[assignment, method-assign]


def _subcommands(command: click.Command) -> Iterator[click.Command]:
    for each in command.commands.values() if isinstance(command, click.Group) else ():
        yield each
        yield from _subcommands(each)


def suggestion(typed: str, names: Sequence[str]) -> str:
    """The question whether a similar command was meant."""
    from difflib import get_close_matches  # only for a mistake

    close = get_close_matches(typed.lower(), names, 1, 0.7)
    meant = SYNONYMS.get(typed.lower()) or (close[0] if close else "")
    return f" Did you mean `anamnesis {meant}`?" if meant else ""
