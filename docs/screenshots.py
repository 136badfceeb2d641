"""Takes the pictures of the dashboard in the README with the system's Chromium, from a memory in a temporary home."""

from __future__ import annotations

import base64
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import Browser

DOCS = Path(__file__).parent
sys.path[:0] = [str(DOCS), str(DOCS.parent)]
import demo_memory  # noqa: E402  beside this script
from tests.web.daemon import running  # noqa: E402  the daemon and the browser of the tests, which are not installed
from tests.web.ui.browsing import started  # noqa: E402

PICTURES = DOCS / "pictures"
SIZE = {"width": 1280, "height": 800}
SCHEMES = ("light", "dark")
_QUALITY = 75
# For the positions in the graph, and for the facets, which come a moment later.
_SETTLED_MS = 1_000


def take() -> None:
    """Write a picture of each page in both schemes."""
    PICTURES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        note = demo_memory.fill(home)
        settings = {"ANAMNESIS_MACHINE_ID": demo_memory.MACHINES[0], "ANAMNESIS_DREAM": "off"}
        pages = {"home": "/ui/", "note": f"/ui/notes/{note}"}
        with running(home, **settings) as daemon, started() as browser:
            demo_memory.talk(daemon.host, daemon.port)
            for name, path in pages.items():
                for scheme in SCHEMES:
                    picture = _picture(browser, f"http://{daemon.host}:{daemon.port}{path}", scheme)
                    (PICTURES / f"{name}-{scheme}.webp").write_bytes(picture)


def _picture(browser: Browser, address: str, scheme: str) -> bytes:
    """A page as WebP, which Playwright itself does not write."""
    context = browser.new_context(color_scheme=scheme, viewport=SIZE, reduced_motion="reduce")  # type: ignore[arg-type]
    page = context.new_page()
    page.goto(address)
    page.wait_for_timeout(_SETTLED_MS)
    options = {"format": "webp", "quality": _QUALITY}
    taken = context.new_cdp_session(page).send("Page.captureScreenshot", options)
    context.close()
    return base64.b64decode(taken["data"])


if __name__ == "__main__":
    take()
