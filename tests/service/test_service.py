"""The daemon as a user service: the files of each system, and a real systemd that starts, restarts and removes it."""

from __future__ import annotations

import json
import os
import plistlib
import shlex
import shutil
import socket
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest
from tests.cli.command import Command

from anamnesis.service import Start, launchd, systemd, task_scheduler

WORDS = ('/opt/my tools/50% "new"/anamnesis',)
START = Start(WORDS, {"ANAMNESIS_HOME": '/home/ada/a "b" $c 5%', "PATH": "/usr/bin"}, 7437)
MANAGER = "/usr/lib/systemd/systemd"


def test_a_unit_keeps_every_character_of_a_path() -> None:
    unit = systemd.service(START, Path("/c")).files[Path("/c/systemd/user/anamnesis.service")].decode()
    assert 'ExecStart="/opt/my tools/50%% \\"new\\"/anamnesis" "daemon" "--port" "7437"\n' in unit
    assert 'Environment="ANAMNESIS_HOME=/home/ada/a \\"b\\" $c 5%%"\nEnvironment="PATH=/usr/bin"\n' in unit


def test_launchd_and_windows_are_given_the_same_command() -> None:
    mac = launchd.service(START, Path("/Users/ada"), 501)
    (plist,) = map(plistlib.loads, mac.files.values())
    assert plist["ProgramArguments"] == [*WORDS, "daemon", "--port", "7437"]
    assert plist["EnvironmentVariables"] == START.variables
    assert plist["KeepAlive"] == {"SuccessfulExit": False}
    (task,) = (ElementTree.fromstring(text) for text in task_scheduler.service(START, Path("/m")).files.values())
    texts = {each.tag.rpartition("}")[2]: each.text for each in task.iter()}
    assert (texts["Command"], texts["Arguments"]) == (WORDS[0], "daemon --port 7437")


@pytest.fixture
def anamnesis(tmp_path: Path) -> Command:
    command = Command(tmp_path)
    command.variables |= {"ANAMNESIS_TOKEN": "a-secret-of-thirty-characters!", "XDG_RUNTIME_DIR": str(tmp_path / "run")}
    return command


def test_print_writes_nothing_and_contains_no_secret(anamnesis: Command) -> None:
    printed = anamnesis("service", "install", "--print", "--json").json
    assert printed["system"] == {"darwin": "launchd", "win32": "task scheduler"}.get(sys.platform, "systemd")
    assert not any(Path(path).exists() for path in printed["files"])
    assert str(anamnesis.home) in "".join(printed["files"].values())
    assert "secret" not in str(printed)
    assert not anamnesis.home.exists()
    assert anamnesis("service", "status", "--json").json == {"installed": False, "running": False}


def test_a_program_in_a_cache_names_its_own_source_to_install(anamnesis: Command) -> None:
    program = anamnesis.folder / "archive-v0" / "x" / "anamnesis"
    program.parent.mkdir(parents=True)
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    script = (
        f"import sys\nsys.argv = [{str(program)!r}, 'service', 'install']\nfrom anamnesis.entry import main\nmain()"
    )
    done = subprocess.run([sys.executable, "-c", script], env=anamnesis.variables, capture_output=True, text=True)
    assert done.returncode == 1
    source = Path(__file__).parents[2]
    assert done.stderr == (
        "anamnesis: This program runs from a cache that may be cleared."
        f" Install it first: uv tool install {shlex.quote(str(source))}\n"
    )


@pytest.mark.skipif(sys.platform != "linux", reason="systemd is Linux's")
@pytest.mark.parametrize("has_systemctl", [True, False])
def test_a_system_without_a_manager_gets_one_sentence_and_no_files(anamnesis: Command, has_systemctl: bool) -> None:
    if not has_systemctl:
        anamnesis.variables["PATH"] = str(anamnesis.folder)
    elif not shutil.which("systemctl"):
        pytest.skip("there is no systemctl")
    refused = anamnesis("service", "install", "--port", str(free_port()))
    assert (refused.code, refused.out, refused.err.count("\n")) == (1, "", 1)
    assert refused.err.endswith(". `anamnesis daemon --background` needs no service.\n")
    assert [path for path in anamnesis.folder.rglob("*") if path.is_file()] == []


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


PLAY = """
set -eu
mount -t tmpfs tmpfs /run/systemd && mkdir /run/systemd/system  # here, systemd is running
{manager} --user --log-target=null & manager=$!
trap 'kill $manager' EXIT
while ! systemctl --user is-system-running --quiet; do sleep 0.1; done
call() {{ {python} -m anamnesis service "$@" --json || true; }}
daemon() {{ {python} -m anamnesis daemon "$@"; }}
systemctl() {{ command systemctl --user "$@"; }}
daemon --port {port} --background >&2
call install --port {port}
call install --port {port}
call status
kill -9 "$(systemctl show anamnesis.service --property MainPID --value)"
until [ "$(systemctl show anamnesis.service --property NRestarts --value)" = 1 ]; do sleep 0.1; done
daemon stop >&2
{python} -c 'import urllib.request as r; r.urlopen("http://127.0.0.1:{port}/ready").read()'  # starts it again
call status
call uninstall
call status
systemctl list-unit-files --no-legend "anamnesis*" >&2 || true
"""


@pytest.mark.skipif(
    sys.platform != "linux" or not os.path.exists(MANAGER) or os.geteuid() != 0 or not shutil.which("unshare"),
    reason="systemd is not here, or it takes root to start one apart from the system's",
)
def test_systemd_starts_restarts_and_removes_the_daemon(anamnesis: Command) -> None:
    port = free_port()
    del anamnesis.variables["ANAMNESIS_TOKEN"]
    Path(anamnesis.variables["XDG_RUNTIME_DIR"]).mkdir(mode=0o700)
    script = PLAY.format(manager=MANAGER, python=sys.executable, port=port)
    played = subprocess.run(
        ["unshare", "--mount", "bash", "-c", script],
        env=anamnesis.variables,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert played.returncode == 0, played.stderr

    first, again, running, restarted, removed, after = map(json.loads, played.stdout.splitlines())
    units = [f"{anamnesis.variables['HOME']}/.config/systemd/user/anamnesis.{kind}" for kind in ("socket", "service")]
    assert (first["written"], first["url"]) == (units, f"http://127.0.0.1:{port}")
    assert (again["written"], again["url"]) == ([], first["url"])
    assert (running["running"], running["changed"]) == (True, [])
    assert (restarted["running"], restarted["pid"] != running["pid"]) == (True, True)
    assert removed == {"removed": units}
    assert after == {"installed": False, "running": False}
    assert "anamnesis.s" not in played.stderr  # no unit is left
