"""The agent's session of an MCP message: uses of notes and writes are recorded under its name."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterator
from contextvars import ContextVar

_CLIENT_KEY = "io.modelcontextprotocol/clientInfo"
_FOREIGN = re.compile(r"[^A-Za-z0-9._]++")
_NAME = re.compile(r"[A-Za-z0-9._-]{1,40}/[0-9a-f]{8}")
_LONGEST_CLIENT = 40
_UNNAMED = "mcp"
# The session of clients that name none.
_PROCESS = os.urandom(4).hex()

_current: ContextVar[str] = ContextVar("session", default="")


def current() -> str:
    """The session of the message that is being answered."""
    return _current.get() or f"{_UNNAMED}/{_PROCESS}"


def agent() -> str:
    """The name of the client whose message is being answered."""
    return current().rpartition("/")[0]


@contextlib.contextmanager
def speaking(session: str) -> Iterator[None]:
    """Answer messages of this session; messages without a session belong to that of this process."""
    token = _current.set(session)
    try:
        yield
    finally:
        _current.reset(token)


def new_session(client: str) -> str:
    """The name of a new session of a client, such as `claude-code/1a2b3c4d`."""
    return f"{client or _UNNAMED}/{os.urandom(4).hex()}"


def in_process(client: str) -> str:
    """The name of the process-wide session of a client."""
    return f"{client or _UNNAMED}/{_PROCESS}"


def known(text: str) -> str:
    """The session name that a client sent; "" if it does not have our form."""
    return text if _NAME.fullmatch(text) else ""


def client_of(message: object) -> str:
    """The name of the client in a request, reduced to safe characters; "" if there is none."""
    params = message.get("params") if isinstance(message, dict) else None
    params = params if isinstance(params, dict) else {}
    meta = params.get("_meta")
    info = params.get("clientInfo") or (meta.get(_CLIENT_KEY) if isinstance(meta, dict) else None)
    name = info.get("name") if isinstance(info, dict) else None
    return _FOREIGN.sub("-", name[:_LONGEST_CLIENT]).strip("-") if isinstance(name, str) else ""


def is_start(message: object) -> bool:
    """Whether a message starts a session."""
    return isinstance(message, dict) and message.get("method") == "initialize"
