"""GET /observations/{id}/history: the versions of an observation in the journal."""

from __future__ import annotations

import json

import pytest
from tests.web.daemon import Daemon
from tests.web.test_plugin_routes import asked, save

FIELDS = ["number", "recorded_at", "replaced_at", "changed", "diff", "observation"]


def test_every_revision_is_listed_with_its_diff_the_newest_first(begun: Daemon) -> None:
    id = save(begun, title="Plan", content="first\nline", topic_key="plan")
    assert save(begun, title="Plan", content="second\nline", topic_key="plan") == id
    begun.ask("PATCH", f"/observations/{id}", json.dumps({"title": "The <plan> für 🐈"}))
    status, found = asked(begun, "GET", f"/observations/{id}/history")
    assert status == 200
    assert [each["number"] for each in found] == [3, 2, 1]
    assert [each["changed"] for each in found] == [["title"], ["content"], None]
    assert list(found[1]) == FIELDS
    assert list(found[0]) == [name for name in FIELDS if name != "replaced_at"], "it has not been replaced"
    assert "\n-first\n+second\n line\n" in found[1]["diff"]
    assert found[0]["observation"] == asked(begun, "GET", f"/observations/{id}")[1]
    assert found[2]["observation"]["content"] == "first\nline"
    assert asked(begun, "GET", f"/observations/{id}/history?limit=1") == (200, found[:1])
    for limit in ("0", "-1", "x", ""):
        assert asked(begun, "GET", f"/observations/{id}/history?limit={limit}") == (200, found)


def test_a_soft_deleted_observation_has_a_history_and_a_removed_one_has_none(begun: Daemon) -> None:
    id = save(begun, title="Plan", content="first")
    begun.ask("DELETE", f"/observations/{id}")
    assert asked(begun, "GET", f"/observations/{id}")[0] == 404
    status, found = asked(begun, "GET", f"/observations/{id}/history")
    assert (status, [each["changed"] for each in found]) == (200, [["deleted_at"], None])
    id = save(begun, title="Other", content="second")
    begun.ask("DELETE", f"/observations/{id}?hard=true")
    assert asked(begun, "GET", f"/observations/{id}/history") == (404, {"error": "observation not found"})


@pytest.mark.parametrize("id", ["x", "1.5", "--help", "..%2Fx", "%00", "99999999999999999999"])
def test_an_id_that_is_not_a_number_is_refused_as_for_an_observation(shared: Daemon, id: str) -> None:
    assert asked(shared, "GET", f"/observations/{id}/history") == (400, {"error": "invalid observation id"})


def test_an_unknown_observation_has_no_history(shared: Daemon) -> None:
    for id in ("0", "-1", "12345"):
        assert asked(shared, "GET", f"/observations/{id}/history") == (404, {"error": "observation not found"})
