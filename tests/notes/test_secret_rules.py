"""Every rule finds what its own shape generates, wherever it stands; no pattern takes more than linear time."""

from __future__ import annotations

import json
import random
import re
import string
import subprocess
import sys
from functools import partial

import pytest
from tests.growth import seconds, superlinear

from anamnesis.notes.redaction import SHAPED, redact
from anamnesis.notes.secret_rules import COMMANDS, VENDORS, rules

LETTERS = {
    "a": string.ascii_letters + string.digits,
    "b": string.ascii_letters + string.digits + "+/",
    "d": string.digits,
    "e": string.ascii_letters + string.digits + "_.=-",
    "g": string.digits + "abcdefghABCDEFGH",
    "h": "0123456789abcdef",
    "i": string.ascii_letters + string.digits + "_",
    "l": string.ascii_lowercase + string.digits,
    "s": string.ascii_letters + string.digits + "_+/=.~-",
    "u": string.ascii_uppercase + string.digits,
    "U": string.ascii_uppercase + string.digits + "-",
    "w": string.ascii_letters + string.digits + "_-",
    "x": string.digits + "abcdefABCDEF",
}
AROUND = [
    "{}",
    "The key is {}, as of today.",
    "see {}\nand the rest",
    "first line\n{}",
    "VALUE={}",
    "value: '{}'",
    'client = Client("{}")',
    "https://example.org/?v={}&page=2",
    "`{}`",
    "é {} …",
]


def sample(literal: str, shape: str, dice: random.Random) -> str:
    """A secret of that shape; its runs begin and end with a letter or digit, and a digit is in the first."""
    shape = re.sub(r"\[[^\[\]]*\]", lambda part: dice.choice(["", part[0][1:-1]]), shape.lstrip("^#~"))

    def run(found: re.Match[str]) -> str:
        letters, count = LETTERS[found[1]], int(found[2])
        plain = [letter for letter in letters if letter.isalnum()]
        inner = dice.choices(letters, k=count)
        inner[0], inner[-1] = dice.choice(plain), dice.choice(plain)
        if count > 9:
            inner[1] = dice.choice([letter for letter in plain if letter.isdigit()])
        return "".join(inner)

    return literal + re.sub(r"\{(\w)(\d+)(?:-\d+)?\}", run, shape)


@pytest.mark.parametrize(("kind", "literal", "shape"), rules())
def test_a_rule_finds_its_own_samples_wherever_they_stand(kind: str, literal: str, shape: str) -> None:
    dice = random.Random(f"{literal}{shape}")
    for around in AROUND:
        for secret in (sample(literal, shape, dice) for _ in range(4)):
            text = around.format(secret)
            assert secret not in redact(text), text
            escaped = json.dumps({"text": f"{text}\nnext"})
            assert secret not in redact(escaped), escaped


def test_a_rule_calls_its_secret_by_its_kind() -> None:
    for kind, literal, shape in rules():
        secret = sample(literal, shape, random.Random(literal))
        assert re.fullmatch(r"\[REDACTED:[a-z0-9-]+\]=*", redact(secret)), (kind, secret, redact(secret))


def test_the_rules_cover_many_kinds() -> None:
    assert len({kind for kind, _, _ in rules()} | {kind for kind, _, _ in SHAPED}) > 100
    assert len(VENDORS.split()) > 100


@pytest.mark.parametrize("vendor", VENDORS.split())
def test_a_random_value_of_a_vendor_is_a_secret_though_its_name_does_not_say_so(vendor: str) -> None:
    dice = random.Random(vendor)
    value = sample("", "{h6}{l34}", dice)
    names = (vendor, f"{vendor.upper()}_APP", f"my{vendor.title()}Value", f"{vendor}.client.id")
    for name in names:
        for text in (f"{name} = {value}", f'"{name}": "{value}"', f"{name}={value}\n", f"{name} := `{value}`"):
            assert value not in redact(text), text


@pytest.mark.parametrize(
    "form",
    [
        '{}: str = "{}"',
        'const {}: string = "{}";',
        'String {} = "{}";',
        "{}: >-\n  {}\n",
        '{}:\n  "{}"\n',
        "| {} | {} |",
        '{{\\"{}\\": \\"{}\\"}}',
        'set {} "{}"',
        "ENV {} {}",
        "setx {} {}",
        '$env:{} = "{}"',
        "{} => '{}'",
        "{} ?= {}",
        "<{0}>{1}</{0}>",
        'headers.put("{}", "{}");',
        "GET /v1?page=2&{}={} HTTP/1.1",
        "env a=1;{}={} run",
    ],
)
def test_what_joins_a_name_to_a_secret_joins_that_of_a_vendor_too(form: str) -> None:
    dice = random.Random(form)
    for vendor in VENDORS.split():
        value = sample("", "{h6}{l20}", dice)
        for name in (f"{vendor}_key", f"{vendor.upper()}_KEY", f"{vendor}Id"):
            assert value not in redact(form.format(name, value)), form.format(name, value)


