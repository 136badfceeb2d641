"""Hostile notes in a real browser: none runs, loads, navigates, hides or deceives, in whatever field it comes."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from itertools import cycle
from urllib.parse import quote

import pytest
from playwright.sync_api import Browser
from tests.waiting import wait_until
from tests.web.daemon import Daemon
from tests.web.ui.attacks import ATTACKS, FIELDS
from tests.web.ui.browsing import Watched
from tests.web.ui.conftest import opening
from tests.web.ui.test_pages import PAGES
from tests.web.ui.visiting import Visitor

from anamnesis.notes import Memory
from anamnesis.notes.foreign import as_foreign
from anamnesis.store import MemoryStore

_RUN = "<img src=x onerror=window.hacked=1>"
# What may be in the text of a note, and where its links may go.
_ALLOWED = """() => [...document.querySelectorAll('.body, .body *')].flatMap(element => [
  ...(/^(DIV|H[1-6]|P|BR|HR|BLOCKQUOTE|PRE|CODE|EM|STRONG|S|A|UL|OL|LI|TABLE|THEAD|TBODY|TR|TH|TD|SPAN)$/
      .test(element.tagName) ? [] : [element.tagName]),
  ...[...element.attributes].filter(each => !/^(href|class|rel|start|dir)$/.test(each.name))
      .map(each => `${element.tagName} ${each.name}`),
  ...(element.hasAttribute('href') && element.host === location.host
      && !/^\\/ui\\/|^#/.test(element.getAttribute('href')) ? [element.getAttribute('href')] : []),
])"""
# What no page has anywhere: scripts but ours, handlers, styles, frames, and links that are not to the web.
_CLEAN = """() => [...document.querySelectorAll('*')].flatMap(element => [
  ...(/^(IFRAME|FRAME|OBJECT|EMBED|BASE|STYLE|TEMPLATE|VIDEO|AUDIO|MATH|PORTAL)$/i.test(element.tagName)
      ? [element.tagName] : []),
  ...(element.tagName === 'SCRIPT' && !/^\\/ui\\/static\\/(page|forms|graph)\\.js$/.test(element.getAttribute('src'))
      ? ['SCRIPT'] : []),
  ...(element.tagName === 'IMG' && element.getAttribute('src') !== '/ui/static/icon.svg' ? ['IMG'] : []),
  ...(element.tagName === 'META' && element.httpEquiv ? ['META'] : []),
  ...[...element.attributes].filter(each => /^(on|style$|srcdoc|srcset|formaction|ping|target)/i.test(each.name))
      .map(each => `${element.tagName} ${each.name}`),
  ...(element.tagName === 'A' && !/^(https?|mailto):/.test(element.href) ? [element.getAttribute('href')] : []),
  ...(element.tagName === 'FORM' && !element.getAttribute('action').startsWith('/ui/') ? ['FORM'] : []),
])"""


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    """A memory in which every field of every note is hostile, and so are sessions, prompts, files and settings."""
    home = tmp_path_factory.mktemp("hostile")
    fields = cycle(FIELDS)
    with MemoryStore(home) as store:
        for number, text in enumerate(ATTACKS):
            field = next(fields)
            note = Memory(f"attack-{number}", "semantic", text[:200], text, field, field, tags=["hostile", field])
            store.put(replace(note, prov_session=field, prov_model=field, extra={field: field}))
            store.put(as_foreign(replace(note, id=f"foreign-{number}"), field))
        for number, field in enumerate(FIELDS):
            store.put(Memory(f"field-{number}", "semantic", field, f"[[{field}]]", supersedes=[f"attack-{number}"]))
            store.delete(store.put(Memory(f"gone-{number}", "semantic", field, field)).id)
    (home / "memory/semantic" / f"{_RUN}.md").write_text("---\nid: [\n---\n", encoding="utf-8")
    (home / "config.json").write_text(json.dumps({"inject_budget": _RUN, "sync_timeout": _RUN}), encoding="utf-8")
    daemon = Daemon(home, ANAMNESIS_GIT_REMOTE=f"/nowhere/{_RUN}", ANAMNESIS_MACHINE_ID=_RUN)
    try:
        for number, field in enumerate(FIELDS):
            session = {"id": field, "session_id": field, "project": field, "directory": field, "content": field}
            for path, content in (
                ("/sessions", session),
                ("/prompts", session),
                ("/observations", {**session, "title": field, "type": field, "topic_key": f"{field} {number}"}),
            ):
                daemon.ask("POST", path, json.dumps(content))
        visitor = Visitor(daemon)
        visitor.send("/ui/fleet")
        wait_until(lambda: visitor.data("/ui/fleet")["failure"])
        yield daemon
    finally:
        code, said = daemon.stop()
        assert code == 0
        assert "Traceback" not in said


@pytest.fixture
def attacked(hostile: Daemon, browser: Browser) -> Iterator[Callable[..., Watched]]:
    yield from opening(browser, hostile)


def check(each: Watched, path: str) -> None:
    page = each.page
    page.goto(f"{each.origin}{path}", wait_until="domcontentloaded")
    assert page.evaluate("window.hacked") is None, path
    assert page.evaluate(_ALLOWED) == [], path
    assert page.evaluate(_CLEAN) == [], path
    assert not set(page.inner_text("main")) & set("\u202e\u202c\u2066\u2067\u2069\u001b\u061c"), path


def test_no_text_of_a_note_runs_loads_or_hides_anything(attacked: Callable[..., Watched]) -> None:
    assert len(ATTACKS) >= 200
    each = attacked(reduced_motion="reduce")
    shown = 0
    for page in range(1, len(ATTACKS) // 30 + 2):
        check(each, f"/ui/review?page={page}")
        shown += each.page.locator(".body").count()
    assert shown == len(ATTACKS)
    for number in range(0, len(ATTACKS), 20):
        check(each, f"/ui/notes/attack-{number}")


def test_no_field_of_a_note_a_session_a_file_or_a_setting_runs_anything(attacked: Callable[..., Watched]) -> None:
    each = attacked(reduced_motion="reduce")
    lists = [f"/ui/notes?tag=hostile&page={page}" for page in range(1, len(ATTACKS) // 30 + 2)]
    notes = ["/ui/notes/field-1", "/ui/notes/attack-3/edit", "/ui/notes/attack-7/history", "/ui/notes?q=hacked"]
    for path in (*PAGES, *lists, *notes):
        check(each, path)
    for field in (FIELDS[1], FIELDS[6], FIELDS[9]):
        name = quote(field, safe="")
        for path in (
            f"/ui/notes?q={name}&project={name}&tag={name}&machine={name}",
            f"/ui/notes/new?project={name}&title={name}",
            f"/ui/timeline?session={name}",
            f"/ui/timeline?project={name}",
            f"/ui/graph?around=tag:{name}",
            f"/ui/told?project={name}&prompt={name}",
            f"/ui/?done={name}&undo={name}&sign={name}",
        ):
            check(each, path)


def test_errors_and_events_repeat_nothing_that_runs(hostile: Daemon, browser: Browser) -> None:
    name = quote(FIELDS[1], safe="")
    each = Watched(browser.new_page(), f"http://{hostile.host}:{hostile.port}")
    for path in (f"/ui/{name}", f"/ui/notes?type={name}", f"/ui/notes?since={name}", f"/ui/dreams/{name}"):
        check(each, path)
    each.page.close()
    with closing(hostile.connect()) as connection:
        connection.request("GET", f"/ui/live?seen={name}", headers={"Last-Event-ID": "data: x"})
        stream = connection.getresponse()
        assert stream.headers["content-type"].startswith("text/event-stream")
        lines = [stream.readline().decode() for _ in range(5)]
    assert lines[0] == "retry: 2000\n"
    assert lines[2] == "event: notes\n"
    assert lines[3].removeprefix("id: ").strip().replace(".", "").isdigit()
