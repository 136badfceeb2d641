"""The time of a request is proportional to its size: four times as much takes about four times as long."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from tests.growth import superlinear
from tests.web.test_parser import CHUNKED, HEAD, Reader

from anamnesis.web import engram_read_routes, engram_write_routes
from anamnesis.web.engram_request import parse_query
from anamnesis.web.message import Request
from anamnesis.web.parser import Malformed, TooLong
from anamnesis.web.router import Router, escaped_path

ROUTER = Router((*engram_read_routes.ROUTES, *engram_write_routes.ROUTES))
GET = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"


def fed(data: bytes, piece: int) -> None:
    reader = Reader()
    try:
        for start in range(0, len(data), piece):
            reader.feed(data[start : start + piece])
    except (Malformed, TooLong):
        pass


def fill(unit: bytes, size: int) -> bytes:
    return unit * (size // len(unit))


WORK: dict[str, Callable[[int], object]] = {
    "header lines": lambda size: fed(HEAD + fill(b"a: b\r\n", size - 100) + b"\r\n", 50),
    "a head without an end": lambda size: fed(fill(b"\r", size - 100), 10),
    "empty lines with CR": lambda size: fed(b"GET / HTTP/1.1\r\n" + fill(b"\r\r", size - 100), 50),
    "hosts": lambda size: fed(b"GET / HTTP/1.1\r\n" + fill(b"Host: a\r\n", size - 100) + b"\r\n", 1000),
    "lengths": lambda size: fed(HEAD + fill(b"Content-Length: 1\r\n", size - 100) + b"\r\n", 1000),
    "wishes": lambda size: fed(HEAD + b"Connection: " + fill(b"a,", size - 100) + b"\r\n\r\n", 1000),
    "a long target": lambda size: fed(
        b"GET /" + fill(b"%2e%2F\xff", size - 100) + b" HTTP/1.1\r\nHost: x\r\n\r\n", 1000
    ),
    "blanks in the first line": lambda size: fed(fill(b" ", size) + b"\r\n\r\n", 1000),
    "a body in small pieces": lambda size: fed(HEAD + b"Content-Length: %d\r\n\r\n" % size + b"x" * size, 20),
    "chunks of a byte": lambda size: fed(CHUNKED + fill(b"1\r\nx\r\n", size), 1000),
    "chunks of a byte at once": lambda size: fed(CHUNKED + fill(b"1\r\nx\r\n", size), size * 2),
    "a chunk in small pieces": lambda size: fed(CHUNKED + b"%x\r\n" % size + b"x" * size, 20),
    "extensions": lambda size: fed(CHUNKED + fill(b"400;" + b"a" * 2000 + b"\r\n" + b"x" * 1024 + b"\r\n", size), 100),
    "requests in a row": lambda size: fed(fill(GET, size), size),
    "segments": lambda size: ROUTER.find(Request("GET", "/a" * (size // 2))),
    "dots in a path": lambda size: ROUTER.find(Request("GET", "/../a/." * (size // 7))),
    "slashes": lambda size: ROUTER.find(Request("GET", "/" * size)),
    "escapes": lambda size: escaped_path("/%ff " * (size // 5)),
    "a query": lambda size: parse_query("a=%20;&" * (size // 7)),
    "a query of one": lambda size: parse_query("a=" + "%zz+" * (size // 4)),
}


@pytest.mark.parametrize("work", WORK.values(), ids=WORK)
def test_time_grows_linearly_with_the_size_of_a_request(work: Callable[[int], object]) -> None:
    assert not superlinear(work, lambda size: size)
