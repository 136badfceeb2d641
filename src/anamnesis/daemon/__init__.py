"""The daemon: one process that serves the memory over HTTP, started, found and stopped through files beside engram.db.

Binding comes before anything heavy is imported: plugins start the daemon and expect it half a second later.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from anamnesis.daemon.port import bind

if TYPE_CHECKING:
    from anamnesis.daemon.pid_file import Place

DEFAULT_PORT = 7437
LOOPBACK = "127.0.0.1"


def find_place() -> Place:
    """Where this memory's daemon leaves its traces: the folder of engram.db."""
    from anamnesis.config import resolve_home
    from anamnesis.daemon.pid_file import Place
    from anamnesis.engram.database import resolve_engram_db

    return Place(resolve_engram_db(os.environ, Path.home(), resolve_home()))


def run(port: int = DEFAULT_PORT, host: str = LOOPBACK, announce: Callable[[str], None] | None = None) -> None:
    """Serve until told to stop. `announce` is told once, when requests are answered, where."""
    listening = bind(host, port)
    from anamnesis.config import resolve_home, resolve_token
    from anamnesis.web.guard import build_guard

    with listening:
        guard = build_guard(host, resolve_token())
        place = find_place()
        with place.held(host, listening.getsockname()[1]):
            from anamnesis.daemon.serving import serve

            serve(listening, place.database, guard, resolve_home(), announce)
