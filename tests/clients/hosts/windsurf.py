"""Windsurf and Devin."""

from __future__ import annotations

from tests.clients.host import Host
from tests.clients.schemas import fitting

HOST = Host(
    name="windsurf",
    read_back=fitting("windsurf"),
    adds_context=False,
    lacks={"sessions": "its programs are in no package registry and want the vendor's login"},
)
