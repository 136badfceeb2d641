"""Timeouts and size limits of the server's clients."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Limits:
    """Times in seconds, sizes in bytes. Times are checked once per `sweep`, and only while there are connections.

    A request that is being answered and an answer that is being read are never cut.
    """

    # From the first byte of a head, or from the start of the connection, to the head's end.
    head: float = 10.0
    # Without a byte of a body, and for all of it.
    body: float = 30.0
    whole_body: float = 600.0
    # Between requests.
    idle: float = 60.0
    # Without the client reading any of an answer.
    unread: float = 60.0
    # For the client of a refused request to read its answer, while the rest of the request is discarded.
    linger: float = 2.0
    sweep: float = 1.0
    # Bytes of all requests that are not answered yet.
    held: int = 128 << 20
    connections: int = 1024
