"""Kiro."""

from __future__ import annotations

from tests.clients.host import Host
from tests.clients.schemas import fitting

HOST = Host(
    name="kiro",
    read_back=fitting("kiro"),
    lacks={"sessions": "its programs are in no package registry and want the vendor's login"},
)
