"""Binds the port, or names the program that holds it."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import socket
import sys
from pathlib import Path

from anamnesis.errors import InvalidArgument, StoreUnavailable

_BACKLOG = 1024
_LISTENING = "0A"
# systemd passes sockets from this descriptor on.
_FIRST_SYSTEMD_SOCKET = 3


def systemd_socket() -> socket.socket | None:
    """The socket that systemd opened for this process; None if it was started otherwise."""
    if os.environ.get("LISTEN_PID") != str(os.getpid()) or os.environ.get("LISTEN_FDS") != "1":
        return None
    listening = socket.socket(fileno=_FIRST_SYSTEMD_SOCKET)
    listening.set_inheritable(False)  # the programs that the daemon starts must not hold the port
    return listening


def bind(host: str, port: int) -> socket.socket:
    """A socket that listens on this address."""
    if not 0 <= port <= 65535:
        raise InvalidArgument(f"{port} is not a port.", "Ports go from 0, which selects a free one, to 65535.")
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    except (socket.gaierror, UnicodeError) as error:
        raise InvalidArgument(f"{host!r} is not a name or an address of this machine.") from error
    listening = socket.socket(family, kind, protocol)
    try:
        if sys.platform != "win32":  # on Windows, two programs could then bind the same port
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(address)
        listening.listen(_BACKLOG)
    except OSError as error:
        listening.close()
        if error.errno == errno.EADDRINUSE:
            raise StoreUnavailable(
                f"Port {port} of {host} is taken by {holder(port)}.",
                "Stop it (`anamnesis daemon stop`), or take another port with --port or ENGRAM_PORT.",
            ) from error
        raise StoreUnavailable(f"Port {port} of {host} cannot be used: {error.strerror}.") from error
    return listening


def holder(port: int) -> str:
    """The program that listens on a port of this machine, as far as it can be determined."""
    from anamnesis.web.guard import UNAUTHORIZED

    ready = _ask(port, "/ready")
    if ready.get("service") == "anamnesis":
        return f"the Anamnesis daemon with process id {ready.get('pid')}"
    process = _process(port)
    # A daemon with a token refuses this request. The token is not sent, as the program may be another one.
    if ready.get("error") == UNAUTHORIZED:
        return f"an Anamnesis daemon with a token{f', process id {process[0]}' if process else ''}"
    if _ask(port, "/health").get("service") == "engram":
        return f"Engram{f', process id {process[0]}' if process else ''}"
    return f"{process[1]!r}, process id {process[0]}" if process else "another program"


def _ask(port: int, path: str) -> dict[str, object]:
    """The JSON object with which a local server answers; empty if there is none."""
    request = f"GET {path} HTTP/1.0\r\nHost: 127.0.0.1\r\n\r\n".encode()
    reply = b""
    try:
        with socket.create_connection(("127.0.0.1", port), 1.0) as connection:
            connection.sendall(request)
            while len(reply) < 65536 and (part := connection.recv(65536)):
                reply += part
        answer = json.loads(reply.partition(b"\r\n\r\n")[2])
    except (OSError, ValueError, RecursionError):
        return {}
    return answer if isinstance(answer, dict) else {}


def _process(port: int) -> tuple[int, str] | None:
    """The id and the name of the process that listens on a port, where the system shows its files."""
    inodes = {f"socket:[{inode}]" for name in ("tcp", "tcp6") for inode in _inodes(Path("/proc/net", name), port)}
    for process in Path("/proc").glob("[0-9]*") if inodes else ():
        with contextlib.suppress(OSError):
            if any(os.readlink(file) in inodes for file in (process / "fd").iterdir()):
                return int(process.name), (process / "comm").read_text("utf-8", "replace").strip()
    return None


def _inodes(table: Path, port: int) -> list[str]:
    try:
        rows = [line.split() for line in table.read_text("ascii").splitlines()[1:]]
    except OSError:
        return []
    return [row[9] for row in rows if row[3] == _LISTENING and int(row[1].rpartition(":")[2], 16) == port]
