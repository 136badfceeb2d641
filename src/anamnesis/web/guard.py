"""Decides who may send requests: programs of this machine, with the token if one is set; never other sites' pages.

Uses only the head of a request, before a byte of its body is read.
"""

from __future__ import annotations

import functools
import hmac
import ipaddress
import re
from collections.abc import Callable
from urllib.parse import quote

from anamnesis.config import setting
from anamnesis.errors import InvalidArgument
from anamnesis.web.login_cookie import is_valid
from anamnesis.web.message import Request, Response, failure

Guard = Callable[[Request], Response | None]
# The path of the dashboard's pages.
PAGES = "/ui"
LOGIN = f"{PAGES}/login"
# The paths that the login page needs.
_OPEN = (LOGIN, f"{PAGES}/static/style.css", f"{PAGES}/static/icon.svg", f"{PAGES}/static/page.js")

_HOST = re.compile(r"(\[[^\[\]]*\]|[^\[\]:]*)(?::[0-9]*)?")
# Engram's plugins check here, without a token, whether they have to start a daemon. The answer is always the same.
_HEALTH = "/health"
UNAUTHORIZED = "a bearer token is required: send the daemon's ANAMNESIS_TOKEN as `Authorization: Bearer ...`"
_CHALLENGE = (("WWW-Authenticate", 'Bearer realm="anamnesis"'),)


@functools.lru_cache(maxsize=64)
def is_loopback(host: str) -> bool:
    """Whether a name or an address is this machine's own, whatever a name server says."""
    name = host.strip("[]").lower()
    if name == "localhost":
        return True
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return False


def build_guard(host: str, token: str) -> Guard:
    """A guard for a daemon that is bound to `host`. If a token is set, it is required, also on loopback."""
    is_local = is_loopback(host)
    if not token and not is_local:
        raise InvalidArgument(
            f"The daemon cannot be reached from other machines at {host} without a token.",
            "Set ANAMNESIS_TOKEN to a long random text, or leave --host out.",
        )
    if token:
        setting("token").check(token)
    expected = f"Bearer {token}".encode()

    def check(request: Request) -> Response | None:
        if is_local and (refused := _refuse_other_hosts(request)):
            return refused
        if token and not (is_local and request.path == _HEALTH):
            given = (request.headers.get("authorization") or "").encode("latin-1")
            if not hmac.compare_digest(given, expected) and (refused := _refuse_visitor(request, token)):
                return refused
        return _refuse_pages(request)

    return check


def _refuse_visitor(request: Request, token: str) -> Response | None:
    """Refuse a request without the token, unless a logged-in browser requests a page; other browsers may log in."""
    if is_page(request):
        if request.path in _OPEN or is_valid(token, request.headers.get("cookie") or ""):
            return None
        if request.method == "GET" and "text/html" in (request.headers.get("accept") or ""):
            page = quote(f"{request.path}?{request.query}".rstrip("?"), safe="/")
            return Response(303, type="", headers=(("Location", f"{LOGIN}?to={page}"),))
    return failure(401, UNAUTHORIZED, *_CHALLENGE)


def _refuse_other_hosts(request: Request) -> Response | None:
    """Refuse DNS rebinding: a page whose name points at this machine sends its own name as the host."""
    host = request.headers.get("host")
    if not host or _is_own(host):
        return None
    return failure(403, f"requests for the host {host!r} are refused: this daemon serves its own machine only")


@functools.lru_cache(maxsize=64)
def _is_own(host: str) -> bool:
    """Whether a `Host` header, with a port or without, names this machine."""
    parts = _HOST.fullmatch(host)
    return parts is not None and is_loopback(parts[1])


def _refuse_pages(request: Request) -> Response | None:
    """Refuse requests that a browser sends for a page of another origin, whether to read, write, frame or embed.

    A link from another site may open a page of the dashboard, as that site cannot read it.
    """
    origin = request.headers.get("origin")
    if origin is not None:
        host = (request.headers.get("host") or "").lower()
        if origin.lower() not in (f"http://{host}", f"https://{host}"):
            return failure(403, f"requests from pages of {origin!r} are refused")
    if request.headers.get("sec-fetch-site") in (None, "same-origin", "none") or _opens_page(request):
        return None
    return failure(403, "requests from pages of other sites are refused")


def _opens_page(request: Request) -> bool:
    """Whether a browser navigates to a page of the dashboard."""
    navigates = (
        request.headers.get("sec-fetch-mode") == "navigate" and request.headers.get("sec-fetch-dest") == "document"
    )
    return request.method == "GET" and navigates and is_page(request)


def is_page(request: Request) -> bool:
    """Whether a path belongs to the dashboard, or is the root, which redirects browsers to it."""
    return request.path in ("/", PAGES) or request.path.startswith(f"{PAGES}/")
