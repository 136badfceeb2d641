"""A web page can neither read nor write the memory, and another machine needs the token."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from tests.web.daemon import Daemon, environment

from anamnesis.errors import InvalidArgument
from anamnesis.web.guard import build_guard, is_loopback
from anamnesis.web.message import Request

TOKEN = "a-long-and-random-text"


@pytest.mark.parametrize(
    "host", ["127.0.0.1", "127.0.0.1:7437", "localhost", "LocalHost:7437", "[::1]:7437", "127.8.9.1"]
)
def test_a_program_of_this_machine_is_answered(shared: Daemon, host: str) -> None:
    assert shared.ask("GET", "/stats", Host=host).status == 200


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "evil.example:7437",
        "127.0.0.1.evil.example",
        "localhost.evil.example",
        "192.168.1.5",
        "0.0.0.0",
        "[fe80::1]",
        "2130706433",
    ],
)
def test_a_name_that_was_made_to_point_here_is_refused(shared: Daemon, host: str) -> None:
    for method, path, body in (("GET", "/export", None), ("POST", "/sessions", '{"id":"x","project":"p"}')):
        assert shared.ask(method, path, body, Host=host).status == 403
    assert shared.ask("GET", "/stats").body.startswith(b'{"total_sessions":0,')


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "https://evil.example"},
        {"Origin": "http://localhost:3000"},
        {"Origin": "http://127.0.0.1"},
        {"Origin": "null"},
        {"Origin": ""},
        {"Sec_Fetch_Site": "cross-site"},
        {"Sec_Fetch_Site": "same-site", "Sec_Fetch_Mode": "no-cors"},
    ],
    ids=str,
)
def test_a_page_of_another_origin_is_refused(shared: Daemon, headers: dict[str, str]) -> None:
    """A form can be sent from any page without a preflight, and could post the text of a note."""
    refused = shared.ask("POST", "/sessions", '{"id":"x","project":"p"}', Content_Type="text/plain", **headers)
    assert refused.status == 403
    assert shared.ask("GET", "/search?q=x", **headers).status == 403
    assert "access-control-allow-origin" not in refused.headers
    assert shared.ask("OPTIONS", "/sessions", **headers).status == 403


def test_a_page_of_the_daemon_itself_is_answered(shared: Daemon) -> None:
    own = {"Origin": f"http://127.0.0.1:{shared.port}", "Sec_Fetch_Site": "same-origin"}
    assert shared.ask("GET", "/stats", **own).status == 200


@pytest.mark.parametrize(
    "dest", ["document", "iframe", "frame", "embed", "object", "image", "script", "style", "empty"]
)
@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_a_page_of_another_site_can_neither_link_frame_nor_embed(shared: Daemon, site: str, dest: str) -> None:
    mode = "navigate" if dest in ("document", "iframe", "frame", "embed", "object") else "no-cors"
    headers = {"Sec_Fetch_Site": site, "Sec_Fetch_Mode": mode, "Sec_Fetch_Dest": dest}
    assert shared.ask("GET", "/stats", **headers).status == 403


def test_an_address_that_the_user_typed_is_answered(shared: Daemon) -> None:
    headers = {"Sec_Fetch_Site": "none", "Sec_Fetch_Mode": "navigate", "Sec_Fetch_Dest": "document"}
    assert shared.ask("GET", "/stats", **headers).status == 200


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/health", 200),
        ("GET", "/nope", 404),
        ("POST", "/health", 405),
        ("GET", "//health", 307),
        ("POST", "/sessions", 400),
        ("GET", "/stats", 200),
    ],
)
def test_no_answer_may_be_sniffed_framed_or_embedded(shared: Daemon, method: str, path: str, status: int) -> None:
    reply = shared.ask(method, path)
    assert reply.status == status
    assert {name: reply.headers.get(name) for name in SAFE} == SAFE


SAFE = {
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "content-security-policy": "frame-ancestors 'none'",
    "cross-origin-resource-policy": "same-origin",
    "referrer-policy": "no-referrer",
}


@pytest.mark.parametrize(
    ("request_line", "headers", "status"),
    [
        ("GET /stats HTTP/1.0", [], 200),
        ("GET /stats HTTP/1.0", ["Host: evil.example"], 403),
        ("GET http://127.0.0.1/stats HTTP/1.1", ["Host: evil.example"], 200),
        ("GET http://evil.example/stats HTTP/1.1", ["Host: 127.0.0.1"], 403),
        ("GET http://127.0.0.1:7437@evil.example/stats HTTP/1.1", ["Host: 127.0.0.1"], 400),
        ("GET http://[::1]:7437/stats HTTP/1.1", ["Host: x"], 200),
        ("GET http://[::1].evil.example/stats HTTP/1.1", ["Host: 127.0.0.1"], 403),
        ("GET /stats HTTP/1.1", ["Host: 127.0.0.1", "Host: evil.example"], 400),
        ("GET /stats HTTP/1.1", ["Host: [::1]"], 200),
        ("GET /stats HTTP/1.1", ["Host: [::1]evil.example"], 403),
        ("GET /stats HTTP/1.1", ["Host: [::ffff:10.0.0.1]:7437"], 403),
        ("GET /stats HTTP/1.1", ["Host: 127.0.0.1:x.evil.example"], 403),
        ("GET /stats HTTP/1.1", [], 400),
    ],
)
def test_the_host_is_checked_in_every_form_of_a_request(
    shared: Daemon, request_line: str, headers: list[str], status: int
) -> None:
    """At the head: the body that is announced never comes."""
    for more in ([], ["Content-Length: 1000"] if status == 403 else []):
        with socket.create_connection(("127.0.0.1", shared.port), 60) as connection:
            connection.sendall("\r\n".join([request_line, *headers, *more, "", ""]).encode())
            assert connection.recv(12) == f"HTTP/1.1 {status}".encode()


def test_a_token_that_is_set_is_needed_on_loopback_too(tmp_path: Path) -> None:
    """Only /health answers without it: Engram's plugins check it before they start a daemon."""
    daemon = Daemon(tmp_path, ANAMNESIS_TOKEN=TOKEN)
    assert daemon.ask("GET", "/health").status == 200
    assert daemon.ask("GET", "/health", Origin="https://evil.example").status == 403
    assert daemon.ask("GET", "/health", Host="evil.example").status == 403
    for path in ("/stats", "/export", "/ready", "/metrics", "/openapi.json", "/nope", "//health"):
        for headers in ({}, {"Authorization": "Bearer wrong"}, {"Authorization": f"Bearer {TOKEN}x"}):
            refused = daemon.ask("GET", path, **headers)
            assert (refused.status, refused.headers["www-authenticate"]) == (401, 'Bearer realm="anamnesis"')
    known = {"Authorization": f"Bearer {TOKEN}"}
    assert daemon.ask("GET", "/stats", **known).status == 200
    assert daemon.ask("GET", "/stats", Host="evil.example", **known).status == 403
    assert daemon.ask("GET", "/stats", Origin="https://evil.example", **known).status == 403
    assert daemon.stop() == (0, "")


