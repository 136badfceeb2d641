"""What a route is: a path and a short function. The function runs in a thread, in the transaction of its caller."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from functools import partial, wraps
from typing import TYPE_CHECKING, Any, TypeVar

import anyio
from anyio.to_thread import run_sync
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from anamnesis.hub.database import Connection, Database
from anamnesis.hub.keys import PREFIX, Key
from anamnesis.hub.limits import DEFAULT_RATE, Limits
from anamnesis.hub.live import Live
from anamnesis.hub.refusal import NotAllowed, NotAuthenticated, Refusal, TooLarge
from anamnesis.hub.tenancy import Caller
from anamnesis.web.metrics import Metrics

if TYPE_CHECKING:
    from anamnesis.hub.oauth import Issuer

T = TypeVar("T")
MOST_BODY_BYTES = 10_000_000
_LONGEST_TOKEN = 200
_MOST_DIGITS = 18
# The largest body at 35 KB a second; a slower client loses its connection.
_BODY_SECONDS = 300


class Hub:
    """What all routes share: the database, the key, the limits, the counters, and the address that clients know."""

    def __init__(
        self, database: Database, key: Key, url: str = "", rate: float = DEFAULT_RATE, issuer: Issuer | None = None
    ) -> None:
        self.database = database
        self.key = key
        self.url = url
        self.issuer = issuer
        self.limits = Limits(rate)
        self.live = Live(database.url)
        self.metrics = Metrics()
        # One thread for each connection: further requests wait here, and not for a connection of the pool.
        self.threads = anyio.CapacityLimiter(database.size)

    async def run(self, work: Callable[[], T]) -> T:
        """Run blocking work in a thread. It completes even if the client disconnects."""
        return await run_sync(work, limiter=self.threads)


@dataclass(frozen=True, slots=True)
class Call:
    """One authenticated request, in its transaction."""

    hub: Hub
    db: Connection
    caller: Caller
    path: Mapping[str, str]
    query: Mapping[str, str]
    body: Any

    def number(self, name: str, default: int, most: int) -> int:
        """A whole number of the query, from 1 on."""
        text = self.query.get(name)
        if text is None:
            return default
        found = number_in(text)
        if found is None or not 1 <= found <= most:
            raise Refusal(f"`{name}` {text[:40]!r} is not a whole number from 1 to {most}.")
        return found


def number_in(text: str) -> int | None:
    """A whole number of a path or a query, as PostgreSQL has them; None for any other text."""
    return int(text) if text.isdecimal() and len(text) <= _MOST_DIGITS else None


class Json(JSONResponse):
    """JSON that can always be sent: a lone surrogate, which JSON can name and UTF-8 cannot encode, is replaced."""

    def render(self, content: Any) -> bytes:
        return json.dumps(content, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")


Work = Callable[[Call], Any]
Endpoint = Callable[[Request], Awaitable[Response]]


def get(path: str, work: Work) -> Route:
    """A route that reads and needs a token. The result of `work` is sent as JSON, unless it is a response."""
    return Route(path, _authenticated(work, has_body=False), methods=["GET"])


def post(path: str, work: Work) -> Route:
    return Route(path, _authenticated(work, has_body=True), methods=["POST"])


def hub_of(request: Request) -> Hub:
    hub: Hub = request.app.state.hub
    return hub


def address_of(request: Request) -> str:
    return request.client.host if request.client else "unknown"


def bearer_of(request: Request) -> str:
    """The bearer token of a request; "" without one."""
    kind, _, token = request.headers.get("authorization", "").partition(" ")
    return token.strip() if kind.lower() == "bearer" else ""


def token_of(request: Request) -> bytes:
    """The hash of the token of a request."""
    token = bearer_of(request)
    if not token.startswith(PREFIX) or len(token) > _LONGEST_TOKEN:
        raise NotAuthenticated("This needs a token.", "Send it as `Authorization: Bearer anh_…`.")
    return hub_of(request).key.hash(token)


def refuse_other_origins(request: Request) -> None:
    """Refuse what a browser sends for a page of another site."""
    origin = request.headers.get("origin")
    host = request.headers.get("host", "").lower()
    if origin is not None and origin.lower() not in (f"http://{host}", f"https://{host}"):
        raise NotAllowed("Requests from pages of other sites are refused.")


async def body_of(request: Request) -> bytes:
    """The body of a request, which may not be longer than the hub accepts, whatever its head says."""
    data = bytearray()
    try:
        async with asyncio.timeout(_BODY_SECONDS):
            async for part in request.stream():
                data += part
                if len(data) > MOST_BODY_BYTES:
                    raise TooLarge(f"The body is larger than {MOST_BODY_BYTES:,} bytes.", "Send fewer changes at once.")
    except (ClientDisconnect, TimeoutError) as error:
        raise Refusal("The body is not complete.") from error
    return bytes(data)


def json_of(body: bytes) -> Any:
    try:
        return json.loads(body) if body else {}
    except (ValueError, RecursionError) as error:
        raise Refusal("The body is not JSON.") from error


def _authenticated(work: Work, *, has_body: bool) -> Endpoint:
    @wraps(work)
    async def endpoint(request: Request) -> Response:
        hub = hub_of(request)
        hub.limits.address.take(address_of(request))
        token = token_of(request)
        hub.limits.token.take(token)
        body = await body_of(request) if has_body else b""
        call = partial(_call, hub, token, work, request.path_params, request.query_params, body)
        try:
            return await hub.run(call)
        except NotAuthenticated:
            hub.limits.failure.take(address_of(request))
            raise

    return endpoint


def _call(
    hub: Hub, token: bytes, work: Work, path: Mapping[str, str], query: Mapping[str, str], body: bytes
) -> Response:
    """Answer a request, in a thread; a large body takes long to parse, so that is done here too."""
    given = json_of(body)
    with hub.database.entered(token) as (db, caller):
        answer = work(Call(hub, db, caller, path, query, given))
    return answer if isinstance(answer, Response) else Json(answer)
