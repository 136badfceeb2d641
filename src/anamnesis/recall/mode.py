"""How notes are ranked: by words and meaning together, by words alone, or by meaning alone."""

from __future__ import annotations

from typing import Literal, get_args

Mode = Literal["fused", "words", "meaning"]
MODES = get_args(Mode)
