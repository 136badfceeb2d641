"""The dashboard in a real browser: each flow by pointer, by keyboard, and without scripts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, expect
from tests.waiting import wait_until
from tests.web.daemon import running
from tests.web.ui.attacks import ATTACKS
from tests.web.ui.browsing import Watched
from tests.web.ui.test_pages import PAGES

from anamnesis.notes.foreign import as_foreign
from anamnesis.store import MemoryStore

Open = Callable[..., Watched]


def test_a_note_is_written_previewed_edited_and_restored(watched: Open) -> None:
    page = watched().open("/ui/notes/new")
    page.fill("[name=title]", "From a browser")
    page.fill("[name=body]", "It says *this*.")
    page.click("text=Preview")
    expect(page.locator(".preview em")).to_have_text("this")
    page.click("button:has-text('Save')")
    expect(page.locator("h1")).to_have_text("From a browser")
    page.click("text=Edit")
    page.fill("textarea", page.input_value("textarea").replace("*this*", "*that*"))
    page.click("button:has-text('Save')")
    expect(page.locator(".body em")).to_have_text("that")
    page.click("text=History")
    page.click("summary:has-text('Revision 1')")
    page.click("text=Restore this revision")
    expect(page.locator(".body em")).to_have_text("this")


def test_two_tabs_that_edit_one_note_lose_neither_edit(filled: dict[str, str], watched: Open) -> None:
    path = f"/ui/notes/{filled['Retry policy']}/edit"
    one, other = watched().open(path), watched()
    other.open(path)
    one.fill("textarea", one.input_value("textarea").replace("Retry policy", "Retry rules"))
    one.click("button:has-text('Save')")
    expect(one.locator("h1")).to_have_text("Retry rules")
    late = other.page
    late.fill("textarea", late.input_value("textarea").replace("five", "six"))
    late.click("button:has-text('Save')")
    expect(late.locator("[role=alert]")).to_contain_text("Nothing was overwritten")
    other.faults.clear()  # the console reports the 409
    late.click("button:has-text('Save')")
    expect(late.locator("h1")).to_have_text("Retry rules")
    expect(late.locator(".body")).to_contain_text("six")


def test_notes_are_found_chosen_deleted_and_brought_back_by_keyboard_alone(watched: Open) -> None:
    page = watched().open("/ui/notes")
    page.keyboard.press("/")
    page.keyboard.type("deploy")
    expect(page.locator("h1")).to_contain_text("deploy")
    page.keyboard.press("Escape")
    page.keyboard.press("j")
    page.keyboard.press("x")
    page.select_option("[name=what]", "delete")
    page.locator("text=Do it").focus()
    page.keyboard.press("Enter")
    expect(page.locator(".done")).to_contain_text("1 note is in the trash")
    page.locator("text=Undo").focus()
    page.keyboard.press("Enter")
    expect(page.locator(".done")).to_contain_text("1 note is back")
    page.keyboard.press("j")
    page.keyboard.press("j")
    page.keyboard.press("k")
    page.keyboard.press("Enter")
    expect(page.locator("article h1")).to_be_visible()
    page.keyboard.press("e")
    expect(page.locator("textarea")).to_be_visible()


def test_many_notes_are_tagged_at_once_and_undone(watched: Open) -> None:
    page = watched().open("/ui/notes")
    for box in page.locator("[name=id]").all():
        box.check()
    page.select_option("[name=what]", "tag")
    page.fill("[name=value]", "seen")
    page.click("text=Do it")
    expect(page.locator(".done")).to_contain_text("4 notes are changed")
    expect(page.locator("a.tag:has-text('seen')")).to_have_count(4)
    page.click("text=Undo")
    expect(page.locator("a.tag:has-text('seen')")).to_have_count(0)


def test_what_another_program_writes_appears_by_itself(watched: Open, tmp_path: Path) -> None:
    page = watched().open("/ui/notes")
    with MemoryStore(tmp_path) as store:
        store.write(type="semantic", title="Written elsewhere", body="By a script.")
    expect(page.locator("text=Written elsewhere")).to_be_visible(timeout=20_000)


def test_a_sync_is_seen_to_end_without_a_reload(tmp_path: Path, browser: Browser) -> None:
    with running(tmp_path, ANAMNESIS_GIT_REMOTE=str(tmp_path / "remote.git")) as daemon:
        page = Watched(browser.new_page(), f"http://{daemon.host}:{daemon.port}").open("/ui/fleet")
        page.click("text=Sync now")
        expect(page.locator(".attention")).to_contain_text("The last sync failed", timeout=20_000)
        expect(page.locator("text=Sync now")).to_be_visible()
        page.close()


def test_a_person_logs_in_with_the_token_and_is_sent_home(tmp_path: Path, browser: Browser) -> None:
    with running(tmp_path, ANAMNESIS_TOKEN="a-long-random-token-0123456789") as daemon:
        page = Watched(browser.new_page(), f"http://{daemon.host}:{daemon.port}").open("/ui/notes")
        page.fill("[name=token]", "a-long-random-token-0123456789")
        page.click("text=Log in")
        expect(page.locator("h1")).to_have_text("An empty memory")
        page.close()


def test_everything_can_be_read_and_changed_without_scripts(filled: dict[str, str], watched: Open) -> None:
    page = watched(java_script_enabled=False).open("/ui/")
    page.fill("[type=search]", "deploy")
    page.press("[type=search]", "Enter")
    page.click("text=How to deploy")
    expect(page.locator(".body code")).to_have_text("scripts/deploy.sh --dry-run")
    page.click("text=Pin")
    expect(page.locator("a.tag:has-text('pinned')")).to_be_visible()
    page.goto(f"{page.url.partition('/ui/')[0]}/ui/graph?around=note:{filled['Use WAL mode']}")
    expect(page.locator("text=links to")).to_be_visible()


def test_the_graph_grows_by_a_click(filled: dict[str, str], watched: Open) -> None:
    page = watched().open(f"/ui/graph?around=note:{filled['Use WAL mode']}")
    wait_until(lambda: page.evaluate("nodes.size") >= 3)
    before = page.evaluate("heat = 0, nodes.size")
    place = page.evaluate(
        "() => { const n = nodes.get('project:acme/api'); return"
        " [n.x * view.scale + view.x + canvas.clientWidth / 2, n.y * view.scale + view.y + canvas.clientHeight / 2]; }"
    )
    page.locator("canvas").click(position={"x": place[0], "y": place[1]})
    wait_until(lambda: page.evaluate("nodes.size") > before)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_page_has_an_obstacle_for_people_with_disabilities(
    filled: dict[str, str], watched: Open, scheme: str
) -> None:
    each = watched(color_scheme=scheme, viewport={"width": 1280, "height": 900})
    rules = {"runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]}
    note = f"/ui/notes/{filled['Use WAL mode']}"
    found = {}
    for path in (*PAGES, note, f"{note}/edit", f"{note}/history"):
        each.open(path)
        violations = Axe().run(each.page, options=rules).response["violations"]
        found[path] = [(rule["id"], [node["html"][:120] for node in rule["nodes"]]) for rule in violations]
    assert {path: faults for path, faults in found.items() if faults} == {}


@pytest.mark.parametrize("width", [1440, 1024, 390])
def test_no_page_is_wider_than_the_screen(filled: dict[str, str], watched: Open, width: int) -> None:
    each = watched(viewport={"width": width, "height": 800})
    for path in (*PAGES, f"/ui/notes/{filled['Use WAL mode']}"):
        page = each.open(path)
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), path


# What may be in the text of a note, and where its links may go.
_ALLOWED = """() => [...document.querySelectorAll('.body, .body *, h1, aside, aside *')].flatMap(element => [
  ...(/^(DIV|H[1-6]|P|BR|HR|BLOCKQUOTE|PRE|CODE|EM|STRONG|S|A|UL|OL|LI|TABLE|THEAD|TBODY|TR|TH|TD|SPAN)$/.test(element.tagName)
      || (!element.closest('.body') && /^(ASIDE|SECTION|DL|DT|DD|TIME|FORM|INPUT|BUTTON|DETAILS|SUMMARY|LABEL)$/
      .test(element.tagName)) ? [] : [element.tagName]),
  ...[...element.attributes].filter(each => /^(on|style|srcdoc|src|action|formaction)/i.test(each.name)
      && element.closest('.body')).map(each => `${element.tagName} ${each.name}`),
  ...(element.hasAttribute('href') && !/^(https?:|mailto:)/.test(element.href) ? [element.getAttribute('href')] : []),
  ...(element.hasAttribute('href') && element.closest('.body') && element.host === location.host
      && !/^\\/ui\\/|^#/.test(element.getAttribute('href')) ? [element.getAttribute('href')] : []),
])"""


def test_no_hostile_note_runs_loads_or_hides_anything(watched: Open, tmp_path: Path) -> None:
    assert len(ATTACKS) >= 100
    with MemoryStore(tmp_path) as store:
        notes = [store.write(type="semantic", title=text[:200], body=text, tags=["hostile"]) for text in ATTACKS]
        store.put_all(as_foreign(replace(note, id=f"foreign-{note.id}"), note.title) for note in notes)
    each = watched()
    for note, text in zip(notes, ATTACKS, strict=True):
        page = each.open(f"/ui/notes/{note.id}")
        assert page.evaluate("window.hacked") is None, text
        assert page.evaluate(_ALLOWED) == [], text
        assert not set(page.inner_text("main")) & set("\u202e\u202c\u2066\u2069\u001b"), text
        assert each.faults == [], text
    page = each.open("/ui/review")
    assert page.locator(".body").count() == len(ATTACKS)
    assert page.evaluate(_ALLOWED) == []
    for path in (
        "/ui/",
        "/ui/review",
        "/ui/notes?tag=hostile",
        "/ui/notes?q=hacked",
        "/ui/timeline",
        "/ui/told",
        "/ui/graph",
    ):
        page = each.open(path)
        assert page.evaluate("window.hacked") is None, path
