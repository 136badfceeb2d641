"""A machine that a token let in: it may do no more, not for longer, and is offered when that token is revoked."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import urlencode

import pytest
from click.testing import CliRunner, Result
from tests.hub.running import Client, RunningHub
from tests.postgres import KEY

from anamnesis.cli import anamnesis
from anamnesis.hub import accounts
from anamnesis.hub.database import administrator
from anamnesis.hub.tenancy import implied

Run = Callable[..., Result]


@pytest.fixture
def run(running: RunningHub) -> Run:
    variables = {"ANAMNESIS_HUB_DATABASE": running.database, "ANAMNESIS_HUB_KEY": "tests" * 8}
    return lambda *words: CliRunner(env=variables).invoke(anamnesis, ["hub", "token", *words])


def asked(hub: RunningHub, machine: str) -> tuple[str, str]:
    """The codes of a machine that wants to log in: its own, and the one for a person."""
    answer = Client(hub.url, "")("/v1/device", {"machine": machine}).json
    return answer["device_code"], answer["user_code"]


def redeemed(hub: RunningHub, code: str) -> Client | None:
    answer = Client(hub.url, "")("/v1/device/token", {"device_code": code})
    return Client(hub.url, answer.json["token"]) if answer.status == 200 else None


def let_in(hub: RunningHub, by: Client, machine: str) -> Client:
    code, user_code = asked(hub, machine)
    assert by("/ui/device", urlencode({"code": user_code}).encode()).status == 200
    made = redeemed(hub, code)
    assert made
    return made


def expiring(hub: RunningHub, scope: str = "write") -> tuple[Client, datetime]:
    end = datetime.now(UTC).replace(microsecond=0) + timedelta(days=1)
    hub.user("you")
    with administrator(hub.database) as db:
        _, token = accounts.create_token(db, KEY, accounts.find_user(db, "you"), "ci", implied(scope), end)
    return Client(hub.url, token), end


def listed(hub: RunningHub) -> dict[str, dict[str, Any]]:
    """The tokens by name; that of `user` is `test`."""
    with administrator(hub.database) as db:
        return {each["name"]: each for each in accounts.list_tokens(db)}


@pytest.mark.parametrize("scope", ["write", "admin"])
def test_a_machine_gets_at_most_the_scopes_and_the_time_of_the_token_that_lets_it_in(
    running: RunningHub, scope: str
) -> None:
    you, end = expiring(running, scope)
    laptop = let_in(running, you, "laptop")
    let_in(running, laptop, "phone")
    tokens = listed(running)
    for name, parent in (("laptop", "ci"), ("phone", "laptop")):
        assert tokens[name]["expires"] == end.isoformat()
        assert tokens[name]["scopes"] == ["read", "write"]
        assert tokens[name]["parent"] == tokens[parent]["id"]


def test_a_token_that_only_reads_lets_no_machine_in(running: RunningHub) -> None:
    you, _ = expiring(running, "read")
    code, user_code = asked(running, "laptop")
    assert you("/ui/device", urlencode({"code": user_code}).encode()).status == 403
    assert Client(running.url, "")("/v1/device/token", {"device_code": code}).status == 428


def test_a_machine_that_a_revoked_token_let_in_gets_none_any_more(running: RunningHub) -> None:
    you, _ = expiring(running)
    code, user_code = asked(running, "laptop")
    assert you("/ui/device", urlencode({"code": user_code}).encode()).status == 200
    with administrator(running.database) as db:
        accounts.revoke_token(db, listed(running)["ci"]["id"])
    assert redeemed(running, code) is None
    assert "laptop" not in listed(running)


def test_revoking_names_the_machines_that_it_leaves_and_ends_them_if_asked(running: RunningHub, run: Run) -> None:
    you, _ = expiring(running)
    laptop = let_in(running, you, "laptop")
    phone = let_in(running, laptop, "phone")
    numbers = {name: str(each["id"]) for name, each in listed(running).items()}
    done = run("revoke", numbers["ci"])
    assert done.stdout == f"Revoked: {numbers['ci']}.\n"
    machines = f"{numbers['laptop']} (laptop), {numbers['phone']} (phone)"
    assert done.stderr == (
        f"Machines that were let in by them keep their tokens: {machines}.\n"
        f"Revoke those too: anamnesis hub token revoke {numbers['laptop']} {numbers['phone']}\n"
    )
    assert [each("/v1/me").status for each in (you, laptop, phone)] == [401, 200, 200]
    done = run("revoke", numbers["ci"], "--with-descendants", "--json")
    assert json.loads(done.stdout) == {"revoked": [int(numbers["laptop"]), int(numbers["phone"])], "descendants": []}
    assert [each("/v1/me").status for each in (you, laptop, phone)] == [401, 401, 401]


def test_a_token_is_revoked_as_it_was_found_and_not_shown(running: RunningHub, run: Run) -> None:
    you, _ = expiring(running)
    done = run("revoke", you.token)
    assert done.stdout == f"Revoked: {listed(running)['ci']['id']}.\n"
    assert you("/v1/me").status == 401
    unknown = run("revoke", "anh_" + "x" * 43)
    assert str(unknown.exception).startswith("No token of this hub is the given one.")


def test_the_page_of_tokens_offers_the_machines_too(running: RunningHub) -> None:
    you, _ = expiring(running)
    other = running.user("you")
    laptop = let_in(running, you, "laptop")
    page = {each["name"]: each for each in other("/ui/tokens").json["tokens"]}
    assert (page["ci"]["let_in"], page["laptop"]["let_in"]) == (["laptop"], [])
    assert re.search(r'name="descendants".*with laptop, which it let in', html(other, "/ui/tokens"))
    number = page["ci"]["id"]
    done = other(f"/ui/tokens/{number}/revoke", b"descendants=1").json["done"]
    assert done == "The token is revoked, and 1 token of machines that it let in."
    assert [each("/v1/me").status for each in (you, laptop, other)] == [401, 401, 200]


def html(client: Client, path: str) -> str:
    import urllib.request

    headers = {"Authorization": f"Bearer {client.token}", "Accept": "text/html"}
    with urllib.request.urlopen(urllib.request.Request(client.url + path, headers=headers)) as answer:
        return str(answer.read().decode())


def test_nobody_revokes_the_machines_of_another_user(running: RunningHub) -> None:
    you, _ = expiring(running)
    laptop = let_in(running, you, "laptop")
    mate = running.user("mate")
    number = listed(running)["ci"]["id"]
    assert mate(f"/ui/tokens/{number}/revoke", b"descendants=1").status == 404
    assert [each("/v1/me").status for each in (you, laptop)] == [200, 200]
