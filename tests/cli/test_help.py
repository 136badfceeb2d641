"""Help for people: commands in groups, colours on a terminal, examples that are true, and suggestions."""

from __future__ import annotations

import re
import shlex

import click
import pytest
from tests.cli.command import Command
from tests.cli.test_terminal import plain

from anamnesis.cli import COMMANDS, GROUPS, LazyGroup
from anamnesis.cli import anamnesis as program
from anamnesis.cli.help import EXAMPLES, SYNONYMS


def test_commands_are_listed_in_groups_with_what_they_do(anamnesis: Command) -> None:
    shown = anamnesis("--help").out
    for title, names in GROUPS.items():
        section = shown.partition(f"\n{title}:\n")[2].partition("\n\n")[0]
        assert re.findall(r"^  ([a-z]+) {2,}\S", section, re.MULTILINE) == list(names)


def test_help_is_coloured_on_a_terminal_only(anamnesis: Command) -> None:
    for arguments in (["--help"], ["list", "-h"], ["config", "--help"], ["config", "set", "-h"]):
        drawn = anamnesis.on_terminal(*arguments)
        assert "\x1b[" in drawn
        assert "\x1b[" not in anamnesis.on_terminal(*arguments, NO_COLOR="1").replace("\x1b[1m", "").replace(
            "\x1b[0m", ""
        )
        piped = anamnesis(*arguments, COLUMNS="100")
        assert (piped.code, piped.err) == (0, "")
        assert plain(drawn).split() == piped.out.split()


def test_every_command_for_people_has_an_example(anamnesis: Command) -> None:
    for_people = {name for title, names in GROUPS.items() if title != "For agents" for name in names}
    assert for_people <= {line.split()[1] for lines in EXAMPLES.values() for line in lines}
    assert "\nExamples:\n  anamnesis list" in anamnesis("list", "--help").out


@pytest.mark.parametrize("line", [line for lines in EXAMPLES.values() for line in lines])
def test_an_example_is_a_command_that_can_be_parsed(line: str) -> None:
    name, *arguments = shlex.split(line.split(" | ")[-1].partition("  #")[0])[1:]
    context = click.Context(program, info_name="anamnesis")
    command = LazyGroup.load(name)
    if isinstance(command, click.Group) and arguments and arguments[0] in command.commands:
        command, arguments = command.commands[arguments[0]], arguments[1:]
    command.make_context(name, arguments, parent=context)


@pytest.mark.parametrize(
    ("typed", "meant"), [("serach", "search"), ("lst", "list"), ("rm", "delete"), ("ls", "list"), ("Init", "init")]
)
def test_a_mistyped_command_gets_a_suggestion(anamnesis: Command, typed: str, meant: str) -> None:
    done = anamnesis(typed, "x")
    assert (done.code, done.out) == (2, "")
    assert f"No such command {typed!r}. Did you mean `anamnesis {meant}`?" in done.err


def test_a_usage_error_says_where_the_help_is(anamnesis: Command) -> None:
    assert "Try 'anamnesis --help' for help." in anamnesis("serach").err
    assert "Try 'anamnesis list --help' for help." in anamnesis("list", "--nothing").err
    assert "Try 'anamnesis config set --help' for help." in anamnesis("config", "set").err


def test_a_word_unlike_any_command_gets_no_suggestion(anamnesis: Command) -> None:
    assert "Did you mean" not in anamnesis("xyzzyxyzzy").err
    assert set(SYNONYMS.values()) <= set(COMMANDS)
    assert not set(SYNONYMS) & set(COMMANDS)
