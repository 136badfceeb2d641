"""Chooses the HTTP proxy for a hub from HTTPS_PROXY, HTTP_PROXY and NO_PROXY. Pure."""

from __future__ import annotations

import contextlib
import ipaddress
from base64 import b64encode
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

from anamnesis.config import Proxies
from anamnesis.errors import InvalidArgument
from anamnesis.exchange.account import Address

NO_PROXIES = Proxies()


class Proxy(NamedTuple):
    """The address of a proxy, and the headers for its authentication."""

    host: str
    port: int
    headers: dict[str, str]

    @property
    def name(self) -> str:
        return f"{self.host}:{self.port}"

    def __repr__(self) -> str:
        return f"Proxy({self.name})"  # without the password


def proxy_for(address: Address, proxies: Proxies) -> Proxy | None:
    """The proxy for a hub; None for a direct connection, which loopback always has."""
    given = proxies.https if address.is_secure else proxies.http
    if not given or _is_local(address.host) or _is_excluded(address, proxies.no):
        return None
    variable = "HTTPS_PROXY" if address.is_secure else "HTTP_PROXY"
    try:
        parts = urlsplit(given if "://" in given else f"http://{given}")
        host, port = parts.hostname or "", parts.port or 80
    except ValueError:
        parts, host, port = urlsplit(""), "", 0
    if parts.scheme != "http" or not host or not given.isprintable():
        raise InvalidArgument(f"The proxy in {variable} cannot be used.", "Use the form http://host:port.")
    if parts.username is None:
        return Proxy(host, port, {})
    user = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
    return Proxy(host, port, {"Proxy-Authorization": f"Basic {b64encode(user.encode()).decode()}"})


def _is_excluded(address: Address, names: str) -> bool:
    """Whether NO_PROXY matches a host: by its name, a parent domain, a network or `*`."""
    host, port = address.host.lower().rstrip("."), f":{address.port}"
    for each in (name.strip().lower() for name in names.split(",")):
        if each == "*" or _is_in_network(host, each):
            return True
        name = each.removesuffix(port).removeprefix("*").strip("[]").lstrip(".")
        if name and (host == name or host.endswith(f".{name}")):
            return True
    return False


def _is_in_network(host: str, network: str) -> bool:
    with contextlib.suppress(ValueError):
        return ipaddress.ip_address(host) in ipaddress.ip_network(network, strict=False)
    return False


def _is_local(host: str) -> bool:
    with contextlib.suppress(ValueError):
        return ipaddress.ip_address(host).is_loopback
    return host.lower().rstrip(".") == "localhost" or host.lower().endswith(".localhost")
