"""Crush, whose npm package downloads its program from another place."""

from __future__ import annotations

from tests.clients.host import Host
from tests.clients.schemas import fitting

HOST = Host(
    name="crush",
    read_back=fitting("crush"),
    adds_context=False,
    lacks={"sessions": "its program is in no package registry"},
)
