"""A real browser for tests: the system's Chromium, driven by Playwright, which must not complain about a page."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, Page, expect, sync_playwright

PROGRAMS = ("chromium", "chromium-browser", "google-chrome")
# Nothing but the page: the browser would look for updates and ask its vendor's servers by itself.
_OPTIONS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]


# On a busy machine a page takes its time.
expect.set_options(timeout=20_000)


def program() -> str:
    found = next((path for name in PROGRAMS if (path := shutil.which(name))), None)
    assert found, f"The tests need one of {', '.join(PROGRAMS)}; `make test` installs it where it may."
    return found


@contextmanager
def started() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program(), args=_OPTIONS)
        yield browser
        browser.close()


class Watched:
    """A page, and what went wrong in it: errors, refusals of the policy, requests to other hosts, dialogs."""

    def __init__(self, page: Page, origin: str) -> None:
        self.page = page
        self.origin = origin
        self.faults: list[str] = []
        page.on("pageerror", lambda error: self._tell(f"error: {error}"))
        page.on("console", lambda message: self._tell(message.text) if message.type == "error" else None)
        page.on("request", lambda asked: None if asked.url.startswith(origin) else self._tell(f"asked {asked.url}"))
        page.on("dialog", lambda dialog: self._tell(f"dialog: {dialog.message}"))

    def _tell(self, fault: str) -> None:
        if "Transition was" not in fault:  # a navigation that is replaced by the next
            self.faults.append(fault)

    def open(self, path: str) -> Page:
        self.page.goto(f"{self.origin}{path}")
        return self.page


def screenshot(page: Page, folder: Path, name: str, **options: Any) -> None:
    page.screenshot(path=folder / f"{name}.png", **options)
