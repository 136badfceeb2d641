"""Requests are routed as by Go's ServeMux, whose answers are in `golden/mux.jsonl`."""

from __future__ import annotations

import ast
import json
from pathlib import Path
from typing import Any

import pytest

from anamnesis.web import engram_read_routes, engram_write_routes, plugin_routes
from anamnesis.web.engram_request import EngramRequest
from anamnesis.web.message import Request, Response
from anamnesis.web.parser import Malformed, Parser
from anamnesis.web.route import Route
from anamnesis.web.router import Router

GO = [json.loads(line) for line in (Path(__file__).parent / "golden/mux.jsonl").read_bytes().splitlines()]
ENGRAM = (*engram_read_routes.ROUTES, *engram_write_routes.ROUTES)
ROUTER = Router(ENGRAM)


def parse(line: bytes) -> Request:
    parser = Parser()
    parser.feed(line + b" HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
    request = parser.head()
    assert request
    return request


@pytest.mark.parametrize("line", GO, ids=lambda line: line["line"])
def test_a_request_goes_where_go_lets_it_go(line: dict[str, Any]) -> None:
    try:
        request = parse(ast.literal_eval("b" + line["line"]))
    except Malformed as error:
        assert error.status == 400
        assert line.get("malformed")
        return
    assert not line.get("malformed")
    found = ROUTER.find(request)
    if isinstance(found, Response):
        headers = {name.lower(): value for name, value in found.headers}
        assert found.status == line["status"]
        assert found.body == line["reply"].encode() or request.method == "HEAD"
        assert found.type == line["content-type"]
        assert headers.get("allow", "") == line["allow"]
        assert headers.get("location", "") == line["location"]
    else:
        assert f"{found.method} {found.path}" == line["pattern"]
        assert encoded(request.parts.get("id", "")) == line["id"]
        given = EngramRequest(request)
        assert encoded(given.text("q")) == line["q"]
        assert given.integer("limit", -1) == line.get("limit", -1)
        assert given.flag("hard") == line.get("hard", False)


def encoded(text: str) -> str:
    return text.encode("utf-8", "surrogateescape").hex()


@pytest.mark.parametrize(
    ("line", "answered"),
    [
        (b"GET /sessions/x", "get_session"),
        (b"HEAD /sessions/x", "get_session"),
        (b"DELETE /sessions/x", "delete_session"),
        (b"GET /sessions/recent", "recent_sessions"),
        (b"GET /observations", "list_observations"),
        (b"GET /observations/recent", "recent_observations"),
        (b"GET /context/smart", "context_smart"),
        (b"POST /sessions/recent", "GET, HEAD"),
        (b"DELETE /sessions/recent", "GET, HEAD"),
        (b"DELETE /prompts/search", "GET, HEAD"),
        (b"PUT /observations", "POST"),
        (b"PUT /sessions/x", "DELETE, GET, HEAD"),
        (b"POST /context/smart", "GET, HEAD"),
    ],
)
def test_added_routes_change_no_answer_that_engram_gives(line: bytes, answered: str) -> None:
    found = Router(ENGRAM, plugin_routes.routes(Path())).find(parse(line))
    if isinstance(found, Route):
        assert found.call.__name__ == answered
    else:
        assert (found.status, dict(found.headers)["Allow"]) == (405, answered)