def test_a_vendor_may_name_versions_hashes_and_identifiers() -> None:
    commit = "9fceb02d0ae598e95dc970b74767f19372d61af8"
    for text in (
        f"sentry_commit = {commit}",
        f"codecov-action: sha256:{commit}",
        f'"@sentry/node": "sha512-{commit}"',
        "discord_channel: 273259229896676291",
        "sentry_release: 2024.05.17-rc1",
        "netlify: https://app.netlify.example/sites/a1b2c3d4e5",
        "travis: https://travis.example/ada/a1b2c3d4e5f6a7b8",
        "heroku_api_key = herokuApiKeyFromEnvironment",
        "github.com/launchdarkly/go-sdk v7.1.0 h1:OuVbFODueb089Lh128TAcimifWaLhJwVflnrgM17wHk=",
    ):
        assert redact(text) == text


def test_patterns_are_compiled_when_their_literal_is_met() -> None:
    """An import compiles no rule: the hooks pay for what they use."""
    code = (
        "import re, sys\ncompiled = []\nreal = re.compile\n"
        "re.compile = lambda pattern, flags=0: compiled.append(pattern) or real(pattern, flags)\n"
        "import anamnesis.notes.redaction\nprint(len(compiled))"
    )
    printed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert int(printed) < 60


def worst_inputs() -> list[str]:
    """What nearly matches, for every rule and every pattern: its beginning again and again, and its letters."""
    found = ["<private>", "</private>", "<private></private>", "\\u003cprivate\\u003e", "<private>\n\n"]
    for _, literal, shape in rules():
        found += [literal, literal + sample("", shape, random.Random(1))[:-3] + "!"]
    for _, literal, _ in SHAPED:
        found += [literal, f"{literal}aaaaaaaaaaaaaaaaaaaa", f"1{literal}"]
    for program, _ in COMMANDS:
        name = program.decode()
        found += [f"{name} ", f"{name} -p", f"{name} -u ", f"{name} -b a "]
    found += [
        "://",
        "://a:",
        "://a:b/",
        "@",
        "@:/",
        "a:b@",
        "eyJaaaaaaaaaaaa0.",
        "a.b",
        "aaaaaa.",
        "Aa1-",
        "_",
        "\\",
        "a",
    ]
    found += [
        "-----BEGIN PRIVATE " + "KEY-----",
        "-----BEGIN PRIVATE " + "KEY-----A",
        "-----BEGIN A ",
        "Private-Lines: 1\n",
    ]
    names = ("password", "api_key", "bearer")
    found += [
        name + join
        for name in names
        for join in ("=", ": ", "='", '=\\"', " is ", ":\n  ", ": |\n  ", ": str = ", " | ", " ", ",")
    ]
    found += [
        "heroku: ",
        "heroku=a1",
        f"HEROKU_KEY={'A' * 48}1a ",
        "=a1",
        "heroku: a1b2c3d4e5f6g7h8 ",
        "Cookie: a=b; ",
        "cookie: ",
        "Cookie: session=abc123\n",
    ]
    found += ["kind: Secret\ndata:\n", "data:\n  a: b\n", "kind: Secret\n---\n", "[REDACTED:token]", "curl -u "]
    return list(dict.fromkeys(found))


@pytest.mark.parametrize("part", range(8))
def test_no_input_takes_more_than_linear_time(part: int) -> None:
    for piece in worst_inputs()[part::8]:
        assert not superlinear(redact, partial(repeated, piece), largest=62_000), piece


def test_the_slowest_inputs_take_linear_time_also_in_a_megabyte() -> None:
    slowest = sorted(worst_inputs(), key=lambda piece: seconds(redact, repeated(piece, 16_000)))[-5:]
    for piece in slowest:
        assert not superlinear(redact, partial(repeated, piece)), piece


@pytest.mark.parametrize("form", ["AKIA{:016X} ", "PASSWORD=x{:08x}\n", "heroku=a1b2c3d4{:08x}\n", "token=a1{:08x}&"])
def test_different_secrets_take_linear_time(form: str) -> None:
    def make(size: int) -> str:
        # Far from each other: a secret must not be found where the one before it was.
        return "".join(form.format(number * 2_654_435_761 % 2**32) for number in range(size // len(form.format(0))))

    assert not superlinear(redact, make)


def repeated(piece: str, size: int) -> str:
    return piece * (size // len(piece))
