"""The dashboard in a real browser: each flow by pointer, by keyboard, and without scripts."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, expect
from tests.waiting import wait_until
from tests.web.daemon import running
from tests.web.ui.browsing import Watched
from tests.web.ui.conftest import Lived
from tests.web.ui.test_pages import PAGES

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
    page.keyboard.press("a")
    expect(page.locator("[name=what]")).to_be_focused()
    page.keyboard.type("delete")
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(page.locator(".done")).to_contain_text("1 note is in the trash")
    page.locator("#main").focus()  # as the link at the beginning of each page does
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(page.locator(".done")).to_contain_text("1 note is restored")
    page.keyboard.press("j")
    page.keyboard.press("j")
    page.keyboard.press("k")
    page.keyboard.press("Enter")
    expect(page.locator("article h1")).to_be_visible()
    page.keyboard.press("e")
    expect(page.locator("textarea")).to_be_visible()


def test_many_notes_are_tagged_at_once_and_undone(watched: Open) -> None:
    page = watched().open("/ui/notes")
    page.check("[data-all]")
    page.select_option("[name=what]", "tag")
    page.fill("[name=value]", "seen")
    page.click("text=Apply")
    expect(page.locator(".done")).to_contain_text("4 notes are changed")
    expect(page.locator("a.tag:has-text('seen')")).to_have_count(4)
    page.click("text=Undo")
    expect(page.locator("a.tag:has-text('seen')")).to_have_count(0)


def test_a_note_of_another_program_appears_by_itself(watched: Open, tmp_path: Path) -> None:
    page = watched().open("/ui/notes")
    with MemoryStore(tmp_path) as store:
        store.write(type="semantic", title="Written elsewhere", body="By a script.")
    expect(page.locator("text=Written elsewhere")).to_be_visible(timeout=20_000)


def test_changes_appear_during_a_search_but_wait_while_a_box_is_checked(watched: Open, tmp_path: Path) -> None:
    page = watched().open("/ui/notes")
    page.focus("[data-search]")
    with MemoryStore(tmp_path) as store:
        store.write(type="semantic", title="While searching", body="By a script.")
        expect(page.locator("text=While searching")).to_be_visible()
        expect(page.locator("[data-search]")).to_be_focused()
        box = page.locator("[name=id]").first
        box.check()
        page.evaluate("source.addEventListener('notes', () => (window.told = true))")
        store.write(type="semantic", title="While choosing", body="By a script.")
        wait_until(lambda: page.evaluate("window.told"))
        expect(box).to_be_checked()
        expect(page.locator("text=While choosing")).to_have_count(0)
        box.uncheck()
        expect(page.locator("text=While choosing")).to_be_visible()


def test_a_daemon_that_has_ended_is_noticed(filled: dict[str, str], tmp_path: Path, browser: Browser) -> None:
    with running(tmp_path) as daemon:
        page = Watched(browser.new_page(), f"http://{daemon.host}:{daemon.port}").open("/ui/notes")
        expect(page.locator("body.offline")).to_have_count(0)
    expect(page.locator("body.offline")).to_have_count(1)
    page.close()


def test_a_sync_is_seen_to_end_without_a_reload(tmp_path: Path, browser: Browser) -> None:
    with running(tmp_path, ANAMNESIS_GIT_REMOTE=str(tmp_path / "remote.git")) as daemon:
        page = Watched(browser.new_page(), f"http://{daemon.host}:{daemon.port}").open("/ui/fleet")
        page.click("text=Sync now")
        expect(page.locator(".attention")).to_contain_text("The last sync failed")
        expect(page.locator("text=Sync now")).to_be_visible()
        page.close()


def test_a_person_logs_in_with_the_token_and_gets_the_page_that_was_asked_for(tmp_path: Path, browser: Browser) -> None:
    with running(tmp_path, ANAMNESIS_TOKEN="a-long-random-token-0123456789") as daemon:
        page = Watched(browser.new_page(), f"http://{daemon.host}:{daemon.port}").open("/ui/notes")
        page.fill("[name=token]", "a-long-random-token-0123456789")
        page.click("text=Log in")
        expect(page.locator("h1")).to_have_text("Notes")
        page.goto(f"http://{daemon.host}:{daemon.port}/")
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


@pytest.fixture
def every_page(lived: Lived) -> list[str]:
    note = f"/ui/notes/{lived.ids['How to deploy']}"
    return [*PAGES, note, f"{note}/edit", f"{note}/history", "/ui/notes/facets", "/ui/timeline?session=s-1"]


def test_no_page_has_an_obstacle_for_people_with_disabilities(every_page: list[str], visited: Open) -> None:
    each = visited(viewport={"width": 1280, "height": 900}, reduced_motion="reduce")
    rules = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]
    contrast = ["color-contrast", "link-in-text-block"]  # what a colour scheme changes
    found = {}
    for path in every_page:
        page = each.open(path)
        page.evaluate(Axe().axe_script)
        for scheme, names in (("light", rules), ("dark", contrast)):
            page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
            options = {"runOnly": names, "resultTypes": ["violations"]}
            violations = page.evaluate("options => axe.run(options)", options)["violations"]
            found[path, scheme] = [(rule["id"], [node["html"][:120] for node in rule["nodes"]]) for rule in violations]
    assert {page: faults for page, faults in found.items() if faults} == {}


def test_no_page_is_wider_than_the_screen(every_page: list[str], visited: Open) -> None:
    each = visited(reduced_motion="reduce")
    for path in every_page:
        page = each.open(path)
        for width in (1440, 1024, 390):
            page.set_viewport_size({"width": width, "height": 800})
            assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), (path, width)


def test_only_tabs_that_are_seen_keep_a_connection(visited: Open) -> None:
    page = visited().open("/ui/")
    wait_until(lambda: page.evaluate("source?.readyState") == 1)
    hide = "is => { Object.defineProperty(document, 'hidden', {value: is, configurable: true});"
    page.evaluate(f"{hide} document.dispatchEvent(new Event('visibilitychange')); }}", True)
    assert page.evaluate("source.readyState") == 2
    page.evaluate(f"{hide} document.dispatchEvent(new Event('visibilitychange')); }}", False)
    wait_until(lambda: page.evaluate("source.readyState") == 1)


def test_2000_nodes_are_drawn_as_hairlines_and_circles(visited: Open) -> None:
    """The time of a frame depends on the machine. Without a graphics card, wide lines make it long."""
    page = visited().open("/ui/graph")
    wait_until(lambda: page.evaluate("nodes.size") > 4)
    drawn = page.evaluate(
        """() => {
          const grown = document.implementation.createHTMLDocument();
          for (let number = 0; number < 2000; number++) {
            const row = grown.createElement("li");
            Object.assign(row.dataset, { key: `note:${number}`, kind: "note", page: 0, to: `["note:${number >> 1}"]` });
            row.append(grown.createElement("a"));
            grown.body.append(row);
          }
          add(grown, { x: 0, y: 0 });
          let width = 0;
          pen.stroke = () => { width = pen.lineWidth * view.scale * devicePixelRatio; };
          move();
          draw();
          return { count: nodes.size, width, finite: [...nodes.values()].every(({ x, y }) => isFinite(x + y)) };
        }"""
    )
    assert drawn["count"] >= 2000
    assert drawn["finite"]
    assert drawn["width"] == pytest.approx(1)


def test_back_from_a_search_shows_the_list_before_it_with_its_filter_and_nothing_chosen(watched: Open) -> None:
    page = watched().open("/ui/notes")
    page.check("[data-all]")
    page.click("aside >> text=acme/api")
    expect(page.locator("[data-row]")).to_have_count(2)
    page.focus("[data-search]")
    page.keyboard.type("lock", delay=30)
    expect(page.locator("h1")).to_contain_text("lock")
    page.locator("[name=id]").first.check()
    page.go_back()
    expect(page.locator(".chosen")).to_contain_text("project: acme/api")
    expect(page.locator("[data-row]")).to_have_count(2)
    assert page.input_value("[data-search]") == ""
    page.go_back()
    expect(page.locator("[data-row]")).to_have_count(4)
    expect(page.locator("input:checked")).to_have_count(0)
    page.go_forward()
    page.go_forward()
    expect(page.locator("h1")).to_contain_text("lock")
    expect(page.locator(".chosen")).to_contain_text("project: acme/api")
    assert page.input_value("[data-search]") == "lock"


def test_the_bar_names_what_is_chosen_and_the_answer_what_was_done_to(filled: dict[str, str], watched: Open) -> None:
    page = watched().open("/ui/notes")
    for title in ("Retry policy", "Use WAL mode"):
        page.check(f"[aria-label='Choose {title}']")
    expect(page.locator("#many output")).to_have_text("2 chosen: Retry policy, Use WAL mode")
    page.uncheck("[aria-label='Choose Use WAL mode']")
    page.select_option("[name=what]", "delete")
    expect(page.locator("#many button")).to_have_text("Apply to 1 note")
    page.click("#many button")
    expect(page.locator(".done")).to_contain_text("1 note is in the trash: “Retry policy”.")
    page.click("text=Undo")
    expect(page.locator(".done")).to_have_text("Undone: 1 note is restored.")
    page.go_back()
    expect(page.locator(".row")).to_have_count(4)
    expect(page.locator(".done")).to_have_count(0)  # it is not in the trash
    page.check("[data-all]")
    expect(page.locator("#many output")).to_have_text(
        "4 chosen: Session of Monday, How to deploy, Retry policy and 1 more"
    )
    page.reload()
    expect(page.locator("input:checked")).to_have_count(0)
