"""Two users of one home: what each of them sends, seen by the spaces of both at the hub."""

from __future__ import annotations

import pytest
from tests.hub.conftest import hub_url, postgres, running, shared
from tests.hub.running import Client, RunningHub, text_of
from tests.hub_client.conftest import People, Person
from tests.sync.machine import bare

from anamnesis.hub import accounts
from anamnesis.hub.database import administrator

__all__ = ["hub_url", "postgres", "running", "shared"]


def _texts(client: Client) -> str:
    """Every text that a user can see at the hub."""
    return "".join(each["text"] or "" for space in client.sync().values() for each in space["changes"])


def _log_in(desk: Person, hub: RunningHub, client: Client, *options: str) -> str:
    done = desk("login", hub.url, "--token-stdin", *options, stdin=client.token)
    assert done.code == 0, done.err
    return done.out


@pytest.fixture
def desk(person: People) -> Person:
    return person("desk")


def test_neither_of_two_users_of_a_home_sends_what_the_other_wrote(shared: RunningHub, desk: Person) -> None:
    ada, bob = shared.user("ada", core="writer"), shared.user("bob", core="writer")
    _log_in(desk, shared, ada)
    desk.write("Sent diary", "ada's first secret")
    both = desk.write("Plan", "for all", "--space", "core")
    assert desk("sync").code == 0
    desk.write("Unsent diary", "ada's second secret")
    gone = desk.write("Deleted diary", "ada's third secret")
    assert desk("delete", gone, "--yes").code == 0

    refused = desk("login", shared.url, "--token-stdin", stdin=bob.token)
    assert refused.code == 1 and len(refused.err.splitlines()) == 1
    assert f"as ada with {shared.url}, not as bob" in refused.err and "--keep-apart" in refused.err
    assert desk("space", "--json").json["user"] == "ada"

    assert "3 notes that are here stay with the login of ada" in _log_in(desk, shared, bob, "--keep-apart")
    desk.write("Bob's diary", "bob's secret")
    assert desk("restore", gone).code == 0
    assert desk("sync").code == 0
    assert desk("tag", both, "by-bob").code == 0
    assert desk("sync").code == 0
    assert "bob's secret" in _texts(bob) and "by-bob" in _texts(ada)
    assert "ada's" not in _texts(bob)
    assert "ada's first secret" in _texts(ada) and "bob's" not in _texts(ada)

    _log_in(desk, shared, ada, "--keep-apart")
    assert desk("sync").code == 0
    for secret in ("first", "second", "third"):
        assert f"ada's {secret} secret" in _texts(ada)
    assert "bob's" not in _texts(ada) and "ada's" not in _texts(bob)
    assert len(desk.titles()) == 5, "all stay in the home"


def test_a_login_that_was_never_used_is_another_one_all_the_same(shared: RunningHub, desk: Person) -> None:
    leo, mia = shared.user("leo"), shared.user("mia")
    _log_in(desk, shared, leo)
    desk.write("Diary", "leo's secret", "--project", "acme")
    assert desk("sync").code == 0
    _log_in(desk, shared, mia, "--keep-apart")
    desk.write("Mine", "mia's secret", "--project", "acme")
    assert desk("logout").code == 0
    assert desk("login", shared.url, "--token-stdin", stdin=leo.token).code == 1
    _log_in(desk, shared, leo, "--keep-apart")
    assert desk("sync").code == 0
    assert "mia's" not in _texts(leo)
    assert "leo's secret" in (told := desk("inject", "--project", "acme").out) and "mia's" not in told


