"""The session of an agent that an MCP message belongs to: what it uses and writes is recorded under this name."""

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
# Of clients that do not say in which session they are.
_PROCESS = os.urandom(4).hex()

_current: ContextVar[str] = ContextVar("session", default="")


def current() -> str:
    """The session of the message that is being answered."""
    return _current.get() or f"{_UNNAMED}/{_PROCESS}"


@contextlib.contextmanager
def speaking(session: str) -> Iterator[None]:
    """Answer messages of this session; of one that is not named, those of this process are one session."""
    token = _current.set(session)
    try:
        yield
    finally:
        _current.reset(token)


def new_session(client: str) -> str:
    """The name of a new session of a client, such as `claude-code/1a2b3c4d`."""
    return f"{client or _UNNAMED}/{os.urandom(4).hex()}"


def in_process(client: str) -> str:
    """The name of the session of a client that starts none."""
    return f"{client or _UNNAMED}/{_PROCESS}"


def known(text: str) -> str:
    """A name of a session as a client sends it back; "" if it is none of ours."""
    return text if _NAME.fullmatch(text) else ""


def client_of(message: object) -> str:
    """The name of the client in a request, harmless in any text; "" if it does not say."""
    params = message.get("params") if isinstance(message, dict) else None
    params = params if isinstance(params, dict) else {}
    meta = params.get("_meta")
    info = params.get("clientInfo") or (meta.get(_CLIENT_KEY) if isinstance(meta, dict) else None)
    name = info.get("name") if isinstance(info, dict) else None
    return _FOREIGN.sub("-", name[:_LONGEST_CLIENT]).strip("-") if isinstance(name, str) else ""


def is_start(message: object) -> bool:
    """Whether a message begins a session."""
    return isinstance(message, dict) and message.get("method") == "initialize"
