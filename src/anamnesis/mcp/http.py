"""MCP over streamable HTTP, without a web framework: the parts of a request go in, the reply comes out.

Serves protocol version 2026-07-28 and those with a handshake at one address. It is stateless: every reply is complete,
so there is no stream to open with GET and no session to end with DELETE. A handshake returns the name of its session,
which the client sends with each request.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from anamnesis.mcp import session
from anamnesis.mcp.dispatcher import (
    HANDSHAKE,
    INTERNAL,
    INVALID_PARAMS,
    INVALID_REQUEST,
    MODERN,
    NO_METHOD,
    NO_VERSION,
    PARSE_ERROR,
    McpServer,
    Message,
    Report,
    answer_safely,
    error_answer,
    modern_version,
)

HEADER_MISMATCH = -32020
_STATUS = {
    PARSE_ERROR: 400,
    INVALID_REQUEST: 400,
    INVALID_PARAMS: 400,
    HEADER_MISMATCH: 400,
    NO_VERSION: 400,
    NO_METHOD: 404,
    INTERNAL: 500,
}
_VERSION, _METHOD, _NAME = "mcp-protocol-version", "mcp-method", "mcp-name"
_SESSION = "mcp-session-id"
# The parameter that the header Mcp-Name repeats, by method.
_NAMED_BY = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}


@dataclass(frozen=True, slots=True)
class Reply:
    """The reply to an HTTP request."""

    status: int
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""


@dataclass(frozen=True, slots=True)
class ParsedRequest:
    """The message or batch of a request, the media type of its reply, and the session."""

    message: Any
    form: str
    session: str


def respond(server: McpServer, method: str, headers: Iterable[tuple[str, str]], body: bytes, report: Report) -> Reply:
    """The reply to a request at the server's address; unexpected errors are reported.

    It may block on the disk, so an event loop calls it in a thread. The caller checks Host and Origin first.
    """
    received = receive(method, headers, body)
    if isinstance(received, Reply):
        return received
    with session.speaking(received.session):
        return reply(received, answer_safely(server, received.message, report))


def receive(method: str, headers: Iterable[tuple[str, str]], body: bytes) -> ParsedRequest | Reply:
    """The parsed request, or the reply that refuses it."""
    if method != "POST":
        return Reply(405, {"allow": "POST"})
    pairs = [(name.lower(), value.strip()) for name, value in headers]
    given = dict(pairs)
    kind = given.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        return Reply(415)
    form = _form(given.get("accept", "*/*"))
    if form is None:
        return Reply(406)
    try:
        message = json.loads(body)
    except (ValueError, RecursionError):
        return _reply(error_answer(None, PARSE_ERROR, "The body is not JSON."), form, 400)
    if error := _header_error(message, pairs):
        return _reply(error, form, _STATUS[error["error"]["code"]])
    client = session.client_of(message)
    name = session.new_session(client) if session.is_start(message) else session.known(given.get(_SESSION, ""))
    return ParsedRequest(message, form, name or session.in_process(client))


def reply(received: ParsedRequest, answer: Message | list[Message] | None) -> Reply:
    """The reply that carries the answer to a request."""
    if answer is None:
        return Reply(202)
    whole = _reply(answer, received.form, _status(received.message, answer))
    if session.is_start(received.message) and isinstance(answer, dict) and "result" in answer:
        return replace(whole, headers={**whole.headers, _SESSION: received.session})
    return whole


def _status(message: Any, answer: Message | list[Message]) -> int:
    """The HTTP status. With a handshake, errors are sent with 200, except invalid requests and internal errors."""
    if not isinstance(answer, dict) or "error" not in answer:
        return 200
    code = answer["error"]["code"]
    is_mapped = modern_version(message) is not None or code in (INTERNAL, INVALID_REQUEST)
    return _STATUS.get(code, 200) if is_mapped else 200


def _form(accept: str) -> str | None:
    """The media type that the client accepts: JSON, or else one event of a stream; None for neither."""
    accepted = {part.partition(";")[0].strip().lower() for part in accept.split(",")}
    if accepted & {"application/json", "application/*", "*/*"}:
        return "application/json"
    return "text/event-stream" if accepted & {"text/event-stream", "text/*"} else None


def _reply(answer: Message | list[Message], form: str, status: int) -> Reply:
    data = json.dumps(answer, separators=(",", ":")).encode("ascii")
    if form == "application/json":
        return Reply(status, {"content-type": form}, data)
    headers = {"content-type": form, "cache-control": "no-cache", "x-accel-buffering": "no"}
    return Reply(status, headers, b"event: message\ndata: " + data + b"\n\n")


def _header_error(message: Any, pairs: list[tuple[str, str]]) -> Message | None:
    """The error that refuses a message because of its headers; None if they allow it."""
    given = dict(pairs)
    version = given.get(_VERSION)
    is_modern = version == MODERN or modern_version(message) is not None
    identity = message.get("id") if isinstance(message, dict) else None
    if version not in (None, MODERN, *HANDSHAKE) and not is_modern:
        supported = {"supported": [MODERN, *HANDSHAKE], "requested": version}
        return error_answer(identity, NO_VERSION, "Unsupported protocol version", supported)
    if not is_modern:
        return None
    if not isinstance(message, dict) or "method" not in message:
        return error_answer(None, INVALID_REQUEST, "The body is not one request or notification.")
    if "id" not in message:
        return None
    reason = _mismatch(message, pairs)
    return error_answer(identity, HEADER_MISMATCH, f"Header mismatch: {reason}.") if reason else None


def _mismatch(message: Message, pairs: list[tuple[str, str]]) -> str:
    """How the headers contradict the message; "" if they do not."""
    given = dict(pairs)
    for name in (_VERSION, _METHOD, _NAME):
        if sum(name == each for each, _ in pairs) > 1:
            return f"{name} occurs more than once"
    if given.get(_VERSION) != modern_version(message):
        return f"{_VERSION} is not the version in params._meta"
    if given.get(_METHOD) != message["method"]:
        return f"{_METHOD} is not the method of the body"
    params = message.get("params")
    named_by = _NAMED_BY.get(message["method"])
    expected = params.get(named_by) if named_by and isinstance(params, dict) else None
    if expected is not None and _decoded(given.get(_NAME)) != expected:
        return f"{_NAME} is not params.{named_by} of the body"
    return ""


def _decoded(value: str | None) -> str | None:
    """A header's value, decoded if it is base64 between `=?base64?` and `?=`, the form for non-ASCII text."""
    if value is None or not (value.startswith("=?base64?") and value.endswith("?=")):
        return value
    try:
        return base64.b64decode(value[9:-2], validate=True).decode("utf-8")
    except (binascii.Error, UnicodeDecodeError):
        return None
