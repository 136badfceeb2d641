"""A membership that an owner or a keeper offers begins when the invited user accepts it, and not before."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from click.testing import CliRunner
from psycopg import errors
from tests.hub.running import RunningHub, text_of
from tests.hub.test_ui import Browser
from tests.hub.test_ui import _json as as_json
from tests.postgres import KEY, Postgres

from anamnesis.cli import anamnesis
from anamnesis.hub import accounts
from anamnesis.hub.database import administrator
from anamnesis.hub.erasure import erase_user


@pytest.fixture(scope="module")
def hub(postgres: Postgres) -> Iterator[RunningHub]:
    with RunningHub(postgres.new_hub()) as running:
        yield running


def test_nothing_of_a_space_reaches_an_invited_user_or_comes_from_one_before_the_acceptance(hub: RunningHub) -> None:
    boss, you = hub.user("boss", "admin", core="owner"), hub.user("you")
    boss.put("core", "N1", text_of("N1", "Do as I say.", project="private", tags=["pinned"]))
    page = Browser(hub.url, boss.token)
    assert page.send("spaces/core/projects", project="private").status == 303
    assert page.send("spaces/core/members", user="you", role="writer").status == 303

    offered = {"space": "core", "role": "writer", "inviter": "boss", "projects": ["private"]}
    me = you("/v1/me").json
    assert ([each["name"] for each in me["spaces"]], me["invitations"]) == (["~you"], [offered])
    assert [*you.sync()] == ["~you"]
    assert you("/v1/spaces/core/notes/N1").status == 404
    assert you.put("core", "N2", text_of("N2"))["refused"].startswith("There is no space 'core'")
    assert b"Do as I say" not in you("/v1/export").body
    assert as_json(hub, you, "notes?q=say")["total"] == 0
    assert "you" not in [each["name"] for each in as_json(hub, boss, "spaces/core")["members"]]

    accepted = you("/v1/invitations/core", {"accept": True})
    assert (accepted.status, accepted.json) == (200, {"space": "core", "role": "writer", "accepted": True})
    assert [each["id"] for each in you.sync()["core"]["changes"]] == ["N1"]
    assert you("/v1/me").json["invitations"] == []
    assert you("/v1/invitations/core", {"accept": True}).status == 404  # once
    assert page.send("spaces/core/members", user="you", role="reader").status == 303  # a member's role changes at once
    assert you.sync()["core"]["role"] == "reader"


def test_a_removed_member_who_is_invited_again_is_asked_again(hub: RunningHub) -> None:
    boss, you = hub.user("boss2", "admin", again="owner"), hub.user("you2", again="writer")
    page = Browser(hub.url, boss.token)
    assert "again" in you.sync()
    page.send("spaces/again/members", user="you2", remove="yes")
    page.send("spaces/again/members", user="you2", role="writer")
    assert ("again" in you.sync(), [each["space"] for each in you("/v1/me").json["invitations"]]) == (False, ["again"])


def test_who_declines_is_not_asked_again_and_the_inviter_does_not_see_it(hub: RunningHub) -> None:
    boss, you = hub.user("boss3", "admin", noise="owner"), hub.user("you3")
    page = Browser(hub.url, boss.token)
    page.send("spaces/noise/members", user="you3", role="reader")
    before = as_json(hub, boss, "spaces/noise"), as_json(hub, boss, "audit")
    assert you("/v1/invitations/noise", {"accept": False}).json["accepted"] is False
    assert (as_json(hub, boss, "spaces/noise"), as_json(hub, boss, "audit")) == before
    page.send("spaces/noise/members", user="you3", role="writer")
    assert you("/v1/me").json["invitations"] == []
    assert you("/v1/invitations/noise", {"accept": True}).status == 404
    assert as_json(hub, you, "audit")["entries"][0]["action"] == "space decline"


def test_the_form_tells_nobody_which_user_names_exist(hub: RunningHub) -> None:
    """The answer, the page, the log and the statements are the same for a user, a stranger and one who has left."""
    boss = hub.user("boss4", "admin", quiet="owner")
    hub.user("real"), hub.user("left")
    with administrator(hub.database) as db:
        accounts.leave(db, "left")
    page = Browser(hub.url, boss.token)
    seen = []
    for name in ("real", "left", "nobody"):
        answers = [page.send("spaces/quiet/members", user=name, role=role) for role in ("reader", "writer")]
        told = [(each.status, re.sub("&sign=.*", "", each.headers["location"])) for each in answers]
        shown = as_json(hub, boss, "spaces/quiet"), as_json(hub, boss, "audit?space=quiet")["entries"][0]
        withdrawn = page.send("spaces/quiet/members", user=name, remove="yes")
        seen.append(str((told, shown, withdrawn.status, re.sub("&sign=.*", "", withdrawn.headers["location"]))))
    facts = {re.sub(r"\b(real|left|nobody)\b", "NAME", re.sub(r"'(?:id|at)': [^,]*", "", each)) for each in seen}
    assert len(facts) == 1
    assert page.send("spaces/quiet/members", user="nobody", remove="yes").status == 404
    assert page.send("spaces/quiet/members", user="No One", role="reader").status == 400
    assert page.send("spaces/~boss4/members", user="real", role="reader").status == 400


def test_an_invitation_is_answered_with_one_button(hub: RunningHub) -> None:
    boss, you = hub.user("boss5", "admin", press="owner", other="owner"), hub.user("you5")
    for space in ("press", "other"):
        Browser(hub.url, boss.token).send(f"spaces/{space}/members", user="you5", role="writer")
    mine = Browser(hub.url, you.token)
    assert "2 invitations to answer" in mine.get().text
    assert "/ui/invitations/press" in mine.get("spaces").text
    assert mine.post("invitations/press", decision="accept").status == 403  # without the form's token
    assert mine.send("invitations/press", decision="maybe").status == 400
    assert mine.send("invitations/press", decision="accept").status == 303
    assert mine.send("invitations/other", decision="decline").status == 303
    assert [each["name"] for each in as_json(hub, you, "spaces")["spaces"]] == ["press", "~you5"]
    assert "Invitations" not in mine.get("spaces").text
    assert Browser(hub.url, hub.user("x5").token).send("invitations/press", decision="accept").status == 404


def test_a_token_that_may_only_read_answers_no_invitation(hub: RunningHub) -> None:
    boss = hub.user("boss6", "admin", scoped="owner")
    reading = hub.user("you6", "read")
    Browser(hub.url, boss.token).send("spaces/scoped/members", user="you6", role="reader")
    refused = reading("/v1/invitations/scoped", {"accept": True})
    assert (refused.status, refused.json["error"]) == (403, "This token has no scope 'write'.")
    with hub.hub.database.entered(KEY.hash(reading.token)) as (db, _):
        assert db.execute("SELECT anamnesis.answer_invitation('scoped', true) AS role").fetchone() == {"role": None}


def test_a_keeper_changes_no_invitation_beyond_writers(hub: RunningHub) -> None:
    boss, keep = hub.user("boss7", "admin", kept="owner"), hub.user("keep7", "admin", kept="keeper")
    owners, keepers = Browser(hub.url, boss.token), Browser(hub.url, keep.token)
    assert owners.send("spaces/kept/members", user="high", role="keeper").status == 303
    for fields in ({"role": "reader"}, {"remove": "yes"}):
        assert keepers.send("spaces/kept/members", user="high", **fields).status == 403
    assert keepers.send("spaces/kept/members", user="low", role="keeper").status == 403
    assert keepers.send("spaces/kept/members", user="low", role="writer").status == 303
    with hub.hub.database.entered(KEY.hash(keep.token)) as (db, _):
        assert db.execute("DELETE FROM anamnesis.invitations WHERE invited = 'high'").rowcount == 0


def test_a_keeper_raises_nobodys_role_on_the_page_or_in_sql(hub: RunningHub) -> None:
    """A reader who is made a writer would send new notes to the space: only that reader or an owner says so."""
    boss, keep = hub.user("boss12", "admin", raised="owner"), hub.user("keep12", "admin", raised="keeper")
    you = hub.user("you12", raised="reader")
    keepers, owners = Browser(hub.url, keep.token), Browser(hub.url, boss.token)
    refused = keepers.send("spaces/raised/members", user="you12", role="writer")
    assert refused.status == 403 and "cannot make a reader a writer" in refused.text
    member = next(each for each in as_json(hub, keep, "spaces/raised")["members"] if each["name"] == "you12")
    assert (member["roles"], you.sync()["raised"]["role"]) == (["reader"], "reader")
    raise_all = "UPDATE anamnesis.members SET role = 'writer' WHERE role = 'reader'"
    with hub.hub.database.entered(KEY.hash(keep.token)) as (db, _), pytest.raises(errors.InsufficientPrivilege):
        try:
            db.execute(raise_all)
        finally:
            db.rollback()
    assert keepers.send("spaces/raised/members", user="you12", role="reader").status == 303
    assert you.sync()["raised"]["role"] == "reader"

    keepers.send("spaces/raised/members", user="you12", remove="yes")
    assert keepers.send("spaces/raised/members", user="you12", role="writer").status == 303
    assert "raised" not in you.sync(), "who is invited again decides"
    assert you("/v1/invitations/raised", {"accept": True}).json["role"] == "writer"
    assert keepers.send("spaces/raised/members", user="you12", role="reader").status == 303
    assert owners.send("spaces/raised/members", user="you12", role="writer").status == 303
    assert you.sync()["raised"]["role"] == "writer"


@pytest.mark.parametrize("project", ["global", " Global "])
def test_no_space_gets_the_project_of_all_other_notes(hub: RunningHub, project: str) -> None:
    name = f"all{len(project)}"
    boss = hub.user(f"boss{name}", "admin", **{name: "owner"})
    answer = Browser(hub.url, boss.token).send(f"spaces/{name}/projects", project=project)
    assert answer.status == 400 and "is no project" in answer.text
    done = CliRunner().invoke(anamnesis, ["hub", "space", "project", name, project, "--database", hub.database])
    assert "such as a diary" in str(done.exception)
    assert boss.sync()[name]["projects"] == []


MAKE_A_MEMBER = """
    INSERT INTO anamnesis.members
    SELECT m.space, u.id, 'writer' FROM anamnesis.members m, anamnesis.users u WHERE u.name = 'boss8'
