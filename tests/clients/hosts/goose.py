"""Goose."""

from __future__ import annotations

from tests.clients.host import Host
from tests.clients.schemas import fitting

HOST = Host(
    name="goose",
    read_back=fitting("goose"),
    adds_context=False,
    lacks={"sessions": "its program is in no package registry"},
)
