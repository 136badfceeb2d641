"""The hub's dashboard: login, every page as HTML and JSON, and who may see and do what."""

from __future__ import annotations

import http.client
import re
from collections.abc import Iterator
from typing import Any, NamedTuple
from urllib.parse import urlencode, urlsplit

import pytest
from tests.hub.running import Client, RunningHub, text_of
from tests.postgres import Postgres

PAGES = [
    "",
    "notes",
    "notes?q=plan",
    "notes/PLAN",
    "notes/PLAN/history?space=core",
    "spaces",
    "spaces/core",
    "audit",
    "review",
]
PAGES += ["tokens", "device"]


class Seen(NamedTuple):
    status: int
    text: str
    headers: dict[str, str]


class Browser:
    """A browser without scripts, logged in or not."""

    def __init__(self, url: str, token: str = "") -> None:
        self.url = urlsplit(url)
        self.cookie = ""
        if token:
            answer = self.post("login", token=token)
            assert answer.status == 303, answer.text
            self.cookie = answer.headers["set-cookie"].partition(";")[0]

    def get(self, page: str = "", **headers: str) -> Seen:
        return self._ask("GET", page, None, headers)

    def post(self, page: str, origin: str = "", **fields: str) -> Seen:
        kind = {"Content-Type": "application/x-www-form-urlencoded"} | ({"Origin": origin} if origin else {})
        return self._ask("POST", page, urlencode(fields), kind)

    def send(self, page: str, **fields: str) -> Seen:
        """Send a form with the token that the pages of this login have."""
        found = re.search('name="form_token" value="([^"]+)"', self.get("device").text)
        return self.post(page, **fields, form_token=found[1] if found else "")

    def _ask(self, method: str, page: str, body: str | None, headers: dict[str, str]) -> Seen:
        connection = http.client.HTTPConnection(self.url.hostname or "", self.url.port, timeout=30)
        usual = {"Accept": "text/html", **({"Cookie": self.cookie} if self.cookie else {})}
        try:
            connection.request(method, f"/ui/{page}", body, {**usual, **headers})
            answer = connection.getresponse()
            return Seen(
                answer.status, answer.read().decode(), {name.lower(): value for name, value in answer.getheaders()}
            )
        finally:
            connection.close()


@pytest.fixture(scope="module")
def hub(postgres: Postgres) -> Iterator[RunningHub]:
    with RunningHub(postgres.new_hub()) as running:
        boss = running.user("boss", core="owner")
        running.user("keep", core="keeper")
        you = running.user("you", core="writer")
        running.user("mate", core="reader")
        running.user("stranger", theirs="owner")
        boss.put(
            "core", "PLAN", text_of("PLAN", "The plan: <script>alert(1)</script> and [x](javascript:alert(1)).", "Plan")
        )
        you.put("core", "PLAN", text_of("PLAN", "The plan, again.", "Plan"), 1)
        you.put("core", "CLASH", text_of("CLASH", "The other version.", "Clash", tags=["conflict"]))
        yield running


@pytest.fixture
def enter(hub: RunningHub) -> Any:
    hub.hub.limits.failure._buckets.clear()
    return lambda name, scope="admin": Browser(hub.url, hub.user(name, scope).token)


def test_a_login_is_a_cookie_that_no_script_and_no_other_site_can_use(hub: RunningHub, enter: Any) -> None:
    stranger = Browser(hub.url)
    assert stranger.get("notes?q=x").headers["location"] == "/ui/login?to=%2Fui%2Fnotes%3Fq%3Dx"
    answer = stranger.post("login", token=hub.user("you").token, to="/ui/notes?q=x")
    assert answer.headers["location"] == "/ui/notes?q=x"
    for part in ("HttpOnly", "SameSite=strict", "Path=/ui"):
        assert part.lower() in answer.headers["set-cookie"].lower()
    for page in ("https://evil.example", "//evil.example", "/ui/\\evil", "/ui//evil.example"):
        assert stranger.post("login", token=hub.user("you").token, to=page).headers["location"] == "/ui/"
    assert stranger.post("login", origin="https://evil.example", token=hub.user("you").token).status == 403
    assert stranger.post("login", token="anh_" + "x" * 43).status == 401


def test_the_answer_to_a_form_after_the_end_of_a_login_is_a_page_that_says_how_to_send_it_again(
    hub: RunningHub, enter: Any
) -> None:
    boss = enter("boss")
    boss.cookie = ""
    answer = boss.post("spaces/core/members", user="mate", role="writer", form_token="x")
    assert answer.status == 401
    assert "Your login has ended, so nothing was saved." in answer.text
    assert "reload this page" in answer.text


