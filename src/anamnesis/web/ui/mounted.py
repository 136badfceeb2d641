"""Mounts the dashboard without importing it; the first request does."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from anamnesis.web.guard import PAGES
from anamnesis.web.mount import Application, Mount
from anamnesis.web.route import BodyLimit

if TYPE_CHECKING:
    from anamnesis.config import Settings
    from anamnesis.vault import Vault
    from anamnesis.web.lanes import Lanes

# The longest form, which limits the longest note that can be saved.
_LONGEST_FORM = 8 << 20


def dashboard(vault: Callable[[], Vault], lanes: Lanes, settings: Settings) -> Mount:
    """The dashboard of a daemon."""

    def make() -> Application:
        from anamnesis.web.ui.site import build_site  # imports Starlette and Jinja2: a tenth of a second and 20 MB

        return build_site(vault, lanes, settings)

    return Mount(PAGES, make, BodyLimit(_LONGEST_FORM))
