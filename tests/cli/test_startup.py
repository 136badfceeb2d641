"""The startup cost of commands: each imports only what it uses."""

from __future__ import annotations

import subprocess
import sys

import pytest
from tests.cli.command import Command

HEAVY = {"rich", "mcp", "pydantic", "starlette", "uvicorn", "httpx", "numpy", "importlib.metadata", "asyncio"}


@pytest.mark.parametrize("arguments", [["search", "x"], ["list"], ["status"], ["write", "t", "b"]])
def test_a_command_in_a_pipe_imports_no_heavy_library(anamnesis: Command, arguments: list[str]) -> None:
    script = (
        "import sys\nfrom anamnesis.cli import main\n"
        f"sys.argv = ['anamnesis', *{arguments!r}]\n"
        "try:\n    main()\nexcept SystemExit:\n    pass\n"
        "print(' '.join(sys.modules), file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], env=anamnesis.variables, capture_output=True, text=True, check=True
    )
    assert set(done.stderr.split()) & HEAVY == set()


def test_the_store_imports_no_terminal_library() -> None:
    script = "import sys, anamnesis.store, anamnesis.project; print(' '.join(sys.modules))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert set(done.stdout.split()) & (HEAVY | {"click", "subprocess", "socket"}) == set()


def complete(anamnesis: Command, words: str, **variables: str) -> str:
    """What the shell offers for the last word; nothing is printed besides."""
    count = str(len(words.split(" ")) - 1)
    done = anamnesis(_ANAMNESIS_COMPLETE="bash_complete", COMP_WORDS=words, COMP_CWORD=count, **variables)
    assert done.err == ""
    return done.out.strip("\n")


def test_completion_offers_commands_and_ids(anamnesis: Command) -> None:
    note_id = anamnesis("write", "Title", "body").out.strip()
    assert "plain,search" in complete(anamnesis, "anamnesis se")
    assert note_id in complete(anamnesis, "anamnesis show 0")
    assert note_id in complete(anamnesis, "anamnesis tag 0")
    assert "--limit" in complete(anamnesis, "anamnesis list --l")
    assert "_ANAMNESIS_COMPLETE=bash_complete" in anamnesis("completion", "bash").out


def test_completion_offers_projects_tags_and_settings(anamnesis: Command) -> None:
    anamnesis("write", "Title", "body", "-p", "github.com/acme/web", "--tag", "sqlite")
    for words, offered in {
        "anamnesis list -p git": "github.com/acme/web",
        "anamnesis search -p we": "github.com/acme/web",
        "anamnesis write -p ": "github.com/acme/web",
        "anamnesis move x --project g": "github.com/acme/web",
        "anamnesis list --tag SQ": "sqlite",
        "anamnesis write --tag s": "sqlite",
        "anamnesis tag x s": "sqlite",
        "anamnesis untag x s": "sqlite",
        "anamnesis config set inj": "inject_budget",
        "anamnesis config get rem": "remote",
        "anamnesis list --sort ti": "title",
    }.items():
        assert complete(anamnesis, words) == f"plain,{offered}", words
    assert complete(anamnesis, "anamnesis list --tag x") == ""


@pytest.mark.parametrize("words", ["anamnesis list -p ", "anamnesis list --tag ", "anamnesis show "])
def test_completion_is_silent_where_it_cannot_answer(anamnesis: Command, words: str) -> None:
    assert complete(anamnesis, words) == ""
    (anamnesis.folder / "file").write_text("")
    assert complete(anamnesis, words, ANAMNESIS_HOME=str(anamnesis.folder / "file")) == ""
    assert not anamnesis.home.exists()
    anamnesis("write", "Title", "body")
    (anamnesis.home / "config.json").write_text("{")
    complete(anamnesis, words)


def test_completion_imports_no_heavy_library(anamnesis: Command) -> None:
    anamnesis("write", "Title", "body", "--tag", "sqlite")
    script = (
        "import atexit, sys\nfrom anamnesis.cli import main\n"
        "atexit.register(lambda: print(' '.join(sys.modules), file=sys.stderr))\nsys.argv = ['anamnesis']\nmain()"
    )
    completing = {"_ANAMNESIS_COMPLETE": "bash_complete", "COMP_WORDS": "anamnesis list --tag s", "COMP_CWORD": "3"}
    done = subprocess.run(
        [sys.executable, "-c", script],
        env={**anamnesis.variables, **completing},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout == "plain,sqlite\n"
    assert set(done.stderr.split()) & (HEAVY | {"anamnesis.bridge.bridge"}) == set()
