"""Zed."""

from __future__ import annotations

from tests.clients.host import Host
from tests.clients.schemas import fitting

HOST = Host(
    name="zed",
    read_back=fitting("zed"),
    adds_context=False,
    lacks={"sessions": "an editor with a window, in no package registry"},
)