def test_guessing_is_throttled(hub: RunningHub, enter: Any) -> None:
    browser = Browser(hub.url)
    statuses = {browser.post("login", token=f"anh_{number}").status for number in range(40)}
    assert statuses == {401, 429}


@pytest.mark.parametrize("page", PAGES)
def test_every_page_is_html_without_what_a_note_smuggles_and_json(enter: Any, page: str) -> None:
    boss = enter("boss")
    html = boss.get(page)
    assert html.status == 200 and "<h1" in html.text, html.text
    assert "<script>alert" not in html.text and 'href="javascript' not in html.text
    assert (
        "script-src" in html.headers["content-security-policy"]
        or "default-src 'self'" in html.headers["content-security-policy"]
    )
    data = boss.get(page, Accept="application/json")
    assert data.status == 200 and data.headers["content-type"] == "application/json"


def test_programs_get_the_same_with_their_token(hub: RunningHub) -> None:
    you = hub.user("you")
    (found,) = [each for each in _json(hub, you, "notes?q=plan")["notes"] if each["id"] == "PLAN"]
    assert found["space"] == "core"
    assert _json(hub, Client(hub.url, ""), "notes")["error"]


def test_a_stranger_sees_nothing_of_a_space(hub: RunningHub, enter: Any) -> None:
    stranger = enter("stranger")
    for page in PAGES:
        assert "The plan" not in stranger.get(page).text
    for page in (
        "notes/PLAN",
        "notes/PLAN?space=core",
        "notes/PLAN/history?space=core",
        "spaces/core",
        "spaces/~you",
        "audit?space=core",
    ):
        assert stranger.get(page).status == 404, page
    forms = {
        "notes/PLAN/delete": {"space": "core"},
        "notes/PLAN/restore": {"space": "core", "version": "1"},
        "spaces/core/members": {"user": "stranger", "role": "owner"},
        "spaces/~you/members": {"user": "stranger", "role": "owner"},
        "spaces/core/projects": {"project": "x"},
        "review/notes/PLAN": {"space": "core", "decision": "accept"},
        "tokens/1/revoke": {},
    }
    for page, fields in forms.items():
        assert stranger.send(page, **fields).status == 404, page
    assert hub.user("you")("/v1/spaces/core/notes/PLAN").json["version"] == 2


# Who may do what: the status that each role gets.
FORMS: dict[str, tuple[dict[str, str], dict[str, int]]] = {
    "notes/PLAN/restore": ({"space": "core", "version": "1"}, {"mate": 403, "you": 303, "keep": 303, "boss": 303}),
    "notes/CLASH/delete": ({"space": "core"}, {"mate": 403}),
    "spaces/core/projects": ({"project": "p"}, {"mate": 403, "you": 403, "keep": 303, "boss": 303}),
    "spaces/core/members": ({"user": "mate", "role": "reader"}, {"mate": 403, "you": 403, "keep": 303, "boss": 303}),
}


@pytest.mark.parametrize("page", FORMS)
def test_a_role_decides_what_a_form_does(enter: Any, page: str) -> None:
    fields, statuses = FORMS[page]
    for name, status in statuses.items():
        assert enter(name).send(page, **fields).status == status, name


