"""The hub's dashboard in a real browser: no obstacles, no complaint, and pages that follow changes."""

from __future__ import annotations

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect
from tests.hub.running import RunningHub, text_of
from tests.hub.test_ui import PAGES
from tests.web.ui.browsing import Watched, started

from anamnesis.hub import accounts
from anamnesis.hub.database import administrator

_RULES = {"runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]}


def test_a_person_logs_in_reads_and_sees_changes_on_pages_without_obstacles(running: RunningHub) -> None:
    boss = running.user("boss", "admin", core="owner")
    running.user("mate", core="writer")
    boss.put("core", "PLAN", text_of("PLAN", "# The plan\n\n- one\n- two", "Plan"))
    boss.put("core", "CLASH", text_of("CLASH", "The other one.", "Clash", tags=["conflict"]))
    with administrator(running.database) as db:
        accounts.invite(db, accounts.find_space(db, "core"), "later", "reader", "boss")
        accounts.invite(db, accounts.add_space(db, "other"), "boss", "writer", "mate")
    with started() as browser:
        for scheme in ("light", "dark"):
            context = browser.new_context(color_scheme=scheme, viewport={"width": 390, "height": 800})
            watched = Watched(context.new_page(), running.url)
            page = watched.open("/ui/notes?q=plan")
            found = {"login": Axe().run(page, options=_RULES).response["violations"]}
            page.fill("[name=token]", boss.token)
            page.click("text=Log in")
            expect(page.locator("h1")).to_contain_text("plan")
            for path in PAGES:
                watched.open(f"/ui/{path}")
                found[path] = Axe().run(page, options=_RULES).response["violations"]
                assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), path
            shown = {
                path: [(each["id"], [node["html"][:120] for node in each["nodes"]]) for each in faults]
                for path, faults in found.items()
            }
            assert {path: faults for path, faults in shown.items() if faults} == {}
            if scheme == "light":
                lose_nothing_when_a_login_ends(watched, boss.token)
            if scheme == "dark":
                watched.open("/ui/")
                page.wait_for_timeout(300)
                boss.put("core", "LIVE", text_of("LIVE", "Just now.", "Written while you look"))
                expect(page.locator("text=Written while you look")).to_be_visible()
            assert watched.faults == []
            context.close()


def lose_nothing_when_a_login_ends(watched: Watched, token: str) -> None:
    """What was typed stays in its form, which is sent again after another login. The answer to it is shown."""
    page = watched.open("/ui/spaces/core")
    page.fill("[name=user][required]", "newcomer")
    page.context.clear_cookies()
    page.click("button:has-text('Invite')")
    expect(page.locator("[role=alert]")).to_contain_text("Your login has ended, so nothing was saved.")
    with page.context.expect_page() as other:
        page.click("[role=alert] a")
    other.value.fill("[name=token]", token)
    other.value.click("text=Log in")
    expect(other.value.locator("nav")).to_be_visible()
    page.click("button:has-text('Invite')")
    expect(page.locator(".done")).to_contain_text("an invitation to be a reader waits there")
    expect(page.locator("td:has-text('reader')").first).to_be_visible()
    other.value.close()
    watched.faults.clear()  # the console reports the 401


pytestmark = pytest.mark.timeout(300)
