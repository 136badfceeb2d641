"""Antigravity."""

from __future__ import annotations

from tests.clients.host import Host
from tests.clients.schemas import fitting

HOST = Host(
    name="antigravity",
    read_back=fitting("antigravity"),
    lacks={"sessions": "its programs are in no package registry and want the vendor's login"},
)
