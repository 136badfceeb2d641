"""HTTP client of a hub, directly or through a proxy: one connection, standard library only.

It follows no redirects, so the token is sent to one host only.
"""

from __future__ import annotations

import contextlib
import json
import socket
from collections.abc import Iterator, Mapping, Sequence
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection, IncompleteRead
from itertools import takewhile
from ssl import SSLCertVerificationError, SSLError, create_default_context
from typing import Any, NamedTuple
from urllib.parse import quote

from anamnesis import __version__
from anamnesis.config import Proxies
from anamnesis.errors import AnamnesisError
from anamnesis.exchange.account import Address
from anamnesis.exchange.proxy import NO_PROXIES, proxy_for

# The largest answer in bytes: more than the largest page of changes with every character escaped.
_LONGEST_ANSWER = 64_000_000
# The most notes whose authors are asked for at once.
_MOST_IDS = 500
# The connect timeout in seconds.
_CONNECT_SECONDS = 20.0
_NOT_A_HUB = "Check the address: it must lead to `anamnesis hub serve`."
_LATER = "Nothing is lost: unsent changes stay queued for the next sync."

Json = dict[str, Any]


class HubUnreachable(AnamnesisError):
    """A temporary failure: a later sync may reach the hub."""


class HubFull(HubUnreachable):
    """The hub can store nothing more, whatever is sent."""


class HubRefused(AnamnesisError):
    """A permanent failure, such as a revoked token or a wrong address: a retry does not help."""

    def __init__(self, message: str, hint: str = "", status: int = 0, code: str = "") -> None:
        super().__init__(message, hint)
        self.status = status
        self.code = code


class Incoming(NamedTuple):
    """The current version of a note in a space; the text is None if it was deleted."""

    space: str
    note: str
    version: int
    text: str | None
    is_erased: bool = False
    author: str = ""


class Outgoing(NamedTuple):
    """A change of a note in a space, made on version `base`; the text is None to delete the note.

    With `anew`, the user has moved the note into the space, even if another member once took it out.
    """

    space: str
    note: str
    base: int
    text: str | None
    anew: bool = False

    @property
    def size(self) -> int:
        """The approximate size in a request."""
        return 200 + (len(self.text) if self.text else 0)


