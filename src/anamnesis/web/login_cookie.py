"""The login of a browser to a daemon with a token: a cookie that proves knowledge of the token and expires."""

from __future__ import annotations

import hmac
import time
from http.cookies import CookieError, SimpleCookie

COOKIE = "anamnesis"
SECONDS = 30 * 86_400


def signed(token: str, until: int) -> str:
    """The value of a cookie that expires at `until`."""
    proof = hmac.new(token.encode(), f"dashboard {until}".encode(), "sha256").hexdigest()
    return f"{until}.{proof}"


def is_valid(token: str, header: str) -> bool:
    """Whether a request has a cookie that was signed with this token and has not expired."""
    try:
        found = SimpleCookie(header).get(COOKIE)
    except CookieError:
        return False
    value = found.value if found else ""
    until = value.partition(".")[0]
    if not until.isascii() or not until.isdigit() or len(until) > len("9999999999"):
        return False
    return hmac.compare_digest(value.encode(), signed(token, int(until)).encode()) and time.time() < int(until)
