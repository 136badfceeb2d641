"""Amp."""

from __future__ import annotations

from tests.clients.host import Host

HOST = Host(
    name="amp",
    variables=lambda _: {"AMP_SKIP_UPDATE_CHECK": "1"},
    read_back=lambda stage: stage.run(["amp", "mcp", "list"]).out,
    adds_context=False,
    lacks={"sessions": "it insists on its vendor's login, and its models run only there"},
)
