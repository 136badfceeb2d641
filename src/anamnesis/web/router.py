"""Finds the route of a request as Go's ServeMux does: patterns, redirects, 404 and 405 with `Allow`."""

from __future__ import annotations

import html
import posixpath
import re
from collections.abc import Iterable, Sequence
from typing import Generic, Protocol, TypeVar
from urllib.parse import quote, unquote_to_bytes

from anamnesis.web.message import TEXT, Request, Response, unescape

# The characters that Go does not escape in a path, and those that it accepts from a client unescaped.
_PLAIN = "$&+,/:;=@"
_ACCEPTED = re.compile(r"[A-Za-z0-9\-_.~$&+,/:;=@!'()*\[\]%]*")
_UNESCAPED = re.compile(r"[A-Za-z0-9\-_.~$&+,/:;=@!'()*\[\]]*")
_BAD_ESCAPE = re.compile(r"%(?![0-9A-Fa-f]{2})")


class Pattern(Protocol):
    """The part of a route that a router uses: its method and its path, in which `{name}` matches one segment."""

    @property
    def method(self) -> str: ...
    @property
    def path(self) -> str: ...


R = TypeVar("R", bound=Pattern)


class _Node(Generic[R]):
    __slots__ = ("literals", "names", "route", "wildcard")

    def __init__(self) -> None:
        self.literals: dict[str, _Node[R]] = {}
        self.wildcard: _Node[R] | None = None
        self.route: R | None = None
        self.names: list[str] = []


class Router(Generic[R]):
    """Finds routes. Those of `added` do not change any answer of `routes`, errors included.

    A client of the dialect gets the same 404, 405 and `Allow`, whatever is added.
    """

    def __init__(self, routes: Sequence[R], added: Sequence[R] = ()) -> None:
        self._first = _trees(routes)
        self._added = _trees(added)
        # Most requests are found here, without walking a tree.
        self._literal = {(each.method, each.path): each for each in (*added, *routes) if "{" not in each.path}

    def find(self, request: Request) -> R | Response:
        """The route of a request, whose parts are set; or the answer if there is none."""
        if literal := self._literal.get((request.method, request.path)):
            return literal
        if request.path == "*":
            return Response(200 if request.method == "OPTIONS" else 400, type="")
        path = request.path if request.method == "CONNECT" else clean(request.path)
        if path != request.path:
            return _redirect(request, path)
        segments = _segments(path)
        if route := _match(self._first, request, segments):
            return route
        allowed = _allowed(self._first, segments)
        route = _match(self._added, request, segments)
        # A path of the first routes does not match a wildcard of the added ones.
        if route and not (allowed and request.parts):
            return route
        if allowed := allowed or _allowed(self._added, segments):
            return Response(405, b"Method Not Allowed\n", TEXT, (("Allow", ", ".join(allowed)),))
        return Response(404, b"404 page not found\n", TEXT)


def _trees(routes: Iterable[R]) -> dict[str, _Node[R]]:
    trees: dict[str, _Node[R]] = {}
    for route in routes:
        node = trees.setdefault(route.method, _Node())
        names = []
        for segment in route.path[1:].split("/"):
            if segment.startswith("{"):
                names.append(segment[1:-1])
                node.wildcard = node.wildcard or _Node()
                node = node.wildcard
            else:
                node = node.literals.setdefault(segment, _Node())
        node.route, node.names = route, names
    return trees


def _segments(path: str) -> list[str]:
    """The unescaped segments; a slash at the end is a segment that no wildcard matches."""
    segments = [unescape(each) for each in path[1:].split("/")]
    if segments[-1] == "":
        segments[-1] = "/"
    return segments


def _match(trees: dict[str, _Node[R]], request: Request, segments: list[str]) -> R | None:
    methods = ("HEAD", "GET") if request.method == "HEAD" else (request.method,)
    for method in methods:
        tree = trees.get(method)
        found = _walk(tree, segments, 0, []) if tree else None
        if found and found[0].route:
            request.parts = dict(zip(found[0].names, found[1], strict=True))
            return found[0].route
    return None


def _walk(node: _Node[R], segments: list[str], at: int, matched: list[str]) -> tuple[_Node[R], list[str]] | None:
    """The node at the end of the segments; a literal has precedence over a wildcard."""
    if at == len(segments):
        return (node, matched) if node.route else None
    segment = segments[at]
    literal = node.literals.get(segment)
    found = _walk(literal, segments, at + 1, matched) if literal else None
    if found is None and node.wildcard and segment != "/":
        return _walk(node.wildcard, segments, at + 1, [*matched, segment])
    return found


def _allowed(trees: dict[str, _Node[R]], segments: list[str]) -> list[str]:
    methods = {method for method, tree in trees.items() if _walk(tree, segments, 0, [])}
    return sorted(methods | {"HEAD"} if "GET" in methods else methods)


def clean(path: str) -> str:
    """The path without empty and dot segments; a slash at its end stays."""
    if "//" not in path and "/." not in path and path.startswith("/"):
        return path
    cleaned = posixpath.normpath("/" + path.lstrip("/"))
    return cleaned + "/" if path.endswith("/") and cleaned != "/" else cleaned


def escaped_path(raw: str) -> str | None:
    """The path of a URL in the form that routes are matched against; None if it is malformed."""
    if _UNESCAPED.fullmatch(raw):
        return raw
    if _BAD_ESCAPE.search(raw):
        return None
    if _ACCEPTED.fullmatch(raw):
        return raw
    return quote(unquote_to_bytes(raw.encode("latin-1")), safe=_PLAIN)


def _redirect(request: Request, path: str) -> Response:
    # Go escapes what is already escaped, so that a `%20` in a doubled path comes back as `%2520`.
    place = quote(path, safe=_PLAIN) + (f"?{request.query}" if request.query else "")
    location = "".join(each if each.isascii() else f"%{ord(each):x}" for each in place)
    headers = (("Location", location),)
    if request.method not in ("GET", "HEAD"):
        return Response(307, b"", "", headers)
    page = f'<a href="{_html(place)}">Temporary Redirect</a>.\n\n'
    return Response(307, page.encode("latin-1"), "text/html; charset=utf-8", headers)


def _html(text: str) -> str:
    return html.escape(text).replace("&quot;", "&#34;").replace("&#x27;", "&#39;")
