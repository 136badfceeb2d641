"""The daemon as a process: one per memory, found and stopped by its files, with clear errors about what blocks it."""

from __future__ import annotations

import contextlib
import json
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.web.daemon import Daemon, environment


def anamnesis(home: Path, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "anamnesis", *arguments],
        env=environment(home, **variables),
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


def status(home: Path, **variables: str) -> dict[str, object]:
    shown: dict[str, object] = json.loads(anamnesis(home, "daemon", "status", "--json", **variables).stdout)
    return shown


@contextlib.contextmanager
def free_port() -> Iterator[int]:
    """A port that nobody else is given meanwhile: who asks for it by its number gets it, as long as nobody listens."""
    with socket.socket() as held:
        held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        held.bind(("127.0.0.1", 0))
        port: int = held.getsockname()[1]
        if sys.platform != "linux":  # there a port that is bound is taken
            held.close()
        yield port


def test_a_command_that_is_not_on_path_prints_how_to_use_and_install_it(tmp_path: Path) -> None:
    daemon = Daemon(tmp_path, PATH="/usr/bin:/bin")
    try:
        assert daemon.process.stdout
        program = Path(sys.executable).with_name("anamnesis")
        said = daemon.process.stdout.readline()
        assert said.startswith(f"Next: `{program} init` sets up your agents; to have anamnesis on PATH: ")
        assert any(way in said for way in (f"ln -s {program} ~/.local/bin/", "uv tool install /"))
    finally:
        assert daemon.stop() == (0, "")


def test_a_background_daemon_is_found_and_stopped(tmp_path: Path) -> None:
    assert anamnesis(tmp_path, "daemon", "status").returncode == 1
    started = anamnesis(tmp_path, "daemon", "--port", "0", "--background")
    try:
        assert (started.returncode, started.stderr) == (0, "")
        shown = status(tmp_path)
        assert started.stdout == f"{shown['url']} (process id {shown['pid']})\n"
        assert (shown["home"], shown["database"]) == (str(tmp_path), None)
        with socket.create_connection(("127.0.0.1", int(str(shown["port"]))), 10):
            pass
    finally:
        stopped = anamnesis(tmp_path, "daemon", "stop")
    assert stopped.stdout == f"Stopped the daemon with process id {shown['pid']}.\n"
    assert status(tmp_path) == {"running": False, "home": str(tmp_path), "database": None}
    assert anamnesis(tmp_path, "daemon", "stop", "--json").stdout == '{"stopped": false, "pid": null}\n'
    assert not (tmp_path / "daemon.json").exists()


def test_a_memory_has_one_daemon(daemon: Daemon) -> None:
    second = anamnesis(daemon.home, "daemon", "--port", "0", "--background")
    assert second.returncode == 1
    assert second.stderr == (
        f"anamnesis: The memory in {daemon.home} is already served by the daemon with process id {daemon.process.pid}"
        f" on http://127.0.0.1:{daemon.port}. Use that one, or stop it with `anamnesis daemon stop`.\n"
    )


def test_another_memory_has_another_daemon(daemon: Daemon, tmp_path: Path) -> None:
    elsewhere = Daemon(tmp_path, ENGRAM_DATA_DIR=str(tmp_path / "elsewhere"))
    assert status(tmp_path, ENGRAM_DATA_DIR=str(tmp_path / "elsewhere"))["port"] == elsewhere.port
    assert status(tmp_path)["port"] == daemon.port
    assert elsewhere.stop() == (0, "")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_the_daemon_cleanly_and_is_logged(tmp_path: Path, number: signal.Signals) -> None:
    daemon = Daemon(tmp_path)
    assert daemon.stop(number) == (0, "")
    log = [json.loads(line) for line in (tmp_path / "anamnesis.log").read_text().splitlines()]
    assert [line["port"] for line in log if line["event"] == "daemon started"] == [daemon.port]
    assert [(line["signal"], line["finished"]) for line in log if line["event"] == "daemon stopped"] == [
        (number.name, True)
    ]


