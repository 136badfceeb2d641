"""The daemon: one process that serves the memory over HTTP, started, found and stopped through files beside engram.db.

The port is bound before heavy imports: plugins start the daemon and expect an answer half a second later.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from anamnesis.daemon.port import bind, systemd_socket

if TYPE_CHECKING:
    from anamnesis.config import Settings
    from anamnesis.daemon.dreamer import Times

DEFAULT_PORT = 7437
LOOPBACK = "127.0.0.1"


def run(
    settings: Settings,
    port: int = DEFAULT_PORT,
    host: str = LOOPBACK,
    announce: Callable[[str], None] | None = None,
    times: Times | None = None,
) -> None:
    """Serve until a signal stops it. `announce` gets the address as soon as requests are answered.

    `times` says when it dreams. A socket from systemd replaces `host` and `port`.
    """
    settings.demand_config()
    listening = systemd_socket()
    if listening:
        host = listening.getsockname()[0]
    else:
        listening = bind(host, port)
    from anamnesis.pid_file import PidFile
    from anamnesis.web.guard import build_guard

    with listening:
        guard = build_guard(host, settings.token)
        pid_file = PidFile(settings.engram_db())
        address, port = listening.getsockname()[:2]
        with pid_file.held(address, port, settings.home):
            from anamnesis.daemon.serving import serve

            serve(listening, pid_file.database, guard, settings, announce, times)
