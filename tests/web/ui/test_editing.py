"""Typed text is saved as typed, and never lost by an error."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from urllib.parse import urlencode

import pytest
from tests.web.daemon import Daemon, Reply
from tests.web.ui.visiting import HTML, Visitor

from anamnesis.exchange.account import Account, write_account
from anamnesis.notes import Memory
from anamnesis.notes.spaces import space_of
from anamnesis.store import MemoryStore

TYPED = "What took an hour to write."


@pytest.fixture(scope="module")
def editing(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    home = tmp_path_factory.mktemp("home")
    with MemoryStore(home) as store:
        store.put(Memory("windows", "semantic", "Line ends", "one\r\ntwo\r\n"))
        store.put(Memory("control", "semantic", "A control character", "one\0\ntwo\n"))
        store.put(Memory("plain", "semantic", "Plain", "one\n"))
    daemon = Daemon(home)
    yield daemon
    assert daemon.stop() == (0, "")


def sent(text: str) -> str:
    """A text as a browser sends it that was given it in HTML."""
    shown = html.unescape(text).replace("\r\n", "\n").replace("\r", "\n").replace("\0", "\ufffd")
    return shown.replace("\n", "\r\n")


def form(daemon: Daemon, note_id: str) -> dict[str, str]:
    """The fields of the form that edits a note."""
    page = daemon.ask("GET", f"/ui/notes/{note_id}/edit", Accept=HTML).text
    return {name: sent(text) for name, text in re.findall(r'name="(form_token|base)" value="([^"]*)"', page)}


def post(daemon: Daemon, path: str, **fields: str) -> Reply:
    return daemon.ask("POST", path, urlencode(fields), Content_Type="application/x-www-form-urlencoded")


@pytest.mark.parametrize(("note_id", "saved"), [("windows", "one\r\nthree\r\n"), ("control", "one\ufffd\nthree\n")])
def test_a_note_with_characters_that_forms_change_can_be_edited(editing: Daemon, note_id: str, saved: str) -> None:
    fields = form(editing, note_id)
    answer = post(editing, f"/ui/notes/{note_id}/edit", **fields, text=fields["base"].replace("two", "three"))
    assert answer.status == 303
    assert Visitor(editing).data(f"/ui/notes/{note_id}")["note"]["body"] == saved


def test_of_two_new_titles_the_form_shows_both_and_bodies_that_do_not_conflict_are_merged(editing: Daemon) -> None:
    with MemoryStore(editing.home) as store:
        store.put(Memory("rule", "semantic", "Always squash", "one\ntwo\nthree\n"))
    fields = form(editing, "rule")
    with MemoryStore(editing.home) as store:
        store.update("rule", title="Squash before a release", body="ONE\ntwo\nthree\n")
    typed = fields["base"].replace("Always squash", "Never force-push").replace("three", "THREE")
    answer = post(editing, "/ui/notes/rule/edit", **fields, text=typed)
    assert answer.status == 409
    assert "changed its title: the text below has yours" in answer.text
    shown = html.unescape(answer.text)
    assert "title: Never force-push" in shown
    assert "title: Squash before a release" in shown
    assert "ONE\ntwo\nTHREE\n" in shown


def test_two_tabs_that_change_the_same_line_see_both_versions_marked_and_save_neither_twice(editing: Daemon) -> None:
    with MemoryStore(editing.home) as store:
        store.put(Memory("shared", "semantic", "Shared", "first\nuse port 80\nlast\n"))
    one = other = form(editing, "shared")
    path = "/ui/notes/shared/edit"
    assert post(editing, path, **one, text=one["base"].replace("80", "81")).status == 303
    clash = post(editing, path, **other, text=other["base"].replace("80", "82"))
    assert clash.status == 409
    assert "both versions" in clash.text
    text = html.unescape(clash.text.partition("data-keep>")[2].partition("</textarea>")[0])
    both = "<<<<<<< your text\nuse port 82\n=======\nuse port 81\n>>>>>>> the note as saved meanwhile"
    assert f"---\nfirst\n{both}\nlast\n" in text
    again = {name: sent(value) for name, value in re.findall(r'name="(form_token|base)" value="([^"]*)"', clash.text)}
    refused = post(editing, path, **again, text=sent(text))
    assert refused.status == 400
    assert "still has two versions" in refused.text
    assert Visitor(editing).data("/ui/notes/shared")["note"]["body"] == "first\nuse port 81\nlast\n"
    assert post(editing, path, **again, text=sent(text.replace(both, "use port 82"))).status == 303
    assert Visitor(editing).data("/ui/notes/shared")["note"]["body"] == "first\nuse port 82\nlast\n"


def test_a_note_from_a_form_has_the_line_ends_of_other_notes(editing: Daemon) -> None:
    visitor = Visitor(editing)
    written = {"title": "New", "body": "one\r\ntwo", "type": "semantic", "project": "acme", "scope": "portable"}
    visitor.send("/ui/notes/new", **written)
    (note,) = visitor.data("/ui/notes?project=acme")["notes"]
    assert visitor.data(f"/ui/notes/{note['id']}")["note"]["body"].rstrip() == "one\ntwo"


def test_a_note_of_a_teams_project_from_a_form_says_who_reads_it(editing: Daemon) -> None:
    visitor = Visitor(editing)
    with MemoryStore(editing.home) as store:
        store.shared.save_projects({"core": ["falcon"]})
    write_account(editing.home, Account("http://127.0.0.1:1", "anh_x", "you", "hub"))
    written = {"title": "New", "body": "one", "type": "semantic", "scope": "portable"}
    messages = [
        visitor.send("/ui/notes/new", **written, project=project)["done"] for project in ("falcon", "falcon", "other")
    ]
    assert "Saved. The project falcon belongs to the space core: its members read this note" in messages[0]
    assert "Saved. It goes to the space core, whose members read it." in messages[1]
    assert "space" not in messages[2]
    notes = visitor.data("/ui/notes?project=falcon")["notes"]
    assert [visitor.data(f"/ui/notes/{each['id']}")["space"] for each in notes] == ["core", "core"]
    page = editing.ask("GET", f"/ui/notes/{notes[0]['id']}", Accept=HTML).text
    assert "the space core, whose members read it" in page
    with MemoryStore(editing.home) as store:
        store.put(Memory("before", "semantic", "Old", "x", project="falcon"))
        assert [space_of(store.get(each["id"])) for each in notes] == ["core", "core"]
        assert [space_of(store.get(note.id)) for note in store.list(project="other")] == [""]
    (waiting,) = visitor.data("/ui/fleet")["unshared"]
    assert waiting == {"project": "falcon", "spaces": ["core"], "notes": ["before"]}
    assert "only you read, though the project belongs to core" in editing.ask("GET", "/ui/fleet", Accept=HTML).text


@pytest.mark.parametrize(
    ("path", "changed", "status"),
    [
        ("/ui/notes/plain/edit", {"text": f"---\nid: [\n---\n{TYPED}"}, 400),
        ("/ui/notes/plain/edit", {"text": f"---\nid: other\ntype: semantic\ntitle: x\n---\n{TYPED}"}, 400),
        ("/ui/notes/gone/edit", {"text": f"---\nid: gone\ntype: semantic\ntitle: x\n---\n{TYPED}"}, 404),
        ("/ui/notes/plain/edit", {"text": TYPED, "form_token": "of another process"}, 403),
        ("/ui/notes/new", {"title": "T", "body": TYPED, "type": "poem", "project": "p", "scope": "portable"}, 400),
        ("/ui/notes/new", {"title": "T", "body": TYPED, "form_token": "of another process"}, 403),
    ],
)
def test_typed_text_is_shown_again_if_it_cannot_be_saved(
    editing: Daemon, path: str, changed: dict[str, str], status: int
) -> None:
    answer = post(editing, path, **{**form(editing, "plain"), **changed})
    assert answer.status == status
    assert TYPED in answer.text.partition("<textarea")[2]
    assert re.search(r'role="alert">[^<]+\.', answer.text)
    again = re.search(r'name="form_token" value="([^"]+)"', answer.text)
    assert again
    assert again[1] == form(editing, "plain")["form_token"]


def test_a_page_shows_only_messages_of_its_own_forms(editing: Daemon) -> None:
    forged = editing.ask("GET", "/ui/?done=Call+this+number&undo=trash+plain", Accept=HTML)
    assert "Call this number" not in forged.text
    assert 'action="/ui/undo"' not in forged.text
    fields = form(editing, "plain")
    answer = post(editing, "/ui/notes/change", form_token=fields["form_token"], id="plain", what="pin")
    assert "1 note is changed: “Plain”." in editing.ask("GET", answer.headers["location"], Accept=HTML).text


def test_the_page_of_a_deleted_note_names_the_trash(editing: Daemon) -> None:
    token = form(editing, "windows")["form_token"]
    post(editing, "/ui/notes/change", form_token=token, id="windows", what="delete")
    page = editing.ask("GET", "/ui/notes/windows", Accept=HTML)
    assert page.status == 404
    assert "is in the trash" in page.text
