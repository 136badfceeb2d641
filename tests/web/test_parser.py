"""Bytes become requests: however they are cut into pieces, and never two requests where there is one."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anamnesis.web.message import Request
from anamnesis.web.parser import MOST_BODY, MOST_HEAD, Malformed, Parser

HEAD = b"POST /sessions HTTP/1.1\r\nHost: x\r\n"
CHUNKED = HEAD + b"Transfer-Encoding: chunked\r\n\r\n"


def read(data: bytes) -> list[Request]:
    parser = Parser()
    parser.feed(data)
    return rest(parser)


def rest(parser: Parser) -> list[Request]:
    found = []
    while request := parser.next():
        found.append(request)
    return found


bodies = st.binary(max_size=40)
plain = bodies.map(lambda body: HEAD + b"Content-Length: %d\r\n\r\n%b" % (len(body), body))
chunked = st.lists(bodies.filter(bool), max_size=4).map(
    lambda parts: CHUNKED + b"".join(b"%x;a=b\r\n%b\r\n" % (len(part), part) for part in parts) + b"0\r\nT: v\r\n\r\n"
)


@given(st.lists(plain | chunked, max_size=4), st.data())
def test_requests_are_the_same_however_their_bytes_are_cut(messages: list[bytes], data: st.DataObject) -> None:
    stream = b"".join(messages)
    expected = [body for message in messages for body in [read(message)[0].body]]
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=6)))
    parser = Parser()
    found: list[Request] = []
    for start, end in zip([0, *cuts], [*cuts, len(stream)], strict=True):
        parser.feed(stream[start:end])
        found += rest(parser)
    assert [request.body for request in found] == expected
    assert parser.is_between


@given(st.binary(max_size=200))
def test_any_bytes_are_a_request_are_malformed_or_wait_for_more(data: bytes) -> None:
    try:
        for request in read(data + b"\r\n\r\n"):
            assert request.path.startswith("/") or request.path == "*"
    except Malformed as error:
        assert 400 <= error.status < 600


@pytest.mark.parametrize(
    ("data", "status"),
    [
        (b"GET / HTTP/1.1\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nHost: a b\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nHost : a\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nHost: a\r\nX: a\r\n b\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nHost: a\r\nX: \x00\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nHost: a\r\nno colon\r\n\r\n", 400),
        (b"GET  / HTTP/1.1\r\nHost: a\r\n\r\n", 400),
        (b"GET /\x7f HTTP/1.1\r\nHost: a\r\n\r\n", 400),
        (b"GET /% HTTP/1.1\r\nHost: a\r\n\r\n", 400),
        (b"GET / HTTP/3.0\r\nHost: a\r\n\r\n", 505),
        (b"GET /\r\n\r\n", 400),
        (HEAD + b"Content-Length: 1\r\nContent-Length: 2\r\n\r\n", 400),
        (HEAD + b"Content-Length: +1\r\n\r\n", 400),
        (HEAD + b"Content-Length: 1, 1\r\n\r\n", 400),
        (HEAD + b"Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n", 400),
        (HEAD + b"Transfer-Encoding: gzip, chunked\r\n\r\n", 501),
        (HEAD + b"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n", 501),
        (CHUNKED + b"g\r\n", 400),
        (CHUNKED + b"-1\r\n", 400),
        (CHUNKED + b"1\r\nabc", 400),
        (CHUNKED + b"1" * 5000, 400),
        (b"GET /" + b"a" * MOST_HEAD, 431),
        (CHUNKED + b"0\r\n" + b"a: b\r\n" * (MOST_HEAD // 5), 431),
    ],
    ids=range(24),
)
def test_what_two_readers_could_read_in_two_ways_is_refused(data: bytes, status: int) -> None:
    with pytest.raises(Malformed) as caught:
        read(data)
    assert caught.value.status == status


@pytest.mark.parametrize(
    "data", [HEAD + b"Content-Length: %d\r\n\r\n" % (MOST_BODY + 1), CHUNKED + b"%x\r\n" % (MOST_BODY + 1)]
)
def test_a_body_that_is_too_long_is_not_waited_for(data: bytes) -> None:
    parser = Parser()
    parser.feed(data)
    request = parser.next()
    assert request
    assert request.is_cut
    assert not parser.keeps_alive


def test_an_address_with_its_host_goes_before_the_header() -> None:
    (request,) = read(b"GET http://evil.example/health?q=1 HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
    assert (request.headers.get("host"), request.path, request.query) == ("evil.example", "/health", "q=1")


@pytest.mark.parametrize(
    ("head", "kept"),
    [
        (b"GET / HTTP/1.1\r\nHost: x", True),
        (b"GET / HTTP/1.1\r\nHost: x\r\nConnection: Close", False),
        (b"GET / HTTP/1.0", False),
        (b"GET / HTTP/1.0\r\nConnection: keep-alive", False),
    ],
)
def test_whether_another_request_may_follow(head: bytes, kept: bool) -> None:
    parser = Parser()
    parser.feed(head + b"\r\n\r\n")
    assert parser.next()
    assert parser.keeps_alive is kept
