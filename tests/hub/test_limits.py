"""Rate limits: a burst, then so many a second, for each caller by itself."""

from __future__ import annotations

import pytest

from anamnesis.hub.limits import Limit
from anamnesis.hub.refusal import TooMany


def test_a_caller_has_a_burst_and_then_the_rate_and_others_do_not_pay_for_it() -> None:
    now = 0.0
    limit = Limit(2, 3, lambda: now)
    for _ in range(3):
        limit.take("you")
    with pytest.raises(TooMany) as refused:
        limit.take("you")
    assert refused.value.seconds == 1
    limit.take("mate")
    now = 0.5
    limit.take("you")
    with pytest.raises(TooMany):
        limit.take("you")
    now = 1_000
    for _ in range(3):
        limit.take("you")
    with pytest.raises(TooMany):
        limit.take("you")
