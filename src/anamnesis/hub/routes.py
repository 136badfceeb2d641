"""What a route is: a path and a short function. The function runs in a thread, in the transaction of its caller."""

from __future__ import annotations

import asyncio
import json
import time
from collections import OrderedDict
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial, wraps
from typing import TYPE_CHECKING, Any, TypeVar

import anyio
from anyio.to_thread import run_sync
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from anamnesis.hub.database import Connection, Database, Entering
from anamnesis.hub.keys import PREFIX, Key
from anamnesis.hub.limits import DEFAULT_RATE, Limits
from anamnesis.hub.live import Live
from anamnesis.hub.refusal import NotAllowed, NotAuthenticated, Refusal, TooLarge
from anamnesis.hub.sharing import MOST_BODY_BYTES, SMALL_BYTES, Sharing
from anamnesis.hub.tenancy import Caller
from anamnesis.web.metrics import Metrics

if TYPE_CHECKING:
    from anamnesis.hub.oauth import Issuer

T = TypeVar("T")
_LONGEST_TOKEN = 200
_MOST_DIGITS = 18
# The largest body at 35 KB a second; a slower client loses its connection.
_BODY_SECONDS = 300
# How long a token is known to be someone's, and of how many. It only decides whose turn a request takes, and that its
# body is read: the transaction in which the request is answered looks its token up.
_KNOWN_SECONDS, _MOST_KNOWN = 60, 50_000


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
        self.sharing = Sharing(database.size)
        self._members: OrderedDict[str | bytes, tuple[str, float]] = OrderedDict()

    async def run(self, work: Callable[[], T], member: str) -> T:
        """Run blocking work in a thread, when it is the member's turn. It completes even if the client disconnects."""
        async with self.sharing.turn(member):
            return await run_sync(work, limiter=self.threads)

    async def member(self, credential: str | bytes, entering: Entering, address: str) -> str:
        """The name of the user whose credential this is; counts a failure of the address if it is not valid."""
        name, until = self._members.get(credential, ("", 0.0))
        if until > time.monotonic():
            return name

        def find() -> str:
            with entering() as (_, caller):
                return caller.name

        try:
            name = await self.run(find, stranger(address))
        except NotAuthenticated:
            self.limits.failure.take(address)
            raise
        self._members[credential] = name, time.monotonic() + _KNOWN_SECONDS
        while len(self._members) > _MOST_KNOWN:
            self._members.popitem(last=False)
        return name


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


def stranger(address: str) -> str:
    """Who takes the turns of requests without a valid token; no user has such a name."""
    return f"from {address}"


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


@asynccontextmanager
async def body_of(request: Request, member: str, most: int = SMALL_BYTES) -> AsyncIterator[bytes]:
    """The body of a request, which takes room until the request is answered.

    Call it when it is known who the member is. A body longer than `most` is refused, whatever its head says.
    """
    declared = request.headers.get("content-length", "")
    size = int(declared) if declared.isdecimal() and len(declared) <= _MOST_DIGITS else most
    hub = hub_of(request)
    async with hub.sharing.room(member, min(size, most)):
        data = bytearray()
        try:
            async with asyncio.timeout(_BODY_SECONDS):
                async for part in request.stream():
                    data += part
                    if len(data) > most:
                        raise TooLarge(f"The body is larger than {most:,} bytes.", "Send less at once.")
        except (ClientDisconnect, TimeoutError) as error:
            raise Refusal("The body is not complete.") from error
        yield bytes(data)


def json_of(body: bytes) -> Any:
    try:
        return json.loads(body) if body else {}
    except (ValueError, RecursionError) as error:
        raise Refusal("The body is not JSON.") from error


async def admitted(request: Request) -> tuple[bytes, str]:
    """The hash of the token of a request, and whose it is. Nothing more of a request is read without a valid one."""
    hub, address = hub_of(request), address_of(request)
    hub.limits.address.take(address)
    token = token_of(request)
    return token, await admitted_by(hub, token, address)


async def admitted_by(hub: Hub, token: bytes, address: str) -> str:
    """Whose token this is, given by its hash."""
    hub.limits.token.take(token)
    return await hub.member(token, partial(hub.database.entered, token), address)


def _authenticated(work: Work, *, has_body: bool) -> Endpoint:
    @wraps(work)
    async def endpoint(request: Request) -> Response:
        hub = hub_of(request)
        token, member = await admitted(request)
        call = partial(_call, hub, token, work, request.path_params, request.query_params)
        if not has_body:
            return await hub.run(partial(call, b""), member)
        async with body_of(request, member, MOST_BODY_BYTES) as body:
            return await hub.run(partial(call, body), member)

    return endpoint


def _call(
    hub: Hub, token: bytes, work: Work, path: Mapping[str, str], query: Mapping[str, str], body: bytes
) -> Response:
    """Answer a request, in a thread; a large body takes long to parse, so that is done here too."""
    given = json_of(body)
    with hub.database.entered(token) as (db, caller):
        answer = work(Call(hub, db, caller, path, query, given))
    return answer if isinstance(answer, Response) else Json(answer)
