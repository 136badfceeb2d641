"""Only entry points read the environment, config.json and the home folder; other modules get values passed in."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import anamnesis

SOURCE = Path(anamnesis.__file__).parent
# Every module that reads one of these, with the reason. The functions `resolve_*` read all settings again.
READERS = {
    "config": "Reads the settings for everybody.",
    "cli/context": "The command line's one read of the settings.",
    "cli/sync": "`--home` becomes a variable, which the background process inherits.",
    "onboard/machine": "Agents have variables of their own for where their settings are.",
    "cli/import_": "Follows the variables by which other programs name their folders.",
    "cli/init": "Writes to config.json the settings that it lacks.",
    "cli/note_rows": "Follows the user's variables for pagers.",
    "cli/text_input": "Names the user's editor in its error.",
    "entry": "The one read of the terminal application, where it starts without the command line.",
    "tui/__init__": "Follows the terminal's variables, and shortens Textual's wait after an escape.",
    "tui/first_frame": "Follows the terminal's variables for colours.",
    "tui/settings": "Reads the settings again after a change.",
    "hooks/__init__": "The hooks' one read, and the variables by which agents tell who they are.",
    "engram_cli/__init__": "The one read of Engram's command line.",
    "server": "The one read of `serve`; and `build_server(store)` is specified to work without settings.",
    "inject": "`resolve_project_key(cwd)` is specified to work without settings.",
    "doctor/memory": "Checks config.json itself.",
    "web/ui/upkeep": "The page of the settings shows what config.json has by now.",
    "daemon/port": "systemd says by variables that it passes a socket.",
    "daemon/asgi": "The one read of the daemon under another ASGI server.",
    "meaning/__init__": "numpy reads its number of threads from a variable.",
    "git": "git inherits the environment, except for the variables that point it at another repository.",
}
# Public functions that take a path as a user types it, `~` included; they call nothing but expanduser.
TAKE_A_TILDE = {"store/store", "sync/git_backend", "capture/transcript", "hooks/event"}
_READING = ("resolve_settings", "resolve_home", "resolve_machine_id", "resolve_remote", "read_config")


def read_by(tree: ast.Module) -> Iterator[str]:
    """The names by which a module reads its surroundings."""
    for node in ast.walk(tree):
        match node:
            case ast.Attribute(value=ast.Name(id="os"), attr="environ" | "environb" | "getenv" as name):
                yield name
            case ast.ImportFrom(module="os", names=names):
                yield from {each.name for each in names} & {"environ", "environb", "getenv"}
            case ast.Attribute(value=ast.Name(id="Path"), attr="home"):
                yield "home"
            case ast.Attribute(attr="expanduser"):
                yield "expanduser"
            case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name)) if name in _READING:
                yield name


def test_no_module_but_the_entry_points_reads_the_environment_or_the_home_folder() -> None:
    found = {
        path.relative_to(SOURCE).with_suffix("").as_posix(): set(read_by(ast.parse(path.read_text("utf-8"))))
        for path in SOURCE.rglob("*.py")
    }
    only_a_tilde = {module for module, names in found.items() if names == {"expanduser"}}
    assert only_a_tilde == TAKE_A_TILDE
    assert {module for module, names in found.items() if names} - only_a_tilde == set(READERS)


def test_other_spellings_of_a_read_are_detected() -> None:
    code = (
        "from os import environ\nimport anamnesis.config as c\nc.resolve_home()\nos.path.expanduser('~')\nPath.home()"
    )
    assert set(read_by(ast.parse(code))) == {"environ", "resolve_home", "expanduser", "home"}


@pytest.mark.parametrize("words", ["status", "sync", "config list", "inject", "engram stats", "serve"])
def test_config_json_is_read_once_by_a_command(tmp_path: Path, words: str) -> None:
    script = (
        f"import os, sys\nsys.argv = {['anamnesis', *words.split()]}\n"
        "def report(event, given):\n"
        "    if event == 'open' and str(given[0]).endswith('config.json'):\n"
        "        os.write(2, b'read')\n"  # unbuffered, because hooks exit without flushing
        "sys.addaudithook(report)\n"
        "from anamnesis.entry import main\nmain()"
    )
    (tmp_path / "config.json").write_text('{"machine_id": "desk"}')
    variables = {"HOME": str(tmp_path), "ANAMNESIS_HOME": str(tmp_path), "PATH": os.environ["PATH"]}
    done = subprocess.run([sys.executable, "-c", script], env=variables, cwd=tmp_path, input=b"{}", capture_output=True)
    assert (done.returncode, done.stderr) == (0, b"read")
