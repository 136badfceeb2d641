"""Access tokens of an external issuer: a real little one on loopback, and every way in which a token does not hold."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from tests.hub.running import Client, RunningHub, text_of
from tests.postgres import Postgres

from anamnesis.errors import InvalidArgument
from anamnesis.hub.oauth import Issuer

HUB = "https://hub.example"
MESSAGE = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "memory_status", "arguments": {}}}


class LittleIssuer:
    """Publishes metadata and keys, and signs tokens."""

    def __init__(self) -> None:
        self.keys: dict[str, Any] = {"one": ec.generate_private_key(ec.SECP256R1())}
        self.asked: list[str] = []
        self.pages: dict[str, Any] = {}
        issuer = self

        class Pages(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                issuer.asked.append(self.path)
                page = issuer.page(self.path)
                self.send_response(200 if page is not None else 404)
                self.end_headers()
                self.wfile.write(page if isinstance(page, bytes) else json.dumps(page).encode())

            def log_message(self, *_: object) -> None: ...

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Pages)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02})
        self._thread.start()

    def page(self, path: str) -> Any:
        usual = {
            "/.well-known/openid-configuration": {"issuer": self.url, "jwks_uri": f"{self.url}/keys"},
            "/keys": {
                "keys": [{**json.loads(_public(key)), "kid": kid, "use": "sig"} for kid, key in self.keys.items()]
            },
        }
        return {**usual, **self.pages}.get(path)

    def token(self, key: Any = None, kid: str = "one", alg: str = "ES256", **claims: Any) -> str:
        usual = {
            "iss": self.url,
            "aud": f"{HUB}/mcp",
            "sub": "you",
            "exp": time.time() + 600,
            "scope": "anamnesis:read",
        }
        given = {name: value for name, value in {**usual, **claims}.items() if value is not None}
        return jwt.encode(given, key or self.keys[kid], alg, {"kid": kid})

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


def _public(key: Any) -> str:
    algorithm = (
        jwt.algorithms.ECAlgorithm if isinstance(key, ec.EllipticCurvePrivateKey) else jwt.algorithms.RSAAlgorithm
    )
    return str(algorithm.to_jwk(key.public_key()))


@pytest.fixture(scope="module")
def issuer() -> Iterator[LittleIssuer]:
    found = LittleIssuer()
    yield found
    found.close()


@pytest.fixture(scope="module")
def hub(postgres: Postgres, issuer: LittleIssuer) -> Iterator[RunningHub]:
    with RunningHub(postgres.new_hub()) as running:
        running.hub.url = HUB
        running.hub.issuer = Issuer(issuer.url, HUB)
        running.user("you", core="writer").put("core", "N1", text_of("N1", "Shared by all."))
        yield running


def ask(hub: RunningHub, token: str) -> Any:
    return Client(hub.url, token)("/mcp", MESSAGE)


def test_a_token_of_the_issuer_lets_its_user_in(hub: RunningHub, issuer: LittleIssuer) -> None:
    answer = ask(hub, issuer.token())
    assert answer.status == 200 and answer.json["result"]["structuredContent"]["user"] == "you"


def test_tokens_of_the_hub_stay_valid_and_the_issuers_hold_for_mcp_alone(hub: RunningHub, issuer: LittleIssuer) -> None:
    assert ask(hub, hub.user("you").token).status == 200
    for path in (
        "/v1/me",
        "/v1/live",
        "/v1/export",
        "/v1/search?q=x",
        "/v1/spaces/core/notes/N1",
        "/ui/notes",
        "/ui/live",
    ):
        assert Client(hub.url, issuer.token())(path).status == 401, path
    for path in ("/v1/sync", "/v1/changes", "/ui/device"):
        assert Client(hub.url, issuer.token())(path, {}).status == 401, path


def test_the_scope_decides_what_a_token_allows(hub: RunningHub, issuer: LittleIssuer) -> None:
    arguments = {"type": "semantic", "title": "T", "body": "B"}
    write = {**MESSAGE, "params": {"name": "memory_write", "arguments": arguments}}
    for scope, is_refused in (("anamnesis:read", True), ("openid anamnesis:write", False)):
        answer = Client(hub.url, issuer.token(scope=scope))("/mcp", write)
        assert answer.json["result"]["isError"] is is_refused, answer.body
    answer = ask(hub, issuer.token(scope="openid read"))
    assert answer.status == 403 and "insufficient_scope" in answer.headers["www-authenticate"]


BAD: dict[str, dict[str, Any]] = {
    "for another resource": {"aud": "https://other.example/mcp"},
    "for the hub but not for this resource": {"aud": HUB},
    "without an audience": {"aud": None},
    "of another issuer": {"iss": "https://other.example"},
    "expired": {"exp": time.time() - 600},
    "that never ends": {"exp": None},
    "not yet valid": {"nbf": time.time() + 86_400},
    "of nobody": {"sub": None},
    "of somebody unknown": {"sub": "nobody"},
    "of somebody whose name differs in its case": {"sub": "You"},
    "of an unknown key": {"kid": "one", "key": ec.generate_private_key(ec.SECP256R1())},
    "signed with a shared secret": {"alg": "HS256", "key": "s" * 64},
}


@pytest.mark.parametrize("what", BAD)
def test_a_token_does_not_hold(hub: RunningHub, issuer: LittleIssuer, what: str) -> None:
    answer = ask(hub, issuer.token(**BAD[what]))
    assert answer.status == 401, answer.body
    assert f'resource_metadata="{HUB}/.well-known/oauth-protected-resource/mcp"' in answer.headers["www-authenticate"]


def test_an_unsigned_token_does_not_hold(hub: RunningHub, issuer: LittleIssuer) -> None:
    claims = jwt.decode(issuer.token(), options={"verify_signature": False})
    assert ask(hub, jwt.encode(claims, "", "none", {"kid": "one"})).status == 401
    for text in ("x", "a.b.c", "x" * 100_000):
        assert ask(hub, text).status in (401, 431, 400)


def test_the_metadata_names_the_issuer(hub: RunningHub, issuer: LittleIssuer) -> None:
    for path in ("", "/mcp"):
        found = Client(hub.url, "")(f"/.well-known/oauth-protected-resource{path}").json
        assert found["resource"] == f"{HUB}/mcp" and found["authorization_servers"] == [issuer.url]


def test_a_key_that_the_issuer_adds_is_fetched_but_not_at_every_bad_token(issuer: LittleIssuer) -> None:
    now = [0.0]
    known = Issuer(issuer.url, HUB, clock=lambda: now[0])
    assert known.identify(issuer.token()).user == "you"
    asked = len(issuer.asked)
    for _ in range(5):
        with pytest.raises(Exception, match="key is not one"):
            known.identify(issuer.token(kid="two", key=issuer.keys["one"]))
    assert len(issuer.asked) == asked
    issuer.keys["two"] = rsa.generate_private_key(65537, 2048)
    now[0] += 31
    assert known.identify(issuer.token(kid="two", alg="RS256")).user == "you"
    issuer.pages["/keys"] = b"broken"
    now[0] += 4000
    assert known.identify(issuer.token()).user == "you"  # the known keys hold on
    del issuer.pages["/keys"], issuer.keys["two"]


@pytest.mark.parametrize(
    "page", [b"[]", b"{", b'{"keys": 5}', b"x" * 300_000, b'{"keys": [{"kty": "oct", "k": "c2VjcmV0", "kid": "one"}]}']
)
def test_keys_that_cannot_be_used_let_nobody_in(issuer: LittleIssuer, page: bytes) -> None:
    issuer.pages["/keys"] = page
    try:
        with pytest.raises(Exception, match=r"cannot be fetched|key is not one"):
            Issuer(issuer.url, HUB).identify(issuer.token())
    finally:
        del issuer.pages["/keys"]


def test_keys_do_not_come_in_the_clear_from_elsewhere(issuer: LittleIssuer) -> None:
    for url in ("http://login.example", "file:///etc/passwd", "login.example"):
        with pytest.raises(InvalidArgument):
            Issuer(url, HUB)
    issuer.pages["/.well-known/openid-configuration"] = {"issuer": issuer.url, "jwks_uri": "http://login.example/keys"}
    try:
        with pytest.raises(Exception, match="cannot be fetched"):
            Issuer(issuer.url, HUB).identify(issuer.token())
    finally:
        del issuer.pages["/.well-known/openid-configuration"]