def test_a_session_of_one_user_is_not_told_what_the_other_wrote_and_no_dream_joins_it(
    shared: RunningHub, desk: Person
) -> None:
    eve, dan = shared.user("eve"), shared.user("dan")
    _log_in(desk, shared, eve)
    facts = "The office door opens with the code that hangs in the kitchen, and the alarm is off before eight."
    desk.write("Office door", facts, "--project", "acme")
    desk.write("Not sent", "eve's second note", "--project", "acme")
    assert desk("sync").code == 0
    assert "kitchen" in desk("inject", "--project", "acme").out
    _log_in(desk, shared, dan, "--keep-apart")
    desk.write("The office door", f"{facts} Ask for it.", "--project", "acme")
    assert "kitchen, and the alarm is off before eight. Ask" in (told := desk("inject", "--project", "acme").out)
    assert "eve's second note" not in told
    assert desk("dream").code == 0
    assert desk("sync").code == 0
    assert "eve's" not in _texts(dan)
    listed = {each["title"]: each.get("origin") for each in desk("list", "--json").json}
    assert listed["Not sent"] == "eve, another user of this memory"
    assert listed["Office door"] and listed["The office door"] is None, "no dream joined them"

    moved = next(each["id"] for each in desk("list", "--json").json if each["title"] == "Not sent")
    assert desk("move", moved, "--space", "~").code == 0
    assert desk("sync").code == 0
    assert "eve's second note" in _texts(dan), "a note that dan takes is dan's"


def test_what_one_user_accepted_is_not_accepted_for_the_other(shared: RunningHub, desk: Person) -> None:
    kim, lee, pat = (shared.user(name, team="writer") for name in ("kim", "lee", "pat"))
    pat.put("team", "N1", text_of("N1", "pat's advice"))
    _log_in(desk, shared, kim)
    assert desk("sync").code == 0
    assert desk("review", "--accept", "N1").code == 0
    assert desk("sync").code == 0
    assert "N1" in kim("/v1/accepted", {"accepted": ""}).json["accepted"]
    _log_in(desk, shared, lee, "--keep-apart")
    assert desk("sync").code == 0
    assert "N1" not in lee("/v1/accepted", {"accepted": ""}).json["accepted"]
    assert [each["id"] for each in desk("review", "--json").json] == ["N1"]
    _log_in(desk, shared, kim, "--keep-apart")
    assert desk("review", "--json").json == []


def test_what_one_user_deletes_is_not_deleted_as_the_other(shared: RunningHub, desk: Person) -> None:
    amy, bea = shared.user("amy", trio="writer"), shared.user("bea", trio="reader")
    _log_in(desk, shared, amy)
    diary = desk.write("Diary", "amy's diary")
    plan = desk.write("Plan", "amy's plan", "--space", "trio")
    own = desk.write("Own", "amy deletes this")
    assert desk("sync").code == 0
    assert desk("delete", own).code == 0
    _log_in(desk, shared, bea, "--keep-apart")
    assert desk("sync").code == 0
    assert desk("delete", diary, plan).code == 0
    desk("sync")
    _log_in(desk, shared, amy, "--keep-apart")
    _log_in(desk, shared, bea, "--keep-apart")
    assert desk("restore", diary).code == 0
    desk("sync")
    assert "amy's diary" not in _texts(bea)
    assert desk("delete", diary).code == 0
    _log_in(desk, shared, amy, "--keep-apart")
    assert desk("sync").code == desk("sync").code == 0
    assert "amy's diary" in _texts(amy) and "amy's plan" in _texts(amy)
    assert "amy deletes this" not in _texts(amy)
    assert desk.titles() == ["Diary", "Plan"]


def test_each_user_of_a_home_has_their_own_notes_of_a_shared_space_as_their_own(
    shared: RunningHub, desk: Person
) -> None:
    ivy, jan = shared.user("ivy", pair="writer"), shared.user("jan", pair="writer")
    _log_in(desk, shared, ivy)
    desk.write("By ivy", "one", "--space", "pair")
    jan.put("pair", "BYJAN", text_of("BYJAN", "two", "By jan"))
    for client, other in ((ivy, "jan"), (jan, "ivy"), (ivy, "jan")):
        _log_in(desk, shared, client, "--keep-apart")
        assert desk("sync").code == 0
        listed = {each["title"]: each.get("origin") for each in desk("list", "--json").json}
        assert listed.pop(f"By {other}") == f"{other} in the space pair"
        assert [*listed.values()] == [None], "the user's own note is no foreign one"
    assert [each["id"] for each in desk("review", "--json").json] == ["BYJAN"]


