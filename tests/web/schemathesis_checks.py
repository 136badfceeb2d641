"""A check for Schemathesis: no internal error, except the one that Engram has for an unknown session."""

from __future__ import annotations

from typing import Any

import schemathesis


@schemathesis.check
def only_recorded_failures(ctx: Any, response: Any, case: Any) -> None:
    if response.status_code >= 500:
        assert "FOREIGN KEY constraint failed (787)" in response.text
