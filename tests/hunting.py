"""Random and long runs are short in `make test`, and long in `make hunt`, which lists them."""

from __future__ import annotations

from hypothesis import settings


def at_length(usual: int, hunting: int) -> int:
    """How many steps, writes or examples a test makes."""
    return hunting if settings.get_current_profile_name() == "hunt" else usual
