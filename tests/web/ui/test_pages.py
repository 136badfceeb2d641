"""The pages without a browser: each has its data as JSON, is guarded, and answers bad input with a sentence."""

from __future__ import annotations

import contextlib
import http.client
import json
import re
import sys
from pathlib import Path
from urllib.parse import urlencode

import pytest
from tests.waiting import wait_until
from tests.web.daemon import Daemon, running
from tests.web.ui.conftest import Lived

PAGES = (
    *("/ui/", "/ui/notes", "/ui/notes?q=deploy", "/ui/notes/new", "/ui/timeline", "/ui/projects", "/ui/fleet"),
    *("/ui/review", "/ui/told", "/ui/graph", "/ui/dreams", "/ui/trash", "/ui/settings", "/ui/health"),
)
HTML = "text/html,application/xhtml+xml"


@pytest.mark.parametrize("path", PAGES)
def test_every_page_is_html_for_browsers_and_its_data_as_json_for_programs(lived: Lived, path: str) -> None:
    daemon = lived.daemon
    page = daemon.ask("GET", path, Accept=HTML)
    assert (page.status, page.headers["content-type"]) == (200, "text/html; charset=utf-8")
    data = daemon.ask("GET", path, Accept="application/json")
    assert data.headers["content-type"] == "application/json"
    assert isinstance(json.loads(data.text), dict)


def test_pages_forbid_every_script_and_frame_of_others(lived: Lived) -> None:
    daemon = lived.daemon
    headers = daemon.ask("GET", "/ui/", Accept=HTML).headers
    assert headers["content-security-policy"].startswith("default-src 'self';")
    assert "frame-ancestors 'none'" in headers["content-security-policy"]
    assert headers["x-frame-options"] == "DENY"
    assert headers["cache-control"] == "no-store"
    style = daemon.ask("GET", "/ui/static/style.css").headers
    assert style["cache-control"] == "no-cache"
    assert daemon.ask("GET", "/ui/static/style.css", If_None_Match=style["etag"]).status == 304


def test_the_root_is_the_dashboard_for_browsers_alone(lived: Lived) -> None:
    daemon = lived.daemon
    sent = daemon.ask("GET", "/", Accept=HTML)
    assert (sent.status, sent.headers["location"]) == (302, "/ui/")
    assert (daemon.ask("GET", "/").status, daemon.ask("GET", "/").text) == (404, "404 page not found\n")


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/ui/nowhere", 404),
        ("/ui/notes/01J00000000000000000000000", 404),
        ("/ui/notes/..%2f..%2fetc", 404),
        ("/ui/notes?page=0", 400),
        ("/ui/notes?page=x", 400),
        ("/ui/notes?type=poem", 400),
        ("/ui/notes?source=me", 400),
        ("/ui/graph?around=planet:earth", 400),
        ("/ui/told?folder=../x", 400),
        ("/ui/dreams/none", 400),
    ],
)
def test_bad_input_gets_a_page_with_one_sentence(lived: Lived, path: str, status: int) -> None:
    page = lived.daemon.ask("GET", path, Accept=HTML)
    assert page.status == status
    assert re.search(r"<h1>.+\.</h1>", page.text)
    assert "Traceback" not in page.text


def test_a_graph_starts_around_a_note_by_its_id_alone(lived: Lived) -> None:
    daemon, filled = lived
    id = filled["Use WAL mode"]
    alone, keyed = (
        json.loads(daemon.ask("GET", f"/ui/graph?around={start}", Accept="application/json").text)
        for start in (id, f"note:{id}")
    )
    assert alone == keyed
    assert f"note:{filled['Retry policy']}" in {node["key"] for node in alone["nodes"]}
    assert daemon.ask("GET", "/ui/graph?around=01J00000000000000000000000").status == 404


def test_filters_facets_and_pages_agree_with_each_other(filled: dict[str, str], daemon: Daemon) -> None:
    def asked(**query: str) -> dict[str, object]:
        found: dict[str, object] = json.loads(
            daemon.ask("GET", f"/ui/notes?{urlencode(query)}", Accept="application/json").text
        )
        return found

    everything = asked()
    assert everything["total"] == 4
    assert dict(everything["facets"]["type"]) == {"procedural": 2, "semantic": 1, "episodic": 1}  # type: ignore[index]
    for name, values in everything["facets"].items():  # type: ignore[attr-defined]
        for value, count in values:
            narrowed = asked(**{name: value})
            assert narrowed["total"] == len(narrowed["notes"]) == count  # type: ignore[arg-type]
    assert asked(q="deploy")["notes"][0]["title"] == "How to deploy"  # type: ignore[index]
    assert asked(page="2")["notes"] == []


def test_a_form_needs_its_token_and_a_page_of_ours(filled: dict[str, str], daemon: Daemon) -> None:
    ids = filled["Retry policy"]
    body = urlencode({"id": ids, "what": "delete"})
    form = {"Content_Type": "application/x-www-form-urlencoded"}
    assert daemon.ask("POST", "/ui/notes/change", body, **form).status == 403
    token = re.search(r'name="form_token" value="([^"]+)"', daemon.ask("GET", "/ui/notes", Accept=HTML).text)
    assert token
    signed = f"{body}&form_token={token[1]}"
    foreign = {"Origin": "https://hostile.example"}
    assert daemon.ask("POST", "/ui/notes/change", signed, **form, **foreign).status == 403
    assert daemon.ask("POST", "/ui/notes/change", signed, **form, Sec_Fetch_Site="cross-site").status == 403
    assert daemon.ask("GET", f"/ui/notes/{ids}", Accept=HTML).status == 200
    assert daemon.ask("POST", "/ui/notes/change", signed, **form).status == 303
    assert daemon.ask("GET", f"/ui/notes/{ids}", Accept=HTML).status == 404


