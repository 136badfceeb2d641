"""The daemon's application under another ASGI server, one process of it: `uvicorn anamnesis.daemon.asgi:app`.

The guard is that of a daemon on loopback: requests need a loopback host, and the token if one is set.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from contextlib import contextmanager

from anamnesis.config import resolve_home, resolve_token
from anamnesis.daemon import LOOPBACK, find_place
from anamnesis.daemon.serving import log_error, opened_app
from anamnesis.engram import database
from anamnesis.web.app import App
from anamnesis.web.asgi import AsgiApp
from anamnesis.web.guard import build_guard


@contextmanager
def _opened() -> Iterator[App]:
    home, place = resolve_home(), find_place()
    guard = build_guard(LOOPBACK, resolve_token())
    # Only the server knows its port and its connections.
    with place.held(LOOPBACK, 0):
        database.prepare(place.database)
        with opened_app(place.database, home, guard, functools.partial(log_error, home), lambda: 0) as opened:
            yield opened


app = AsgiApp(_opened)
