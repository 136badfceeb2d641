"""The device flow: a machine asks for a code, a person confirms it, and the machine gets a token."""

from __future__ import annotations

from functools import partial

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from anamnesis.hub import accounts
from anamnesis.hub.incoming import read_machine, read_object
from anamnesis.hub.refusal import Refusal
from anamnesis.hub.routes import Hub, address_of, body_of, hub_of, json_of, stranger

_INTERVAL = 5
# "Precondition required": the person has not confirmed it yet.
_PENDING = 428


async def start(request: Request) -> Response:
    """Begin a login: the code for the machine, and the one that a person confirms at the address. Without a token.

    Body: {"machine"}

    Answer: {"device_code", "user_code", "verification_uri", "interval", "expires_in"}
    """
    hub, somebody = hub_of(request), stranger(address_of(request))
    hub.limits.device.take(address_of(request))
    async with body_of(request, somebody) as body:
        machine = read_machine(read_object(json_of(body)))
    code, user_code = await hub.run(partial(_start, hub, machine), somebody)
    base = hub.url or str(request.base_url).rstrip("/")
    answer = {
        "device_code": code,
        "user_code": user_code,
        "verification_uri": f"{base}/ui/device",
        "interval": _INTERVAL,
        "expires_in": accounts.DEVICE_SECONDS,
    }
    return JSONResponse(answer)


async def redeem(request: Request) -> Response:
    """A token for a login that was confirmed, once; 428 until then, 400 once it has expired. Without a token.

    Body: {"device_code"}

    Answer: {"token", "user"}
    """
    hub, somebody = hub_of(request), stranger(address_of(request))
    hub.limits.address.take(address_of(request))
    async with body_of(request, somebody) as body:
        code = read_object(json_of(body)).get("device_code")
    if not isinstance(code, str) or not code or len(code) > 200:
        raise Refusal("`device_code` is missing.", "`POST /v1/device` gives one.")
    found = await hub.run(partial(_redeem, hub, code), somebody)
    if found.state == "pending":
        return JSONResponse({"error": "authorization_pending", "hint": "Wait until the code is confirmed."}, _PENDING)
    if found.state == "expired":
        hub.limits.failure.take(address_of(request))
        raise Refusal("The code is unknown, used or expired.", "Start again: anamnesis login")
    return JSONResponse({"token": found.token, "user": found.user})


def _start(hub: Hub, machine: str) -> tuple[str, str]:
    with hub.database.transaction() as db:
        return accounts.start_device(db, hub.key, machine)


def _redeem(hub: Hub, code: str) -> accounts.Redeemed:
    with hub.database.transaction() as db:
        return accounts.redeem_device(db, hub.key, code)


ROUTES = [Route("/v1/device", start, methods=["POST"]), Route("/v1/device/token", redeem, methods=["POST"])]
