"""What a command costs before it does anything: it imports what it uses."""

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


def test_completion_offers_commands_and_ids(anamnesis: Command) -> None:
    note_id = anamnesis("write", "Title", "body").out.strip()

    def complete(words: str) -> str:
        count = str(len(words.split(" ")) - 1)
        return anamnesis(_ANAMNESIS_COMPLETE="bash_complete", COMP_WORDS=words, COMP_CWORD=count).out

    assert "plain,search" in complete("anamnesis se")
    assert note_id in complete("anamnesis show 0")
    assert "--limit" in complete("anamnesis list --l")
    assert "_ANAMNESIS_COMPLETE=bash_complete" in anamnesis("completion", "bash").out
