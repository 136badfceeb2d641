"""The daemon's application under another ASGI server, in a single process: `uvicorn anamnesis.daemon.asgi:app`.

The guard is that of a daemon on loopback: requests need a loopback host, and the token if one is set.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from contextlib import contextmanager

from anamnesis.config import resolve_settings
from anamnesis.daemon import LOOPBACK
from anamnesis.daemon.serving import log_error, opened_app
from anamnesis.pid_file import PidFile
from anamnesis.web.app import App
from anamnesis.web.asgi_adapter import AsgiApp
from anamnesis.web.guard import build_guard


@contextmanager
def _opened() -> Iterator[App]:
    settings = resolve_settings()
    settings.demand_config()
    pid_file = PidFile(settings.engram_db())
    guard = build_guard(LOOPBACK, settings.token)
    report = functools.partial(log_error, settings.home)
    # Only the server knows its port and its connections.
    held = pid_file.held(LOOPBACK, 0, settings.home)
    with held, opened_app(pid_file.database, settings, guard, report, lambda: 0) as opened:
        yield opened


app = AsgiApp(_opened)
