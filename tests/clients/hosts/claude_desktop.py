"""Claude Desktop."""

from __future__ import annotations

from tests.clients.host import Host
from tests.clients.schemas import fitting

HOST = Host(
    name="claude-desktop",
    read_back=fitting("claude-desktop"),
    lacks={"sessions": "an application with a window, in no package registry"},
)
