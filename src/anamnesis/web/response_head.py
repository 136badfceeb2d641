"""The heads of responses, as bytes."""

from __future__ import annotations

import functools
import time
from http import HTTPStatus

from anamnesis.web.message import SAFETY, TEXT, Response
from anamnesis.web.parser import Malformed

REASONS = {status.value: status.phrase for status in HTTPStatus}
_SAFETY = "".join(f"{name}: {value}\r\n" for name, value in SAFETY)


def head_of(response: Response, framing: str, keeps_alive: bool) -> bytes:
    """The head of a response, with a line about the framing of its body."""
    start = _start_of_head(response.status, response.type, response.headers)
    end = "" if keeps_alive else "Connection: close\r\n"
    return f"{start}{date_line()}{framing}{end}\r\n".encode("latin-1")


@functools.lru_cache(maxsize=64)
def _start_of_head(status: int, type: str, headers: tuple[tuple[str, str], ...]) -> str:
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers)
    type_line = f"Content-Type: {type}\r\n" if type else ""
    return f"HTTP/1.1 {status} {REASONS[status]}\r\n{type_line}{lines}{_SAFETY}"


def date_line() -> str:
    return _date_line(int(time.time()))


@functools.lru_cache(maxsize=1)
def _date_line(second: int) -> str:
    return time.strftime("Date: %a, %d %b %Y %H:%M:%S GMT\r\n", time.gmtime(second))


def refusal_of(error: Malformed) -> Response:
    """The answer to a malformed request, in Go's form."""
    reason = f"{error.status} {REASONS[error.status]}" + (f": {error.reason}" if error.reason else "")
    return Response(error.status, reason.encode(), TEXT)
