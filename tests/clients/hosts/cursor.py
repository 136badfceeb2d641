"""Cursor."""

from __future__ import annotations

from tests.clients.host import Host
from tests.clients.schemas import fitting

HOST = Host(
    name="cursor",
    read_back=fitting("cursor"),
    lacks={"sessions": "its programs are in no package registry and want the vendor's login"},
)