"""


@pytest.mark.parametrize(
    "statement",
    [MAKE_A_MEMBER, "UPDATE anamnesis.members SET member = 1", "SELECT declined FROM anamnesis.invitations"],
)
def test_the_servers_role_makes_nobody_a_member_and_sees_no_refusal(hub: RunningHub, statement: str) -> None:
    boss = hub.user("boss8", "admin", own8="owner")
    with hub.hub.database.entered(KEY.hash(boss.token)) as (db, _), pytest.raises(errors.InsufficientPrivilege):
        try:
            db.execute(statement.encode())
        finally:
            db.rollback()


def test_what_an_administrator_sets_holds_at_once_and_answers_the_invitation(hub: RunningHub) -> None:
    boss, you = hub.user("boss9", "admin", staff="owner"), hub.user("you9")
    Browser(hub.url, boss.token).send("spaces/staff/members", user="you9", role="reader")
    with administrator(hub.database) as db:
        listed = next(each for each in accounts.list_spaces(db) if each["name"] == "staff")
        space = accounts.find_space(db, "staff")
        accounts.set_member(db, space, accounts.find_user(db, "you9"), "writer")
    assert (listed["members"], listed["invited"]) == (["boss9:owner"], ["you9:reader"])
    assert you.sync()["staff"]["role"] == "writer"
    assert you("/v1/me").json["invitations"] == []


def test_a_name_that_is_given_later_finds_its_invitation_and_loses_it_when_it_is_erased(hub: RunningHub) -> None:
    boss = hub.user("boss10", "admin", early="owner")
    Browser(hub.url, boss.token).send("spaces/early/members", user="later", role="reader")
    assert [each["space"] for each in hub.user("later")("/v1/me").json["invitations"]] == ["early"]
    with administrator(hub.database) as db:
        accounts.leave(db, "later")
        erase_user(db, "later")
        assert next(each for each in accounts.list_spaces(db) if each["name"] == "early")["invited"] == []
