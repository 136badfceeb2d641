"""Access tokens of an external issuer, for MCP clients: an OAuth 2.1 resource server.

The issuer's keys are fetched when a token names one that is not known, not more often than every half minute. Nothing
of a token is believed before its signature is verified.
"""

from __future__ import annotations

import json
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import jwt
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from anamnesis.errors import InvalidArgument
from anamnesis.hub.refusal import NotAllowed, NotAuthenticated, NotFound, Unavailable
from anamnesis.hub.routes import hub_of
from anamnesis.hub.tenancy import SCOPES, implied
from anamnesis.web.guard import is_loopback

METADATA = "/.well-known/oauth-protected-resource"
_RESOURCE = "/mcp"
# Only asymmetric ones. The list is fixed, because a token must not choose its algorithm.
_ALGORITHMS = ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"]
_PREFIX = "anamnesis:"
_LEEWAY = 30
_MOST_BYTES = 256 * 1024
_TIMEOUT = 5
_KEPT_SECONDS, _RETRY_SECONDS = 3600, 30
_LONGEST_TOKEN = 8_000
_LEAST_RSA_BITS = 2048


class Identity(NamedTuple):
    """The user that a token is for, and what it allows."""

    user: str
    scopes: list[str]


class Issuer:
    """Verifies the tokens of one issuer for one hub.

    `claim` names the user; `keys_url` is found by discovery if it is not given.
    """

    def __init__(
        self,
        issuer: str,
        hub_url: str,
        claim: str = "sub",
        keys_url: str = "",
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        if not hub_url:
            raise InvalidArgument("An issuer needs the hub's own address, for which its tokens are.", "Give --url.")
        for url in filter(None, (issuer, keys_url)):
            _check_url(url)
        self.issuer = issuer
        self.resource = hub_url.rstrip("/") + _RESOURCE
        self.metadata_url = f"{hub_url.rstrip('/')}{METADATA}{_RESOURCE}"
        self._claim = claim
        self._keys_url = keys_url
        self._clock = clock
        self._lock = threading.Lock()
        self._keys: dict[str, jwt.PyJWK] = {}
        self._fetched = self._tried = -float("inf")

    def identify(self, token: str) -> Identity:
        """The user and the scopes of a token; may fetch the issuer's keys."""
        if len(token) > _LONGEST_TOKEN:
            raise NotAuthenticated("The token is too long.")
        try:
            key = self._key(jwt.get_unverified_header(token))
            claims = jwt.decode(
                token,
                key,
                algorithms=_ALGORITHMS,
                issuer=self.issuer,
                audience=self.resource,
                leeway=_LEEWAY,
                options={"require": ["exp", "iss", "aud", self._claim]},
            )
        except jwt.PyJWTError as error:
            raise NotAuthenticated(f"The issuer's token is not valid: {error}.") from error
        user = claims[self._claim]
        if not isinstance(user, str) or not user:
            raise NotAuthenticated(f"The token's {self._claim!r} is not the name of a user.")
        return Identity(user, _scopes(claims))

    def metadata(self) -> dict[str, Any]:
        """What RFC 9728 says about this resource."""
        return {
            "resource": self.resource,
            "resource_name": "Anamnesis hub",
            "authorization_servers": [self.issuer],
            "scopes_supported": [_PREFIX + scope for scope in SCOPES],
            "bearer_methods_supported": ["header"],
        }

    def challenge(self, status: int) -> str:
        """The header that tells a client where to get a token, or one that allows more."""
        error = 'error="insufficient_scope", ' if status == 403 else ""
        return f'Bearer {error}resource_metadata="{self.metadata_url}", scope="{_PREFIX}read {_PREFIX}write"'

    def _key(self, header: dict[str, Any]) -> jwt.PyJWK:
        if header.get("alg") not in _ALGORITHMS:
            raise jwt.InvalidAlgorithmError("its signature is of a kind that is not accepted")
        name = header.get("kid", "")
        with self._lock:
            now = self._clock()
            is_old = now - self._fetched > _KEPT_SECONDS
            if (name not in self._keys or is_old) and now - self._tried > _RETRY_SECONDS:
                self._tried = now
                self._fetch(keep=name in self._keys)
            if name not in self._keys:
                raise jwt.InvalidKeyError("its key is not one of the issuer's")
            return self._keys[name]

    def _fetch(self, *, keep: bool) -> None:
        """Get the issuer's keys. If that fails, the known keys stay in use with `keep`."""
        try:
            keys = _get_json(self._keys_url or self._discovered()).get("keys", [])
            usable = [key for key in keys if isinstance(key, dict) and key.get("use", "sig") == "sig"]
            self._keys = {str(key.get("kid", "")): found for key in usable if (found := _usable(key))}
            self._fetched = self._clock()
        except (OSError, ValueError, AttributeError, TypeError) as error:
            if not keep:
                raise Unavailable(f"The keys of {self.issuer} cannot be fetched.", "Try again in a minute.") from error

    def _discovered(self) -> str:
        """The address of the keys, from the issuer's metadata."""
        parts = urlsplit(self.issuer)
        path = parts.path.rstrip("/")
        origin = f"{parts.scheme}://{parts.netloc}"
        places = (
            f"{origin}/.well-known/oauth-authorization-server{path}",
            f"{origin}{path}/.well-known/openid-configuration",
        )
        problem: Exception = ValueError("no metadata")
        for place in places:
            try:
                found = _get_json(place)
            except (OSError, ValueError) as error:
                problem = error
                continue
            if found.get("issuer") == self.issuer and isinstance(found.get("jwks_uri"), str):
                self._keys_url = _check_url(found["jwks_uri"])
                return self._keys_url
        raise ValueError(f"{self.issuer} publishes no metadata") from problem


def _scopes(claims: dict[str, Any]) -> list[str]:
    """The scopes of a token: a text, or a list under another name."""
    given = claims.get("scope", claims.get("scp", ""))
    names = given.split() if isinstance(given, str) else [each for each in given if isinstance(each, str)]
    held = {name.removeprefix(_PREFIX) for name in names if name.startswith(_PREFIX)} & {*SCOPES}
    if not held:
        raise NotAllowed("The token has no scope of this hub.", f"Ask for {_PREFIX}read or {_PREFIX}write.")
    return implied(max(held, key=SCOPES.index))


def _usable(key: dict[str, Any]) -> jwt.PyJWK | None:
    """A public key of a kind that we accept; None for others, which an issuer may have too."""
    try:
        found = jwt.PyJWK.from_dict(key)
    except jwt.PyJWTError:
        return None
    is_weak = key.get("kty") == "RSA" and found.key.key_size < _LEAST_RSA_BITS
    return None if key.get("kty") == "oct" or is_weak else found


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_: Any) -> None:
        return None


