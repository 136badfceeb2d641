"""Nothing that is typed into a form is lost, whatever happens between typing and saving; in a real browser."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect
from tests.web.daemon import Daemon, running
from tests.web.ui.browsing import Watched
from tests.web.ui.conftest import fill
from tests.web.ui.visiting import Visitor

from anamnesis.store import MemoryStore

Open = Callable[..., Watched]
TOKEN = "a-long-random-token-0123456789"
TYPED = "Typed for an hour."


@pytest.fixture(scope="module")
def opened(browser: Browser) -> Iterator[Callable[[str], Page]]:
    """Opens a page in a browser that other pages of the test share; the daemon may stop, which the console reports."""
    context = browser.new_context()

    def open(address: str) -> Page:
        page = context.new_page()
        page.goto(address)
        return page

    yield open
    context.close()


def drafts(page: Page) -> int:
    return int(page.evaluate("localStorage.length"))


def type_more(page: Page) -> None:
    page.fill("textarea", f"{page.input_value('textarea').rstrip()}\n{TYPED}\n")


def body_of(daemon: Daemon, note_id: str) -> str:
    return str(Visitor(daemon).data(f"/ui/notes/{note_id}")["note"]["body"])


def test_a_text_survives_a_stopped_daemon_and_a_closed_tab(tmp_path: Path, opened: Callable[[str], Page]) -> None:
    ids = fill(tmp_path)
    path = f"/ui/notes/{ids['Retry policy']}/edit"
    with running(tmp_path) as daemon:
        origin, port = f"http://{daemon.host}:{daemon.port}", str(daemon.port)
        page = opened(f"{origin}{path}")
        type_more(page)
    page.click("button:has-text('Save')")
    expect(page.locator("[role=alert]")).to_contain_text("There was no answer")
    assert TYPED in page.input_value("textarea")
    page.close()
    with running(tmp_path, "--port", port) as daemon:
        home = opened(f"{origin}/ui/")
        expect(home.locator(".draft")).to_contain_text("Not saved: Edit Retry policy")
        home.click(".draft summary")
        expect(home.locator(".draft pre")).to_contain_text(TYPED)
        home.click(".draft a")
        assert TYPED not in home.input_value("textarea")
        home.click("text=Put it into the form")
        assert TYPED in home.input_value("textarea")
        home.click("button:has-text('Save')")
        expect(home.locator(".done")).to_have_text("Saved.")
        assert TYPED in body_of(daemon, ids["Retry policy"])
        assert drafts(home) == 0


def test_a_form_from_before_a_restart_is_saved_by_a_second_click(tmp_path: Path, opened: Callable[[str], Page]) -> None:
    with running(tmp_path) as daemon:
        page, port = opened(f"http://{daemon.host}:{daemon.port}/ui/notes/new"), str(daemon.port)
    with running(tmp_path, "--port", port) as daemon:
        page.fill("[name=title]", "Typed before")
        page.fill("[name=body]", TYPED)
        page.click("button:has-text('Save')")
        expect(page.locator("[role=alert]")).to_contain_text("before the daemon was restarted")
        page.dblclick("button:has-text('Save')")
        expect(page.locator("h1")).to_have_text("Typed before")
        assert [note["title"] for note in Visitor(daemon).data("/ui/notes")["notes"]] == ["Typed before"]
        assert drafts(page) == 0


def test_the_text_of_a_note_that_was_deleted_meanwhile_is_saved_as_a_new_one(
    filled: dict[str, str], daemon: Daemon, opened: Callable[[str], Page]
) -> None:
    note = filled["How to deploy"]
    page = opened(f"http://{daemon.host}:{daemon.port}/ui/notes/{note}/edit")
    type_more(page)
    Visitor(daemon).send("/ui/notes/change", id=note, what="delete")
    page.click("button:has-text('Save')")
    expect(page.locator("[role=alert]")).to_contain_text(f"The note {note} is in the trash.")
    assert TYPED in page.input_value("textarea")
    page.reload()  # nothing is left of it but the draft
    page.click("text=Put it into the form")
    page.click("text=Save as a new note")
    expect(page.locator(".done")).to_have_text("Saved as a new note.")
    (new,) = [each for each in Visitor(daemon).data("/ui/notes")["notes"] if each["title"] == "How to deploy"]
    assert new["id"] != note
    assert (new["project"], new["type"], new["tags"]) == ("acme/web", "procedural", ["ops"])
    assert TYPED in body_of(daemon, new["id"])
    assert [each["id"] for each in Visitor(daemon).data("/ui/trash")["notes"]] == [note]
    assert drafts(page) == 0


def log_in(page: Page) -> None:
    page.fill("[name=token]", TOKEN)
    page.click("text=Log in")


@pytest.mark.parametrize("has_scripts", [True, False])
def test_a_text_survives_the_end_of_a_login(tmp_path: Path, browser: Browser, has_scripts: bool) -> None:
    """Without scripts, the browser itself still has the form, and sends it again."""
    ids = fill(tmp_path)
    with running(tmp_path, ANAMNESIS_TOKEN=TOKEN) as daemon:
        context = browser.new_context(java_script_enabled=has_scripts)
        page = context.new_page()
        page.goto(f"http://{daemon.host}:{daemon.port}/ui/notes/{ids['Retry policy']}/edit")
        log_in(page)
        type_more(page)
        context.clear_cookies()
        page.click("button:has-text('Save')")
        expect(page.locator("main")).to_contain_text("Your login has ended")
        with context.expect_page() as other:
            page.click("a:has-text('Log in')")
        log_in(other.value)
        expect(other.value.locator("nav")).to_be_visible()
        if has_scripts:
            page.click("button:has-text('Save')")
        else:
            page.reload()
        expect(page.locator(".done")).to_have_text("Saved.")
        assert daemon.ask("GET", f"/ui/notes/{ids['Retry policy']}", Accept="application/json").status == 401
        with MemoryStore(tmp_path) as store:
            assert TYPED in store.get(ids["Retry policy"]).body
        context.close()


def test_a_text_is_there_again_after_leaving_its_page(
    filled: dict[str, str], daemon: Daemon, opened: Callable[[str], Page]
) -> None:
    page = opened(f"http://{daemon.host}:{daemon.port}/ui/notes/{filled['Retry policy']}/edit")
    type_more(page)
    page.click("nav >> text=Trash")
    page.go_back()
    if page.locator(".draft").count():
        page.click("text=Put it into the form")
    assert TYPED in page.input_value("textarea")
    page.reload()
    page.click("text=Discard it")
    assert (drafts(page), page.locator(".draft").count()) == (0, 0)
    page.goto(f"http://{daemon.host}:{daemon.port}/ui/")
    assert page.locator(".draft").count() == 0
    assert TYPED not in body_of(daemon, filled["Retry policy"])


def test_back_to_the_form_of_a_saved_new_note_does_not_offer_to_save_it_again(
    daemon: Daemon, opened: Callable[[str], Page]
) -> None:
    page = opened(f"http://{daemon.host}:{daemon.port}/ui/notes/new")
    page.fill("[name=title]", "Written once")
    page.fill("[name=body]", TYPED)
    page.click("button:has-text('Save')")
    expect(page.locator("h1")).to_have_text("Written once")
    page.go_back()
    expect(page.locator("textarea")).to_have_value("")


def test_back_to_a_form_shows_the_note_as_it_is(
    filled: dict[str, str], daemon: Daemon, opened: Callable[[str], Page]
) -> None:
    """A text that the browser restored would be saved over what others have changed since."""
    page = opened(f"http://{daemon.host}:{daemon.port}/ui/notes/{filled['Retry policy']}/edit")
    type_more(page)
    page.click("button:has-text('Save')")
    expect(page.locator(".done")).to_have_text("Saved.")
    with MemoryStore(daemon.home) as store:
        store.update(filled["Retry policy"], body="By others.")
    page.go_back()
    expect(page.locator("textarea")).to_be_visible()
    assert page.input_value("textarea").rstrip().endswith("---\nBy others.")
    page.click("button:has-text('Save')")
    expect(page.locator("h1")).to_have_text("Retry policy")
    assert body_of(daemon, filled["Retry policy"]).rstrip() == "By others."


def test_a_draft_is_sent_with_nothing_but_its_form(
    filled: dict[str, str], daemon: Daemon, opened: Callable[[str], Page]
) -> None:
    page = opened(f"http://{daemon.host}:{daemon.port}/ui/notes/{filled['Retry policy']}/edit")
    sent: list[str] = []
    page.on("request", lambda request: sent.append(f"{request.method} {request.url} {request.post_data}"))
    type_more(page)
    page.goto(f"http://{daemon.host}:{daemon.port}/ui/")
    expect(page.locator(".draft pre")).to_contain_text(TYPED)
    assert sent
    assert TYPED not in "".join(sent).replace("+", " ").replace("%20", " ")
    page.click("text=Discard it")


def test_two_tabs_keep_a_draft_each(filled: dict[str, str], daemon: Daemon, opened: Callable[[str], Page]) -> None:
    address = f"http://{daemon.host}:{daemon.port}/ui/notes/new"
    one, other = opened(address), opened(address)
    for page, title in ((one, "First"), (other, "Second")):
        page.fill("[name=title]", title)
        page.fill("[name=body]", TYPED)
    assert drafts(one) == 2
    one.click("button:has-text('Save')")
    expect(one.locator("h1")).to_have_text("First")
    other.close()
    one.goto(address)
    one.click("text=Put it into the form")
    one.click("button:has-text('Save')")
    expect(one.locator("h1")).to_have_text("Second")
    assert drafts(one) == 0
    assert {note["title"] for note in Visitor(daemon).data("/ui/notes")["notes"]} > {"First", "Second"}


@pytest.mark.parametrize(
    ("path", "fields", "said"),
    [
        ("/ui/notes/new", {"title": "T", "body": "x" * (9 << 20)}, "the body is too large"),
        ("/ui/settings/inject_budget", {"value": "many"}, "is not a whole number"),
        ("/ui/notes/change", {"what": "delete"}, "No note is chosen"),
        ("/ui/notes/change", {"form_token": "of another process", "id": "x"}, "before the daemon was restarted"),
        ("/ui/nothing", {}, "no such page"),
    ],
)
def test_the_answer_to_a_form_is_a_page(shared: Daemon, path: str, fields: dict[str, str], said: str) -> None:
    from urllib.parse import urlencode

    page = shared.ask("GET", "/ui/notes/new", Accept="text/html").text
    token = re.search(r'name="form_token" value="([^"]+)"', page)
    assert token
    body = urlencode({"form_token": token[1], **fields})
    kind = "application/x-www-form-urlencoded"
    answer = shared.ask("POST", path, body, Content_Type=kind, Accept="text/html,*/*")
    assert answer.status >= 400
    assert answer.headers["content-type"].startswith("text/html")
    assert said in answer.text


def test_the_refusal_of_another_origin_is_a_page_that_shows_what_was_sent_as_text(shared: Daemon) -> None:
    hostile = "https://<script>alert(1)</script>"
    answer = shared.ask("POST", "/ui/notes/change", "", Origin=hostile, Accept="text/html")
    assert answer.status == 403
    assert "<script>" not in answer.text
    assert "&lt;script&gt;" in answer.text
