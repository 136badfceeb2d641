"""VS Code with Copilot."""

from __future__ import annotations

from tests.clients.host import Host
from tests.clients.schemas import fitting

HOST = Host(
    name="vscode",
    read_back=fitting("vscode"),
    lacks={"sessions": "an editor with a window, in no package registry"},
)