_opener = urllib.request.build_opener(_NoRedirects)


def _get_json(url: str) -> dict[str, Any]:
    """A small JSON object from an address that an administrator or the issuer's metadata gave."""
    request = urllib.request.Request(url, headers={"Accept": "application/json"})  # noqa: S310  its scheme is checked
    try:
        with _opener.open(request, timeout=_TIMEOUT) as answer:
            data = answer.read(_MOST_BYTES + 1)
    except urllib.error.HTTPError as error:
        error.close()
        raise
    if len(data) > _MOST_BYTES:
        raise ValueError(f"{url} is larger than {_MOST_BYTES} bytes")
    found = json.loads(data)
    if not isinstance(found, dict):
        raise ValueError(f"{url} is not a JSON object")
    return found


def _check_url(url: str) -> str:
    """Keys come over TLS, or from this machine."""
    parts = urlsplit(url)
    if parts.hostname and (parts.scheme == "https" or (parts.scheme == "http" and is_loopback(parts.hostname))):
        return url
    raise InvalidArgument(f"{url!r} is not an https address.", "An issuer's keys must come over TLS.")


async def show_metadata(request: Request) -> Response:
    """The metadata of RFC 9728, by which MCP clients find the issuer; 404 without one. Without a token.

    Answer: {"resource", "resource_name", "authorization_servers", "scopes_supported", "bearer_methods_supported"}
    """
    issuer = hub_of(request).issuer
    if issuer is None:
        raise NotFound("This hub has no OAuth issuer.", "Use a token: anamnesis hub token create")
    return JSONResponse(issuer.metadata(), headers={"Access-Control-Allow-Origin": "*"})


ROUTES = [Route(METADATA, show_metadata), Route(METADATA + _RESOURCE, show_metadata)]
