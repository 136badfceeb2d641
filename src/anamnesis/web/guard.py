"""Who may speak to the daemon: programs of this machine, or whoever has the token; never a web page of another site."""

from __future__ import annotations

import functools
import hmac
import ipaddress
from collections.abc import Callable

from anamnesis.errors import InvalidArgument
from anamnesis.web.message import Request, Response, failure

Guard = Callable[[Request], Response | None]

_LEAST_TOKEN = 16


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
    """What refuses requests to a daemon that is bound to `host`. Beyond loopback it needs a token."""
    if is_loopback(host):
        return _guard_loopback
    if not token:
        raise InvalidArgument(
            f"The daemon cannot be reached from other machines at {host} without a token.",
            "Set ANAMNESIS_TOKEN to a long random text, or leave --host out.",
        )
    if len(token) < _LEAST_TOKEN or not token.isascii() or not token.isprintable() or " " in token:
        raise InvalidArgument(
            "The token in ANAMNESIS_TOKEN cannot be used.",
            f"It needs at least {_LEAST_TOKEN} letters, digits or signs, and no blanks.",
        )
    wanted = f"Bearer {token}".encode()

    def check(request: Request) -> Response | None:
        given = (request.headers.get("authorization") or "").encode("latin-1")
        if not hmac.compare_digest(given, wanted):
            return Response(401, failure(401, "a bearer token is required").body, headers=_CHALLENGE)
        return _refuse_pages(request)

    return check


_CHALLENGE = (("WWW-Authenticate", 'Bearer realm="anamnesis"'),)


def _guard_loopback(request: Request) -> Response | None:
    host = request.headers.get("host")
    # A page whose name was made to point at this machine sends its own name here.
    if host and not is_loopback(_name(host)):
        return failure(403, f"requests for the host {host!r} are refused: this daemon serves its own machine only")
    return _refuse_pages(request)


def _refuse_pages(request: Request) -> Response | None:
    """Refuse what a browser sends on behalf of a page of another origin."""
    origin = request.headers.get("origin")
    host = (request.headers.get("host") or "").lower()
    if origin is not None and origin.lower() not in (f"http://{host}", f"https://{host}"):
        return failure(403, f"requests from pages of {origin!r} are refused")
    site = request.headers.get("sec-fetch-site")
    if site in (None, "same-origin", "none"):
        return None
    # Following a link is no reading and no writing by the page that has the link.
    if request.method == "GET" and request.headers.get("sec-fetch-mode") == "navigate":
        return None
    return failure(403, "requests from pages of other sites are refused")


def _name(host: str) -> str:
    """The host without its port."""
    if host.startswith("["):
        return host.partition("]")[0]
    return host.partition(":")[0]
