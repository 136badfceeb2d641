"""The flows of the dashboard, without a browser: review and undo, sync, agents, sessions, export."""

from __future__ import annotations

import io
import json
import re
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from urllib.parse import urlencode

import pytest
from tests.waiting import wait_until
from tests.web.daemon import Daemon, environment, running
from tests.web.ui.conftest import leave_to_review
from tests.web.ui.visiting import HTML, Visitor

from anamnesis.dream.dream_database import REVIEW, DreamDatabase, NewProposal
from anamnesis.dream.proposal import Proposal
from anamnesis.exchange.account import Account, write_account
from anamnesis.exchange.state import HubDatabase, HubState, Invitation
from anamnesis.notes import Memory
from anamnesis.store import MemoryStore

KINDS = ("conflicts", "proposals", "foreign")
KEY = Proposal("update", ("deploying",), "", 0).key


@pytest.fixture(scope="module")
def waiting(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    """A daemon with something of each kind to review, which every test leaves as it was."""
    home = tmp_path_factory.mktemp("waiting")
    leave_to_review(home)
    with running(home) as daemon:
        yield daemon


def texts(visitor: Visitor) -> dict[str, str]:
    """The notes of the memory and what waits for a person."""
    notes = {each["id"]: f"{each['excerpt']} {' '.join(each['tags'])}" for each in visitor.data("/ui/notes")["notes"]}
    review = visitor.data("/ui/review")
    cases = [(kind, each) for kind in KINDS for each in review[kind]]
    return notes | {f"{kind} {each['id']}": str(each.get("beside") or each.get("changes")) for kind, each in cases}


@pytest.mark.parametrize(
    ("path", "fields", "left"),
    [
        ("conflicts/retrying", {"keep": "this"}, "proposals foreign"),
        ("conflicts/retrying", {"keep": "other"}, "proposals foreign"),
        ("conflicts/retrying", {"keep": "both"}, "proposals foreign"),
        (f"proposals/{KEY}", {"decision": "accept"}, "conflicts foreign"),
        (f"proposals/{KEY}", {"decision": "reject"}, "conflicts foreign"),
        (f"proposals/{KEY}", {"decision": "later"}, "conflicts foreign"),
        ("notes/advice", {"decision": "accept"}, "conflicts proposals"),
        ("notes/advice", {"decision": "reject"}, "conflicts proposals"),
    ],
)
def test_every_decision_of_a_review_can_be_undone(
    waiting: Daemon, path: str, fields: dict[str, str], left: str
) -> None:
    visitor = Visitor(waiting)
    before = texts(visitor)
    done = visitor.send(f"/ui/review/{path}", **fields)
    review = visitor.data("/ui/review")
    assert {kind for kind in KINDS if review[kind]} == set(left.split())
    visitor.undo(done)
    assert texts(visitor) == before


def test_a_text_that_changed_since_it_was_shown_is_not_accepted(tmp_path: Path) -> None:
    with MemoryStore(tmp_path) as store:
        note = store.write(type="semantic", title="Advice", body="One text.", prov_source="import").id
    with running(tmp_path) as daemon:
        visitor = Visitor(daemon)
        (shown,) = visitor.data("/ui/review")["foreign"]
        assert f'name="seen" value="{shown["seen"]}"' in daemon.ask("GET", "/ui/review", Accept=HTML).text
        with MemoryStore(tmp_path) as store:
            store.update(note, body="Another text.")
        with pytest.raises(AssertionError, match="has changed since you saw it"):
            visitor.send(f"/ui/review/notes/{note}", decision="accept", seen=shown["seen"])
        (left,) = visitor.data("/ui/review")["foreign"]
        visitor.send(f"/ui/review/notes/{note}", decision="accept", seen=left["seen"])
        assert visitor.data("/ui/review")["foreign"] == []


def test_a_decision_about_what_was_not_shown_is_refused(tmp_path: Path) -> None:
    """A number of another revision by now, another proposal for the same notes, a changed side of a conflict."""
    leave_to_review(tmp_path)
    with running(tmp_path) as daemon:
        visitor = Visitor(daemon)
        review, (revision,) = visitor.data("/ui/review"), visitor.data("/ui/notes/deploying/history")["revisions"]
        page = daemon.ask("GET", "/ui/review", Accept=HTML).text
        for kind in ("conflicts", "proposals"):
            assert f'name="seen" value="{review[kind][0]["seen"]}"' in page
        with MemoryStore(tmp_path) as store:
            plan = store.get("deploying")
            changed = Proposal("update", (plan.id,), "Another.", 0.8, (replace(plan, body="rm -rf /\n"),))
            with closing(DreamDatabase(tmp_path)) as database:
                hashes = {id: hash.hex() for id, hash in store.hashes_of([plan.id]).items()}
                database.save([NewProposal(changed, REVIEW, "")], hashes, "2026-01-05T00:00:00+00:00")
            store.update("retrying", body="one\nlater\n")
        for path, fields in (
            (f"/ui/review/proposals/{KEY}", {"decision": "accept", "seen": review["proposals"][0]["seen"]}),
            ("/ui/review/conflicts/retrying", {"keep": "other", "seen": review["conflicts"][0]["seen"]}),
            ("/ui/notes/retrying/history/1", {"seen": revision["seen"]}),
        ):
            status, said = refusal(daemon, path, **fields)
            assert (status, said) == (409, "This has changed since you saw it, so nothing was done."), path
        assert visitor.data("/ui/notes/deploying")["note"]["body"] == "Run deploy.sh.\n"
        assert visitor.data("/ui/notes/retrying")["note"]["body"] == "one\nlater\n"
        visitor.send(
            f"/ui/review/proposals/{KEY}", decision="reject", seen=visitor.data("/ui/review")["proposals"][0]["seen"]
        )


def test_a_proposal_can_be_edited_before_it_is_accepted(waiting: Daemon) -> None:
    visitor = Visitor(waiting)
    (proposal,) = visitor.data("/ui/review")["proposals"]
    text = proposal["changes"][0]["text"].replace("--dry-run", "--check")
    done = visitor.send(f"/ui/review/proposals/{KEY}", decision="edit", deploying=text)
    assert visitor.data("/ui/notes/deploying")["note"]["body"] == "Use --check.\n"
    assert visitor.data("/ui/review")["proposals"] == []
    visitor.undo(done)
    (again,) = visitor.data("/ui/review")["proposals"]
    assert (again["id"], again["changes"][0]["text"]) == (proposal["id"], text)


def test_a_note_supersedes_another_stays_here_and_is_brought_back_from_the_trash(
    filled: dict[str, str], daemon: Daemon
) -> None:
    visitor, (one, other) = Visitor(daemon), (filled["Use WAL mode"], filled["Retry policy"])
    done = visitor.send(f"/ui/notes/{one}/supersede", other=other)
    assert "supersedes" in {link["how"] for link in visitor.data(f"/ui/notes/{one}")["links"]}
    visitor.undo(done)
    assert "supersedes" not in {link["how"] for link in visitor.data(f"/ui/notes/{one}")["links"]}
    visitor.send("/ui/notes/change", id=one, what="scope", value="machine-local")
    assert visitor.data(f"/ui/notes/{one}")["note"]["scope"] == "machine-local"
    visitor.send("/ui/notes/change", id=other, what="delete")
    assert [note["id"] for note in visitor.data("/ui/trash")["notes"]] == [other]
    visitor.send(f"/ui/notes/{other}/restore")
    assert visitor.data("/ui/notes")["total"] == 4


def test_a_restored_revision_says_what_it_kept_and_the_note_is_not_in_the_trash(
    filled: dict[str, str], daemon: Daemon
) -> None:
    visitor, note = Visitor(daemon), filled["Retry policy"]
    with MemoryStore(daemon.home) as store:
        store.update(note, scope="machine-local", body="Another text.")
    done = visitor.send(f"/ui/notes/{note}/history/1")
    assert done["done"] == "The note is as in revision 1. It stays on this machine only."
    assert visitor.data(f"/ui/notes/{note}")["note"]["scope"] == "machine-local"
    assert (daemon.home / f"local/procedural/{note}.md").exists()
    assert visitor.data("/ui/trash")["notes"] == []
    assert [each["number"] for each in visitor.data(f"/ui/notes/{note}/history")["revisions"]] == [3, 2, 1]


def refusal(daemon: Daemon, path: str, **fields: str) -> tuple[int, str]:
    """The status and the sentence of the answer to a form that is refused."""
    page = daemon.ask("GET", "/ui/notes/new", Accept=HTML).text
    token = re.search(r'name="form_token" value="([^"]+)"', page)
    assert token
    form = {"Content_Type": "application/x-www-form-urlencoded", "Accept": "application/json"}
    answer = daemon.ask("POST", path, urlencode({"form_token": token[1], **fields}, doseq=True), **form)
    return answer.status, json.loads(answer.text)["error"]


def test_an_unknown_decision_decides_nothing(waiting: Daemon) -> None:
    visitor = Visitor(waiting)
    before = texts(visitor)
    for path in ("notes/advice", f"proposals/{KEY}", "conflicts/retrying"):
        status, said = refusal(waiting, f"/ui/review/{path}", decision="perhaps", keep="perhaps")
        assert (status, said.startswith("'perhaps' is not a")) == (400, True)
    assert texts(visitor) == before


def test_a_change_of_many_notes_of_which_one_is_gone_changes_none(filled: dict[str, str], daemon: Daemon) -> None:
    visitor, (one, gone) = Visitor(daemon), (filled["Use WAL mode"], filled["Retry policy"])
    visitor.send("/ui/notes/change", id=gone, what="delete")
    status, said = refusal(daemon, "/ui/notes/change", id=[one, gone], what="delete")  # type: ignore[arg-type]
    assert (status, said) == (404, f"The note {gone} is in the trash.")
    assert [note["id"] for note in visitor.data("/ui/trash")["notes"]] == [gone]


def test_an_answer_says_what_was_redacted_undone_and_kept(filled: dict[str, str], daemon: Daemon) -> None:
    visitor, note = Visitor(daemon), filled["Retry policy"]
    new = {"title": "Keys", "body": "AKIAIOSFODNN7EXAMPLE", "type": "semantic", "project": "p", "scope": "portable"}
    assert visitor.send("/ui/notes/new", **new)["done"] == "Saved. Redacted before it was stored: aws-key-id."
    done = visitor.send("/ui/notes/change", id=note, what="delete")
    assert visitor.undo(done)["done"] == "Undone: 1 note is restored."
    assert visitor.undo(done)["done"] == "Nothing was undone. 1 note was changed or restored since, and is left."
    done = visitor.send("/ui/notes/change", id=note, what="scope", value="machine-local")
    assert "The next sync removes it elsewhere" in done["done"]
    with MemoryStore(daemon.home) as store:
        store.update(note, body="Changed meanwhile.")
    assert visitor.undo(done)["done"].startswith("Nothing was undone. 1 note was changed")
    assert visitor.data(f"/ui/notes/{note}")["note"]["scope"] == "machine-local"
    visitor.send(f"/ui/notes/{note}/supersede", other="Use WAL mode")
    again = visitor.send(f"/ui/notes/{note}/supersede", other="Use WAL mode")
    assert (again["done"], "undo" in again) == ("It already replaces Use WAL mode.", False)


def test_filters_stay_through_a_search_a_change_and_its_undo(filled: dict[str, str], daemon: Daemon) -> None:
    path = "/ui/notes?project=acme%2Fapi"
    assert '<input type="hidden" name="project" value="acme/api">' in daemon.ask("GET", path, Accept=HTML).text
    assert f'name="back" value="{path}"' in daemon.ask("GET", f"{path}&done=It+is.&undo=x", Accept=HTML).text


def test_a_note_names_its_session_its_turn_and_the_sessions_that_used_it(daemon: Daemon) -> None:
    for path, content in (
        ("sessions", {"id": "s-1", "project": "acme", "directory": "/w"}),
        ("prompts", {"session_id": "s-1", "project": "acme", "content": "Why is it locked?"}),
        ("observations", {"session_id": "s-1", "project": "acme", "title": "Lock", "content": "A transaction."}),
    ):
        assert daemon.ask("POST", f"/{path}", json.dumps(content)).status == 201
    visitor = Visitor(daemon)
    wait_until(lambda: visitor.data("/ui/notes")["total"] == 1)
    (note,) = visitor.data("/ui/notes")["notes"]
    assert visitor.data(f"/ui/notes/{note['id']}")["turn"]["prompt"] == "Why is it locked?"
    event = json.dumps({"session_id": "s-2", "cwd": str(daemon.home), "hook_event_name": "SessionStart"})
    command = [sys.executable, "-m", "anamnesis", "inject", "--project", "acme"]
    subprocess.run(
        command, input=event.encode(), env=environment(daemon.home), capture_output=True, check=True, timeout=60
    )
    (told,) = visitor.data(f"/ui/notes/{note['id']}")["use"]["history"]
    assert told["kind"] == "injected"
    kinds = {
        session: [each["kind"] for each in visitor.data(f"/ui/timeline?session={session}")["happened"]]
        for session in ("s-1", told["session"])
    }
    assert sorted(kinds["s-1"]) == ["note", "prompt", "session"]
    assert kinds[told["session"]] == ["used"]


def test_the_agents_of_this_machine_are_listed_with_the_state_of_each_hook(tmp_path: Path) -> None:
    (tmp_path / ".claude").mkdir()
    (tmp_path / ".codex").mkdir()
    command = [sys.executable, "-m", "anamnesis", "init", "--agent", "claude"]
    subprocess.run(command, env=environment(tmp_path), capture_output=True, check=True, timeout=60)
    settings = tmp_path / ".claude/settings.json"
    hooks = json.loads(settings.read_text())
    del hooks["hooks"]["UserPromptSubmit"]
    settings.write_text(json.dumps(hooks))
    with running(tmp_path) as daemon:
        visitor = Visitor(daemon)
        claude, codex = visitor.data("/ui/fleet")["agents"]
        assert [claude[name] for name in ("mcp", "start", "prompt", "end")] == ["works", "works", "broken", "works"]
        assert claude["command"] == "anamnesis doctor --fix"
        assert (codex["mcp"], codex["command"]) == ("not set up", "anamnesis init --agent codex")
        assert "It lacks the hook recall of Claude Code." in [
            each["fault"] for each in visitor.data("/ui/health")["findings"]
        ]
        assert "agents" in {each["kind"] for each in visitor.data("/ui/")["attention"]}


def test_a_failed_sync_is_shown_with_its_fix_until_one_succeeds(tmp_path: Path) -> None:
    remote = tmp_path / "remote.git"
    with running(tmp_path / "home", ANAMNESIS_GIT_REMOTE=str(remote)) as daemon:
        visitor = Visitor(daemon)
        visitor.send("/ui/fleet")
        wait_until(lambda: visitor.data("/ui/fleet")["failure"])
        failure = visitor.data("/ui/fleet")["failure"]
        assert "does not appear to be a git repository" in failure["reason"]
        assert failure["hint"]
        assert "sync" in {each["kind"] for each in visitor.data("/ui/")["attention"]}
        subprocess.run(["git", "init", "-q", "--bare", remote], check=True, timeout=60)
        wait_until(lambda: not visitor.data("/ui/fleet")["step"])
        visitor.send("/ui/fleet")
        wait_until(lambda: visitor.data("/ui/fleet")["outcome"])
        assert visitor.data("/ui/fleet")["failure"] is None


def test_a_hub_that_cannot_be_reached_is_shown_with_the_number_of_unsent_notes(tmp_path: Path) -> None:
    write_account(tmp_path, Account("http://127.0.0.1:1", "anh_x", "you", "hub"))
    with MemoryStore(tmp_path) as store:
        store.write(type="semantic", title="Tide", body="It turns at six.", machine_id="desk")
    with running(tmp_path) as daemon:
        visitor = Visitor(daemon)
        wait_until(lambda: visitor.data("/ui/fleet")["hub"]["failure"])
        hub = visitor.data("/ui/fleet")["hub"]
        assert (hub["unsent"], hub["failure"]["since"]) == (1, hub["failure"]["at"])
        page = daemon.ask("GET", "/ui/fleet", Accept=HTML).text
        assert "Exchanges with the hub fail, first" in page and "cannot be reached" in page
        assert "1 note is not sent yet." in page
        assert "sync" in {each["kind"] for each in visitor.data("/ui/")["attention"]}


def test_an_invitation_to_a_space_is_shown_with_the_command_that_accepts_it(tmp_path: Path) -> None:
    account = Account("http://127.0.0.1:1", "anh_x", "you", "hub")
    write_account(tmp_path, account)
    with closing(HubDatabase(tmp_path)) as database:
        HubState(database, account).save_invitations([Invitation("core", "writer", "boss", ("acme/<api>",))])
    with running(tmp_path) as daemon:
        page = daemon.ask("GET", "/ui/fleet", Accept=HTML).text
    assert "boss invites you to be a writer of the space core, with the notes of acme/&lt;api&gt;" in page
    assert "<code>anamnesis space accept core</code>" in page


def test_the_notes_of_a_list_are_exported_as_lines_and_as_files(filled: dict[str, str], daemon: Daemon) -> None:
    lines = daemon.ask("GET", "/ui/notes/export?format=jsonl&project=acme/api")
    assert lines.headers["content-disposition"].startswith("attachment")
    titles = {json.loads(line)["title"] for line in lines.text.splitlines()}
    assert titles == {"Use WAL mode", "Session of Monday"}
    found = zipfile.ZipFile(io.BytesIO(daemon.ask("GET", "/ui/notes/export?format=zip&q=deploy").body))
    name = f"procedural/{filled['How to deploy']}.md"
    assert found.namelist() == [name]
    assert "scripts/deploy.sh" in found.read(name).decode()
    assert daemon.ask("GET", "/ui/notes/export?format=exe", Accept=HTML).status == 400


def test_the_context_of_a_session_has_a_reason_for_each_note(filled: dict[str, str], daemon: Daemon) -> None:
    told = Visitor(daemon).data("/ui/told?project=acme/api")["start"]
    assert told["tokens"] > 0
    reasons = {note["title"]: note["reason"] for note in told["notes"]}
    assert reasons["Retry policy"] == "for every project"
    assert reasons["Session of Monday"] == "one of the last sessions"


def test_the_context_page_shows_what_the_next_session_is_told_after_the_budget_was_changed(tmp_path: Path) -> None:
    """The daemon has started with another budget. A marker that is not trusted takes a part of it."""
    folder = tmp_path / "work"
    folder.mkdir()
    with MemoryStore(tmp_path) as store:
        for number in range(6):
            store.write(type="semantic", title=f"Rule {number}", body="word " * 40, project="work")
    with running(tmp_path) as daemon:
        visitor = Visitor(daemon)
        assert visitor.data(f"/ui/told?folder={folder}")["start"]["told"] == 6
        saved = visitor.send("/ui/settings/inject_budget", value="1000")
        assert saved["done"] == "inject_budget is saved. The next session uses it."
        event = json.dumps({"session_id": "s", "cwd": str(folder), "hook_event_name": "SessionStart"})
        hook = subprocess.run(
            [sys.executable, "-m", "anamnesis", "inject"],
            input=event,
            capture_output=True,
            text=True,
            timeout=60,
            env=environment(tmp_path),
        )
        shown = visitor.data(f"/ui/told?folder={folder}")["start"]
        told = {note["title"] for note in shown["notes"] if not note["is_cut"]}
        assert told == {title for number in range(6) if (title := f"Rule {number}") in hook.stdout}
        assert 0 < shown["told"] == len(told) < 6
        page = daemon.ask("GET", f"/ui/told?folder={folder}", Accept=HTML).text
        assert f"At the start: {len(told)} notes" in page.replace("1 note,", "1 notes,")
        assert {"value": "1000", "saved": "1000"}.items() <= next(
            each for each in visitor.data("/ui/settings")["settings"] if each["name"] == "inject_budget"
        ).items()


def test_the_pages_of_a_timeline_leave_nothing_out_and_repeat_nothing(tmp_path: Path) -> None:
    with MemoryStore(tmp_path) as store:
        store.put_all(
            Memory(f"note-{day}-{hour}", "semantic", "Note", "Text.", "acme", created_at=f"2026-03-{day}T{hour}:00:00Z")
            for day in range(10, 20)
            for hour in range(10, 20)
        )
    with running(tmp_path) as daemon:
        for number in range(3):
            about = {"id": f"s-{number}", "session_id": f"s-{number}", "project": "acme", "directory": "/w"}
            for path in ("/sessions", "/prompts"):
                assert daemon.ask("POST", path, json.dumps({**about, "content": "Why?"})).status == 201
        visitor, seen, page = Visitor(daemon), list[str](), 1
        while page:
            found = visitor.data(f"/ui/timeline?page={page}")
            seen += [f"{each['kind']} {each['id']}" for each in found["happened"]]
            page = found["next"]
        assert len(seen) == len(set(seen))
        assert sum(each.startswith("note ") for each in seen) == 100
        assert {"prompt 1", "prompt 2", "prompt 3", "session s-0", "session s-1", "session s-2"} < {*seen}
        times = [each["at"] for each in visitor.data("/ui/timeline?page=2")["happened"]]
        assert times == sorted(times, reverse=True)