def test_a_note_with_the_id_of_a_note_of_the_other_user_changes_neither(shared: RunningHub, desk: Person) -> None:
    uma, val, wes = shared.user("uma"), shared.user("val", crew="writer"), shared.user("wes", crew="writer")
    _log_in(desk, shared, uma)
    note = desk.write("Diary", "uma's secret")
    assert desk("sync").code == 0
    _log_in(desk, shared, val, "--keep-apart")
    wes.put("crew", note, text_of(note, "wes wrote this"))
    assert desk("sync").code == 0
    assert "uma's secret" in desk("show", note).out
    assert f"a note of another login of this home, uma at {shared.url}" in desk("space").out
    assert "uma's" not in _texts(wes) + _texts(val)
    _log_in(desk, shared, uma, "--keep-apart")
    assert desk("sync").code == 0
    assert "wes" not in _texts(uma) and "uma's secret" in _texts(uma)


def test_an_edit_that_one_user_has_not_sent_is_not_sent_by_the_other(shared: RunningHub, desk: Person) -> None:
    ben, cat = shared.user("ben", duo="writer"), shared.user("cat", duo="writer")
    _log_in(desk, shared, ben)
    note = desk.write("Plan", "first", "--space", "duo")
    assert desk("sync").code == 0
    assert desk("tag", note, "ben-only").code == 0
    _log_in(desk, shared, cat, "--keep-apart")
    assert desk("sync").code == 0
    assert "ben-only" not in _texts(ben)
    assert f"the space duo of another login of this home, ben at {shared.url}" in desk("space").out
    _log_in(desk, shared, ben, "--keep-apart")
    assert desk("sync").code == 0
    (version, *_) = ben(f"/v1/spaces/duo/notes/{note}/versions").json["versions"]
    assert version["author"] == "ben" and "ben-only" in _texts(cat)


def test_a_token_of_another_user_in_hub_json_exchanges_nothing(shared: RunningHub, desk: Person) -> None:
    gus, hal = shared.user("gus"), shared.user("hal")
    _log_in(desk, shared, gus)
    desk.write("Diary", "gus's secret")
    path = desk.home / "hub.json"
    path.write_text(path.read_text("utf-8").replace(gus.token, hal.token), "utf-8")
    done = desk("sync")
    assert done.code == 1 and "The token in hub.json is of the user hal." in done.err
    assert "gus's" not in _texts(hal)


def test_a_new_login_after_a_restore_of_the_hub_is_the_same_login(running: RunningHub, desk: Person) -> None:
    ida = running.user("ida", core="writer")
    _log_in(desk, running, ida)
    desk.write("Diary", "mine")
    desk.write("Plan", "ours", "--space", "core")
    assert desk("sync").code == 0
    with administrator(running.database) as db:
        accounts.name_new_history(db)
    _log_in(desk, running, ida)
    desk.write("More", "mine too")
    assert desk("sync").code == 0
    assert desk("space", "--json").json["waiting"] == []
    assert _texts(ida).count("mine") == 2


def test_git_carries_the_notes_of_no_two_users(shared: RunningHub, desk: Person, person: People) -> None:
    ann, ben = shared.user("ann"), shared.user("ben")
    remote = bare(desk.folder / "remote.git")
    assert desk("config", "set", "remote", str(remote)).code == 0
    _log_in(desk, shared, ann)
    desk.write("Diary", "ann's secret")
    assert desk("sync").code == 0
    ben.put("~ben", "SALARY", text_of("SALARY", "ben's secret"))
    assert "git stops here" in _log_in(desk, shared, ben, "--keep-apart")
    for client in (ben, ann):
        done = desk("sync")
        assert done.code == 1 and "git would carry the notes of both" in done.err
        _log_in(desk, shared, ann if client is ben else ben, "--keep-apart")
    desk("logout")
    assert "git would carry the notes of both" in desk("sync").err
    other = person("other")
    assert other("config", "set", "remote", str(remote)).code == 0
    assert other("sync").code == 0
    assert other.titles() == ["Diary"]
    assert "ben's secret" not in _texts(ann)
