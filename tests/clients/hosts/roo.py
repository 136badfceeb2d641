"""Roo Code."""

from __future__ import annotations

from tests.clients.host import Host
from tests.clients.schemas import fitting

HOST = Host(
    name="roo",
    read_back=fitting("roo"),
    adds_context=False,
    lacks={"sessions": "an extension that runs in VS Code"},
)