class HubClient:
    """A client with the rights of a token, or anonymous without one. For one thread."""

    def __init__(
        self, address: Address, token: str = "", *, timeout: float = 30.0, proxies: Proxies = NO_PROXIES
    ) -> None:
        self.address = address
        self._proxy = proxy_for(address, proxies)
        self._token = token
        self._timeout = timeout
        self._connection: HTTPConnection | None = None
        self._live: HTTPConnection | None = None

    def __repr__(self) -> str:
        return f"HubClient({self.address.url})"  # without the token

    def __enter__(self) -> HubClient:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        if self._connection:
            self._connection.close()
            self._connection = None

    def me(self) -> Json:
        """The user of the token, and the visible spaces."""
        return self._request("GET", "/v1/me")

    def changes(self, machine: str, cursors: Mapping[str, int]) -> Json:
        """The id of the hub, and the changes of each space after its cursor."""
        answer = self._request("POST", "/v1/sync", {"machine": machine, "cursors": dict(cursors)})
        _field(answer, "spaces", dict)
        return answer

    def send(self, machine: str, changes: Sequence[Outgoing], space_ids: Mapping[str, int]) -> list[Json]:
        """Send changes; returns the result of each. The hub refuses a change if its space's id is not the given one."""
        offered = [
            {"space": each.space, "id": each.note, "base": each.base, "text": each.text}
            | ({"space_id": space_ids[each.space]} if each.space in space_ids else {})
            | ({"anew": True} if each.anew else {})
            for each in changes
        ]
        answer = self._request("POST", "/v1/changes", {"machine": machine, "changes": offered})
        results: list[Json] = _field(answer, "results", list)
        if len(results) != len(changes):
            raise HubRefused("The hub did not return a result for every change.", _NOT_A_HUB)
        return results

    def accepted(self, decisions: str) -> str:
        """Send the lines of the user's decisions about texts of others; returns those of all machines."""
        answer = self._request("POST", "/v1/accepted", {"accepted": decisions})
        return str(_field(answer, "accepted", str))

    def note(self, space: str, note: str) -> Incoming | None:
        """The current version of a note; None if it does not exist."""
        found = self._find(f"/v1/spaces/{quote(space, safe='')}/notes/{quote(note, safe='')}")
        return incoming(space, {"id": note, **found}) if found else None

    def text(self, space: str, note: str, version: int) -> str | None:
        """The text of an earlier version of a note; None if it no longer exists."""
        found = self._find(f"/v1/spaces/{quote(space, safe='')}/notes/{quote(note, safe='')}/versions/{version:d}")
        text = found.get("text") if found else None
        return text if isinstance(text, str) else None

    def authors(self, space: str, note: str) -> list[str]:
        """The authors of the versions of a note, the newest first."""
        return [str(each.get("author", "")) for each in self._versions(space, note)]

    def authors_of(self, space: str, notes: Sequence[str]) -> dict[str, list[str]]:
        """The authors of the versions of many notes, the last one first."""
        found: dict[str, list[str]] = {}
        path = f"/v1/spaces/{quote(space, safe='')}/authors"
        for start in range(0, len(notes), _MOST_IDS):
            batch = [*notes[start : start + _MOST_IDS]]
            try:
                answer = self._request("POST", path, {"ids": batch})
            except HubRefused as error:
                if error.status not in (404, 405):
                    raise
                found |= {note: self.authors(space, note) for note in batch}  # a hub of an earlier release
            else:
                known = _field(answer, "authors", dict)
                found |= {note: [*map(str, known.get(note) or ())] for note in batch}
        return found

    def creator(self, space: str, note: str) -> str:
        """Who wrote the first version of a note since it was last taken out of the space; "" if unknown."""
        living = takewhile(lambda each: not each.get("deleted"), self._versions(space, note))
        return next((str(each.get("author", "")) for each in reversed([*living])), "")

    def texts(self, space: str, note: str) -> Iterator[str]:
        """The texts of the versions of a note since it was last deleted, the newest first."""
        for each in self._versions(space, note):
            if (text := self.text(space, note, int(each.get("version", 0)))) is None:
                return
            yield text

    def _versions(self, space: str, note: str) -> list[Json]:
        found = self._find(f"/v1/spaces/{quote(space, safe='')}/notes/{quote(note, safe='')}/versions")
        versions: list[Json] = _field(found, "versions", list) if found else []
        return versions

    def answer_invitation(self, space: str, *, accepts: bool) -> str:
        """Accept or decline an invitation to a space; returns the offered role."""
        answer = self._request("POST", f"/v1/invitations/{quote(space, safe='')}", {"accept": accepts})
        return str(answer.get("role", ""))

    def ask_for_code(self, machine: str) -> Json:
        """Start the device login: returns the code that a person confirms, and the address to confirm it at."""
        return self._request("POST", "/v1/device", {"machine": machine})

    def ask_for_token(self, device_code: str) -> Json | None:
        """The token, once a person has confirmed the code; None until then."""
        try:
            return self._request("POST", "/v1/device/token", {"device_code": device_code})
        except HubRefused as error:
            if error.code in ("authorization_pending", "slow_down") or error.status in (428, 429):
                return None
            raise

    @contextlib.contextmanager
    def live(self, timeout: float) -> Iterator[Iterator[str]]:
        """Yield the space of each event of the hub, and "" for keep-alives. Uses its own connection.

        A connection without an event for `timeout` seconds counts as lost.
        """
        with self._network_errors():
            self._live = connection = self._connect(timeout)
        try:
            with self._network_errors():
                connection.request("GET", self._target("/v1/live"), headers=self._headers("text/event-stream"))
                response = connection.getresponse()
                if response.status != 200:
                    self._raise_refusal(response.status, response.read(10_000), response)
            yield self._events(response)
        finally:
            connection.close()

    def stop_live(self) -> None:
        """Stop `live`, called from another thread."""
        live = self._live.sock if self._live else None
        if live:
            with contextlib.suppress(OSError):
                live.shutdown(socket.SHUT_RDWR)

    def _events(self, response: HTTPResponse) -> Iterator[str]:
        while True:
            with self._network_errors():
                line = response.readline(10_000)
            if not line:
                return
            space = ""
            if line.startswith(b"data:"):
                with contextlib.suppress(ValueError, AttributeError):
                    space = str(json.loads(line[5:]).get("space", ""))
            yield space

    def _find(self, path: str) -> Json | None:
        try:
            return self._request("GET", path)
        except HubRefused as error:
            if error.status in (403, 404):
                return None
            raise

    def _headers(self, accept: str = "application/json") -> dict[str, str]:
        known = {"Authorization": f"Bearer {self._token}"} if self._token else {}
        if self._proxy and not self.address.is_secure:
            known |= self._proxy.headers
        return {"Accept": accept, "User-Agent": f"anamnesis/{__version__}", **known}

    def _target(self, path: str) -> str:
        """The target of a request line: the path, or the full URL for a proxy without a tunnel."""
        needs_url = self._proxy and not self.address.is_secure
        return f"{self.address.url if needs_url else self.address.path}{path}"

    def _request(self, method: str, path: str, content: Json | None = None) -> Json:
        body = None if content is None else json.dumps(content, ensure_ascii=False).encode("utf-8")
        headers = self._headers() | ({"Content-Type": "application/json"} if body is not None else {})
        with self._network_errors():
            response = self._send(method, self._target(path), body, headers)
            data = response.read(_LONGEST_ANSWER + 1)
            if response.length and len(data) <= _LONGEST_ANSWER:  # `read(n)` does not raise it
                raise IncompleteRead(data, response.length)
        if response.status != 200 or len(data) > _LONGEST_ANSWER:
            self.close()
            self._raise_refusal(response.status, data, response)
        try:
            answer = json.loads(data)
        except ValueError:
            answer = None
        if not isinstance(answer, dict):
            raise HubRefused(f"The server at {self.address.url} is not a hub.", _NOT_A_HUB)
        return answer

    def _send(self, method: str, path: str, body: bytes | None, headers: dict[str, str]) -> HTTPResponse:
        """Send a request; retries it on a new connection if the hub has closed the idle one.

        The retry is safe because requests are idempotent.
        """
        if self._connection:
            try:
                self._connection.request(method, path, body, headers)
                return self._connection.getresponse()
            except (ConnectionError, HTTPException):
                self.close()
        self._connection = self._connect(self._timeout)
        self._connection.request(method, path, body, headers)
        return self._connection.getresponse()

    def _connect(self, timeout: float) -> HTTPConnection:
        _, host, port, _ = self.address
        proxy, connect_timeout = self._proxy, min(timeout, _CONNECT_SECONDS)
        peer = (proxy.host, proxy.port) if proxy else (host, port)
        connection = (
            HTTPSConnection(*peer, timeout=connect_timeout, context=create_default_context())
            if self.address.is_secure
            else HTTPConnection(*peer, timeout=connect_timeout)
        )
        if proxy and self.address.is_secure:
            connection.set_tunnel(host, port, proxy.headers)  # TLS ends at the hub: the proxy cannot read it
        connection.connect()
        connection.sock.settimeout(timeout)
        return connection

    @contextlib.contextmanager
    def _network_errors(self) -> Iterator[None]:
        """Raise network errors as HubUnreachable or HubRefused with a clear message."""
        host = self.address.host
        way = f" through the proxy {self._proxy.name}" if self._proxy else ""
        try:
            yield
        except SSLCertVerificationError as error:
            self.close()
            hint = "Fix it on the server, or set SSL_CERT_FILE to the certificate of the authority that signed it."
            raise HubRefused(f"The certificate of {host} is not valid: {error.verify_message}.", hint) from error
        except SSLError as error:
            self.close()
            reason = (error.reason or str(error)).replace("_", " ").lower()
            hint = "Check the address: a hub without TLS has an http:// address."
            raise HubRefused(f"{self.address.url} does not speak TLS: {reason}.", hint) from error
        except TimeoutError as error:
            self.close()
            raise HubUnreachable(f"The hub {host} does not answer{way}.", _LATER) from error
        except socket.gaierror as error:
            self.close()
            what = f"proxy {self._proxy.name}" if self._proxy else f"hub {host}"
            raise HubUnreachable(f"The {what} cannot be found: {error.strerror}.", _LATER) from error
        except IncompleteRead as error:
            self.close()
            raise HubUnreachable(f"The hub {host} closed the connection during its answer.", _LATER) from error
        except (OSError, HTTPException) as error:
            self.close()
            reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
            raise HubUnreachable(f"The hub {host} cannot be reached{way}: {reason.rstrip('.')}.", _LATER) from error

    def _raise_refusal(self, status: int, data: bytes, response: HTTPResponse) -> None:
        """Raise the error that an unsuccessful answer describes."""
        host, answer = self.address.host, _parse_object(data)
        reason, hint = str(answer.get("error", "")), str(answer.get("hint", ""))
        if 300 <= status < 400:
            where = (response.getheader("Location") or "another address").split("?")[0]
            raise HubRefused(f"{self.address.url} redirects to {where}.", "Log in with the address of the hub itself.")
        if status == 401:
            message = f"The hub {host} does not accept the token: it was revoked, has expired, or is another hub's."
            raise HubRefused(message, f"Log in again: anamnesis login {self.address.url}", status)
        if status == 407 and self._proxy:
            hint = "Set them in HTTP_PROXY: http://user:password@host:port"
            raise HubRefused(f"The proxy {self._proxy.name} requires a user and a password.", hint, status)
        if status == 507:
            raise HubFull(f"The hub {host} can store nothing now: {reason}", hint or _LATER)
        if status in (408, 425, 429, 500, 502, 503, 504):
            because = f": {reason.rstrip('.')}" if reason else ""
            raise HubUnreachable(f"The hub {host} cannot answer now{because} (status {status}).", hint or _LATER)
        if not reason:
            raise HubRefused(f"The server at {self.address.url} is not a hub (status {status}).", _NOT_A_HUB, status)
        raise HubRefused(f"The hub {host} refuses: {reason}", hint, status, reason)


def incoming(space: str, found: Json) -> Incoming:
    """Parse a version of a note in an answer of the hub."""
    text = found.get("text")
    try:
        version = int(found["version"])
    except (KeyError, TypeError, ValueError):
        raise HubRefused("The hub sent a version without a number.", _NOT_A_HUB) from None
    is_erased = bool(found.get("erased"))
    text = text if isinstance(text, str) else None
    return Incoming(space, str(found.get("id", "")), version, text, is_erased, str(found.get("author", "")))


def _field(answer: Json, name: str, kind: type[Any]) -> Any:
    found = answer.get(name)
    if not isinstance(found, kind):
        raise HubRefused(f"The hub's answer has no `{name}`.", _NOT_A_HUB)
    return found


def _parse_object(data: bytes) -> Json:
    """The JSON object in an answer; empty if there is none."""
    try:
        found = json.loads(data)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}