def test_notes_from_elsewhere_and_those_that_the_gate_sent_wait_for_a_review(hub: RunningHub, enter: Any) -> None:
    writer = hub.user("you")
    given: dict[str, dict[str, Any]] = {
        "FOREIGN": {"prov_source": "import", "machine_id": "mem0", "body": "From <b onclick=x>elsewhere</b>."},
        "ORDERS": {"extra": {"tags": 'held: "It gives orders."\n'}},
        "TAGGED": {"prov_source": "import", "tags": ["reviewed", "claude-code"]},
        "OWN": {"tags": ["to-review"]},
    }
    for id, fields in given.items():
        writer.put("core", id, text_of(id, title=f"About {id}", **fields))
    assert [each["id"] for each in _json(hub, writer, "review")["waiting"]] == ["TAGGED", "ORDERS", "FOREIGN"]
    you, mate = enter("you"), enter("mate")
    page = you.get("review").text
    assert "About FOREIGN" in page and "<b onclick" not in page and "mem0" in page
    assert "3 notes to review" in you.get("").text
    for id, decision, status in (("FOREIGN", "maybe", 400), ("OWN", "accept", 400), ("NONE", "accept", 404)):
        assert you.send(f"review/notes/{id}", space="core", decision=decision).status == status
    assert mate.send("review/notes/FOREIGN", space="core", decision="reject").status == 403
    before = writer("/v1/spaces/core/notes/FOREIGN").json["version"]
    assert you.send("review/notes/FOREIGN", space="core", decision="accept").status == 303
    assert writer("/v1/spaces/core/notes/FOREIGN").json["version"] == before
    assert you.send("review/notes/ORDERS", space="core", decision="reject").status == 303
    assert [each["id"] for each in _json(hub, writer, "review")["waiting"]] == ["TAGGED"]
    of_mate = [each["id"] for each in _json(hub, hub.user("mate"), "review")["waiting"]]
    assert of_mate == ["TAGGED", "FOREIGN"], "one member's acceptance is not another's"
    assert mate.send("review/notes/FOREIGN", space="core", decision="accept").status == 303
    later = writer.put("core", "FOREIGN", text_of("FOREIGN", "Another text.", prov_source="import"), base=before)
    (shown,) = [each for each in _json(hub, writer, "review")["waiting"] if each["id"] == "FOREIGN"]
    assert shown["seen"] in you.get("review").text
    writer.put("core", "FOREIGN", text_of("FOREIGN", "A third.", prov_source="import"), base=later["version"])
    form = {"space": "core", "decision": "accept", "seen": shown["seen"]}
    assert you.send("review/notes/FOREIGN", **form).status == 409, "a text that nobody has read is not accepted"
    assert "FOREIGN" in [each["id"] for each in _json(hub, writer, "review")["waiting"]]
    assert writer("/v1/spaces/core/notes/ORDERS").json["text"] is None


def test_a_keeper_manages_readers_and_writers_and_an_owner_everybody(hub: RunningHub, enter: Any) -> None:
    keep, boss = enter("keep"), enter("boss")
    new = hub.user("new")
    assert keep.send("spaces/core/members", user="new", role="writer").status == 303
    assert new("/v1/invitations/core", {"accept": True}).status == 200
    assert keep.send("spaces/core/members", user="new", role="keeper").status == 403
    assert keep.send("spaces/core/members", user="boss", role="reader").status == 403
    assert keep.send("spaces/core/members", user="boss", remove="yes").status == 403
    assert boss.send("spaces/core/members", user="new", role="keeper").status == 303
    assert keep.send("spaces/core/members", user="new", remove="yes").status == 403
    assert boss.send("spaces/core/members", user="new", remove="yes").status == 303
    assert boss.send("spaces/core/members", user="boss", role="reader").status == 400  # the only owner
    assert boss.send("spaces/core/members", user="nobody", remove="yes").status == 404
    assert "space member" in keep.get("audit").text and "space member" not in enter("mate").get("audit").text


def test_a_form_without_its_token_or_scope_does_nothing(hub: RunningHub, enter: Any) -> None:
    boss = enter("boss")
    assert boss.post("notes/PLAN/delete", space="core").status == 403
    assert boss.post("notes/PLAN/delete", space="core", form_token="x").status == 403
    assert enter("boss", "write").send("spaces/core/projects", project="p").status == 403
    assert enter("boss", "read").send("notes/PLAN/delete", space="core").status == 403


def test_a_machine_is_let_in_by_its_code(hub: RunningHub, enter: Any) -> None:
    asked = Client(hub.url, "")("/v1/device", {"machine": "laptop"}).json
    you = enter("you")
    assert you.send("device", code="AAAA-BBBB").status == 404
    assert "laptop" in you.send("device", code=asked["user_code"].lower().replace("-", " ")).headers["location"]
    assert Client(hub.url, "")("/v1/device/token", {"device_code": asked["device_code"]}).json["user"] == "you"


def test_ones_own_tokens_can_be_revoked_at_once(hub: RunningHub, enter: Any) -> None:
    you = enter("you")
    tokens = _json(hub, hub.user("you"), "tokens")["tokens"]
    for token in tokens:
        if not token["revoked"]:
            answer = you.send(f"tokens/{token['id']}/revoke")
    assert answer.status in (303, 403)
    assert you.get("").status == 303


def _json(hub: RunningHub, client: Client, page: str) -> Any:
    import json
    import urllib.error
    import urllib.request

    headers = {"Accept": "application/json", **({"Authorization": f"Bearer {client.token}"} if client.token else {})}
    try:
        with urllib.request.urlopen(urllib.request.Request(f"{hub.url}/ui/{page}", headers=headers)) as answer:
            return json.loads(answer.read())
    except urllib.error.HTTPError as error:
        with error:
            return json.loads(error.read())