def test_the_token_of_config_json_is_needed_as_well(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(json.dumps({"token": TOKEN}))
    daemon = Daemon(tmp_path)
    assert daemon.ask("GET", "/stats").status == 401
    assert daemon.stop() == (0, "")


def test_a_port_that_a_daemon_with_a_token_has_is_named_with_it(tmp_path: Path) -> None:
    """The token is not sent for this check, as another program could listen there."""
    daemon = Daemon(tmp_path, ANAMNESIS_TOKEN=TOKEN)
    taken = subprocess.run(
        [sys.executable, "-m", "anamnesis", "daemon", "--port", str(daemon.port)],
        env=environment(tmp_path / "other", ANAMNESIS_TOKEN=TOKEN),
        capture_output=True,
        text=True,
        check=False,
    )
    assert f"Port {daemon.port} of 127.0.0.1 is taken by an Anamnesis daemon with a token" in taken.stderr
    assert daemon.stop() == (0, "")


def test_beyond_loopback_the_token_is_needed(tmp_path: Path) -> None:
    daemon = Daemon(tmp_path, "--host", "0.0.0.0", ANAMNESIS_TOKEN=TOKEN)
    daemon.host = "127.0.0.1"
    for headers in (
        {},
        {"Authorization": "Bearer wrong"},
        {"Authorization": TOKEN},
        {"Authorization": f"Basic {TOKEN}"},
    ):
        refused = daemon.ask("GET", "/health", **headers)
        assert (refused.status, refused.headers["www-authenticate"]) == (401, 'Bearer realm="anamnesis"')
    known = {"Authorization": f"Bearer {TOKEN}"}
    assert daemon.ask("GET", "/stats", Host="memory.example:7437", **known).status == 200
    assert daemon.ask("GET", "/stats", Host="memory.example", Origin="https://evil.example", **known).status == 403
    assert daemon.ask("GET", "/stats", Host="memory.example", Origin="https://memory.example", **known).status == 200
    assert daemon.stop() == (0, "")


@pytest.mark.parametrize("host", ["0.0.0.0", "::"])
def test_another_machine_needs_the_token(tmp_path: Path, host: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "anamnesis", "daemon", "--port", "0", "--host", host],
        env=environment(tmp_path),
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == (
        f"anamnesis: The daemon cannot be reached from other machines at {host} without a token."
        " Set ANAMNESIS_TOKEN to a long random text, or leave --host out.\n"
    )


@pytest.mark.parametrize(
    "token", ["short", "has blanks in between", "ümläüte-sind-keine-zeichen", "line\nbreak-in-a-token"]
)
def test_a_token_that_can_be_guessed_or_not_be_sent_is_refused(token: str) -> None:
    for host in ("0.0.0.0", "127.0.0.1"):
        with pytest.raises(InvalidArgument, match="at least 16"):
            build_guard(host, token)


@pytest.mark.parametrize("name", ["localhost", "127.0.0.1", "::1", "[::1]", "127.255.255.254"])
def test_loopback_hosts_are_recognised(name: str) -> None:
    assert is_loopback(name)


@pytest.mark.parametrize("name", ["", "0.0.0.0", "::", "localhost.", "example.com", "10.0.0.1", "127.1"])
def test_other_hosts_are_not_loopback(name: str) -> None:
    assert not is_loopback(name)
    with pytest.raises(InvalidArgument):
        build_guard(name, "")


def test_a_client_of_http_1_0_need_not_name_its_host() -> None:
    assert build_guard("127.0.0.1", "")(Request("GET", "/health")) is None
