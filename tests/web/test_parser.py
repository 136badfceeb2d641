"""The parser finds the same requests however the bytes are split, and never two where there is one."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anamnesis.web.message import Request
from anamnesis.web.parser import MOST_HEAD, MOST_TRAILER, Malformed, Parser, TooLong

HEAD = b"POST /sessions HTTP/1.1\r\nHost: x\r\n"
CHUNKED = HEAD + b"Transfer-Encoding: chunked\r\n\r\n"


MOST = 1 << 20


class Reader:
    """The requests in bytes that come in pieces."""

    def __init__(self) -> None:
        self.parser = Parser()
        self.found: list[Request] = []
        self._request: Request | None = None

    def feed(self, data: bytes) -> None:
        self.parser.feed(data)
        while request := self._request or self.parser.head():
            self._request = request
            if self.parser.has_body:
                body = self.parser.body(MOST)
                if body is None:
                    return
                request.body = body
            self._request = None
            self.found.append(request)

    @property
    def is_between(self) -> bool:
        return self._request is None and not self.parser.size


def read(data: bytes) -> list[Request]:
    reader = Reader()
    reader.feed(data)
    return reader.found


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
    reader = Reader()
    for start, end in zip([0, *cuts], [*cuts, len(stream)], strict=True):
        reader.feed(stream[start:end])
    assert [request.body for request in reader.found] == expected
    assert reader.is_between


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
        (CHUNKED + b"0\r\n" + b"a: b\r\n" * (MOST_TRAILER // 5), 431),
        (CHUNKED + b"0\r\n" + b"a: b\r\n" * (MOST_TRAILER // 5) + b"\r\n", 431),
        (b"GET / HTTP/1.1\r\nHost: a\r\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\r\nHost: a\r\n\r\n", 400),
        (b"GET http://127.0.0.1:x@evil.example/ HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", 400),
    ],
    ids=range(28),
)
def test_an_ambiguous_request_is_refused(data: bytes, status: int) -> None:
    with pytest.raises(Malformed) as caught:
        read(data)
    assert caught.value.status == status


@pytest.mark.parametrize(
    "data",
    [
        HEAD + b"Content-Length: %d\r\n\r\n" % (MOST + 1),
        CHUNKED + b"%x\r\n" % (MOST + 1),
        CHUNKED + b"%x\r\n%b\r\n1\r\n" % (MOST, b"a" * MOST),
    ],
)
def test_a_body_that_is_too_long_is_not_waited_for(data: bytes) -> None:
    with pytest.raises(TooLong):
        read(data)


def test_trailers_of_8_kb_are_passed_over() -> None:
    trailers = b"a: b\r\n" * (MOST_TRAILER // 6)
    (request,) = read(CHUNKED + b"1\r\nx\r\n0\r\n" + trailers + b"\r\n")
    assert request.body == b"x"


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
    assert parser.head()
    assert parser.keeps_alive is kept