def test_a_link_from_another_site_opens_a_page_and_nothing_else(lived: Lived) -> None:
    daemon = lived.daemon
    there = {"Sec_Fetch_Site": "cross-site", "Sec_Fetch_Mode": "navigate", "Sec_Fetch_Dest": "document"}
    assert daemon.ask("GET", "/ui/", Accept=HTML, **there).status == 200
    assert daemon.ask("GET", "/stats", **there).status == 403
    assert daemon.ask("GET", "/ui/", **{**there, "Sec_Fetch_Dest": "iframe"}).status == 403
    assert daemon.ask("POST", "/ui/undo", "", **there).status == 403


def test_a_daemon_with_a_token_asks_browsers_for_it(filled: dict[str, str], tmp_path: Path) -> None:
    token = "a-long-random-token-0123456789"
    daemon = Daemon(tmp_path, ANAMNESIS_TOKEN=token)
    try:
        sent = daemon.ask("GET", "/ui/notes", Accept=HTML)
        assert (sent.status, sent.headers["location"]) == (303, "/ui/login?to=/ui/notes")
        assert daemon.ask("GET", "/ui/notes").status == 401
        assert daemon.ask("GET", "/ui/login", Accept=HTML).status == 200
        form = {"Content_Type": "application/x-www-form-urlencoded"}
        assert daemon.ask("POST", "/ui/login", "token=guess", **form).status == 401
        outside = daemon.ask("POST", "/ui/login", urlencode({"token": token, "to": "//hostile.example/"}), **form)
        assert (outside.status, outside.headers["location"]) == (303, "/ui/")
        entered = daemon.ask("POST", "/ui/login", urlencode({"token": token, "to": "/ui/notes"}), **form)
        assert (entered.status, entered.headers["location"]) == (303, "/ui/notes")
        cookie = entered.headers["set-cookie"]
        assert "HttpOnly" in cookie
        assert "SameSite=strict" in cookie
        assert "Path=/ui;" in cookie
        value = cookie.partition(";")[0]
        assert daemon.ask("GET", "/ui/notes", Accept=HTML, Cookie=value).status == 200
        forged = value[:-1] + ("1" if value.endswith("0") else "0")
        assert daemon.ask("GET", "/ui/notes", Accept=HTML, Cookie=forged).status == 303
        assert daemon.ask("GET", "/stats", Cookie=value).status == 401
        # The root has no cookie: it leads through the login, which knows it.
        known = daemon.ask("GET", "/ui/login?to=/", Accept=HTML, Cookie=value)
        assert (known.status, known.headers["location"]) == (303, "/ui/")
    finally:
        daemon.stop()


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have one address on loopback")
def test_wrong_guesses_make_their_client_wait_and_nobody_else(tmp_path: Path) -> None:
    token = "a-long-random-token-0123456789"
    with running(tmp_path, ANAMNESIS_TOKEN=token) as daemon, contextlib.ExitStack() as opened:

        def guess(given: str, address: str) -> http.client.HTTPConnection:
            connection = http.client.HTTPConnection(daemon.host, daemon.port, 60, (address, 0))
            opened.callback(connection.close)
            form = {"Content-Type": "application/x-www-form-urlencoded"}
            connection.request("POST", "/ui/login", urlencode({"token": given}), form)
            return connection

        assert guess("wrong", "127.0.0.1").getresponse().status == 401
        for _ in range(4):
            guess("wrong", "127.0.0.1")  # each waits for the one before
        wait_until(lambda: guess(token, "127.0.0.1").getresponse().status == 429)
        assert guess(token, "127.0.0.2").getresponse().status == 303


def test_the_settings_show_no_secret(tmp_path: Path) -> None:
    token = "a-long-random-token-0123456789"
    daemon = Daemon(tmp_path, ANAMNESIS_TOKEN=token, ANAMNESIS_GIT_REMOTE="https://me:hunter2@127.0.0.1:1/notes.git")
    try:
        for path in ("/ui/settings", "/ui/fleet"):
            page = daemon.ask("GET", path, Authorization=f"Bearer {token}", Accept=HTML)
            assert page.status == 200
            assert token not in page.text
            assert "hunter2" not in page.text
            assert "https://***@127.0.0.1:1/notes.git" in page.text
    finally:
        daemon.stop()


def test_a_setting_is_checked_before_it_is_saved(daemon: Daemon, tmp_path: Path) -> None:
    def save(name: str, value: str) -> int:
        page = daemon.ask("GET", "/ui/settings", Accept=HTML).text
        token = re.search(r'name="form_token" value="([^"]+)"', page)
        assert token
        body = urlencode({"form_token": token[1], "value": value})
        form = {"Content_Type": "application/x-www-form-urlencoded"}
        return daemon.ask("POST", f"/ui/settings/{name}", body, **form).status

    assert save("inject_budget", "many") == 400
    assert save("nothing", "1") == 400
    assert save("token", "x" * 30) == 400
    assert save("inject_budget", "4000") == 303
    assert json.loads((tmp_path / "config.json").read_text())["inject_budget"] == "4000"
    assert save("inject_budget", "") == 303
    assert "inject_budget" not in json.loads((tmp_path / "config.json").read_text())