def test_a_killed_daemon_does_not_block_the_next(tmp_path: Path) -> None:
    daemon = Daemon(tmp_path)
    assert daemon.stop(signal.SIGKILL)[0] == -signal.SIGKILL
    assert (tmp_path / "daemon.json").exists()
    assert status(tmp_path)["running"] is False
    assert anamnesis(tmp_path, "daemon", "stop").stdout == "No daemon was running.\n"
    assert Daemon(tmp_path).stop() == (0, "")


def test_a_port_that_another_daemon_has_is_named_with_it(daemon: Daemon, tmp_path: Path) -> None:
    taken = anamnesis(tmp_path / "other", "daemon", ENGRAM_PORT=str(daemon.port))
    assert (taken.returncode, taken.stdout) == (1, "")
    assert taken.stderr == (
        f"anamnesis: Port {daemon.port} of 127.0.0.1 is taken by the Anamnesis daemon with process id"
        f" {daemon.process.pid}. Stop it (`anamnesis daemon stop`), or take another port with --port or ENGRAM_PORT.\n"
    )


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux shows who holds a port in files")
def test_a_port_that_another_program_has_is_named_with_it(tmp_path: Path) -> None:
    script = (
        "import socket, sys\n"
        "taken = socket.create_server(('127.0.0.1', 0))\n"
        "print(taken.getsockname()[1], flush=True)\n"
        "sys.stdin.read()"
    )
    holder = subprocess.Popen([sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert holder.stdout
    port = holder.stdout.readline().strip()
    taken = anamnesis(tmp_path, "daemon", "--port", port)
    holder.communicate()
    assert taken.returncode == 1
    assert "is taken by 'python" in taken.stderr
    assert f"process id {holder.pid}." in taken.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--host", "no.such.host.invalid"], "'no.such.host.invalid' is not a name or an address of this machine."),
        (["--host", "192.0.2.1"], "Port 0 of 192.0.2.1 cannot be used: Cannot assign requested address."),
    ],
)
def test_a_host_that_cannot_be_is_a_sentence(tmp_path: Path, arguments: list[str], message: str) -> None:
    done = anamnesis(tmp_path, "daemon", "--port", "0", *arguments)
    assert (done.returncode, done.stderr) == (1, f"anamnesis: {message}\n")


def test_a_file_that_is_not_a_database_is_reported_in_a_sentence_and_left_alone(tmp_path: Path) -> None:
    broken = tmp_path / "engram.db"
    broken.write_bytes(b"this is not a database, but it is somebody's file" * 100)
    done = anamnesis(tmp_path, "daemon", "--port", "0", "--background")
    assert done.returncode == 1
    assert "cannot be used now: file is not a database." in done.stderr
    assert "Traceback" not in done.stderr
    assert broken.read_bytes().startswith(b"this is not a database")


def test_a_connection_is_taken_before_anything_heavy_is_imported(tmp_path: Path) -> None:
    """Plugins start the daemon and expect it half a second later: their connection waits instead of being refused."""
    script = (
        "import sys, socket\n"
        "from anamnesis.daemon import port\n"
        "bind = port.bind('127.0.0.1', 0)\n"
        "socket.create_connection(bind.getsockname()).close()\n"
        "print(' '.join(sys.modules))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], env=environment(tmp_path), capture_output=True, text=True, check=True
    )
    assert {"asyncio", "sqlite3", "subprocess", "click", "concurrent.futures"} & set(done.stdout.split()) == set()


def test_serve_is_the_same_daemon(tmp_path: Path) -> None:
    """As plugins of Engram start it."""
    with free_port() as port:
        served = subprocess.Popen(
            [sys.executable, "-m", "anamnesis", "engram", "serve", str(port)],
            env=environment(tmp_path),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        try:
            assert served.stderr
            assert served.stderr.readline() == f"[engram] HTTP server listening on http://127.0.0.1:{port}\n"
            with socket.create_connection(("127.0.0.1", port), 30) as connection, connection.makefile("rb") as reply:
                connection.sendall(b"GET /health HTTP/1.0\r\n\r\n")
                assert b'"service":"engram"' in reply.read()
            assert status(tmp_path)["port"] == port
        finally:
            served.send_signal(signal.SIGTERM)
        assert served.communicate(timeout=60) == ("", "")
    assert served.returncode == 0
