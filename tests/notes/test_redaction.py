"""No secret is missed, and no other text is touched."""

from __future__ import annotations

import ast
import re
import string
import sysconfig
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.notes.prose_secrets import ALIKE, STATED
from tests.notes.secrets_corpus import BLOCKS, CONTEXTS, SECRETS, TEXTS, TOKENS, Secret

from anamnesis.capture.cues import PHRASES
from anamnesis.hub.keys import new_token
from anamnesis.notes.redaction import redact, removed_kinds

LIBRARY = Path(sysconfig.get_path("stdlib"))
PIECES = [
    *(token for _, token in TOKENS),
    *(piece for context in CONTEXTS for piece in context),
    *(piece for secret in SECRETS[-140:] for piece in (secret.before, secret.secret, secret.after)),
    *("password", "token", "secret", "api_key", "auth", "pass", "Bearer ", "curl -u ", "login "),
    *("sk-", "eyJ", "AKIA", "hunter2", "abc123def456", "${X}", "<private>", "</private>", "://", "=>", ":=", " is "),
    *("[REDACTED]", "[REDACTED:token]", "[REDACTED", "\\n", '\\"', "%20", "é", "😀", "İ", "→", "\ud800"),
    *string.punctuation,
    *" \n\t\r",
]
MADE_OF_SECRETS = st.lists(st.sampled_from(PIECES), max_size=7).map("".join)
WORD = st.text(string.ascii_letters, min_size=1, max_size=12) | st.sampled_from(
    ["token", "the password", "secret", "Token", "API key", "auth", "bearer", "private", "été", "密码", "42", "3.11"]
)
MARK = st.sampled_from(
    [" ", ", ", ". ", ": ", " = ", " is ", " | ", " `", "` ", " (", ") ", " **", "** ", "\n", "\n\n", "\n- ", "\n## "]
)
MARKDOWN = st.lists(st.tuples(WORD, MARK).map("".join), max_size=40).map("".join)


def surroundings(text: str) -> Iterator[str]:
    yield text
    yield f"Before.\n{text}\nafter."
    yield f"    {text}"
    yield f"see {text}"


def test_no_secret_is_missed_and_the_text_around_it_survives() -> None:
    wrong = [(secret.text, redact(secret.text)) for secret in SECRETS if redact(secret.text) != secret.redacted]
    missed = [secret.text for secret in SECRETS if secret.secret in redact(secret.text)]
    assert missed == []
    assert wrong == []


def test_the_corpus_spans_the_families() -> None:
    assert len(SECRETS) >= 150
    assert len({secret.kind for secret in SECRETS}) >= 20
    assert len(set(TEXTS)) >= 300


def test_what_only_looks_like_a_secret_stays() -> None:
    texts = [text for line in TEXTS for text in surroundings(line)]
    touched = [(text, redact(text)) for text in texts if redact(text) != text]
    print(f"{len(touched)} of {len(texts)} texts without a secret were touched", *touched, sep="\n")
    assert len(touched) <= len(texts) / 100


@pytest.mark.parametrize("language", STATED)
def test_secrets_that_prose_states_are_found_in_each_language(language: str) -> None:
    """Not those that look like a name, such as "K9-4417-xz": `password is sha-256` is none either."""
    missed = []
    for line in STATED[language].strip().splitlines():
        before, secret, after = re.split(r"\[\[|\]\]", line)
        redacted = redact(before + secret + after)
        hidden = redacted.removeprefix(before).removesuffix(after)
        if hidden == secret:
            missed.append(line)
        else:
            assert re.fullmatch(r"\[REDACTED:[a-z-]+\]", hidden), redacted
    assert len(missed) <= len(STATED[language].strip().splitlines()) * 0.3, missed


@pytest.mark.parametrize("language", ALIKE)
def test_talk_about_passwords_stays(language: str) -> None:
    lines = ALIKE[language].strip().splitlines()
    assert [redact(line) for line in lines] == lines


def test_every_language_of_the_cues_has_stated_secrets() -> None:
    assert set(STATED) == set(ALIKE) == set(PHRASES)


def test_a_token_of_a_hub_is_found_in_prose_commands_headers_and_addresses() -> None:
    for secret in [new_token() for _ in range(50)]:
        for text in (
            f"log in with {secret} please",
            f"anamnesis login https://hub.example --token {secret}",
            f"curl -H 'Authorization: Bearer {secret}' https://hub.example/v1/changes",
            f"https://hub.example/ui?code={secret}&next=/",
            f'{{"device_code": "{secret}", "interval": 5}}',
            f"https://{secret}@hub.example/mcp",
            f"Token:{secret}\n",
            f"{secret}",
        ):
            assert secret[:46] not in redact(text), text
    key = "Zq3_xY8-aB2cD4eF6gH8iJ0kL2mN4oP6qR8sT0uV2wX4yZ6"
    assert key not in redact(f"ANAMNESIS_HUB_KEY={key}")
    assert redact("anh_ begins every token of a hub, and `anh_…` hides one") == (
        "anh_ begins every token of a hub, and `anh_…` hides one"
    )


@pytest.mark.parametrize(("text", "redacted"), BLOCKS)
def test_private_blocks_are_hidden(text: str, redacted: str) -> None:
    assert redact(text) == redacted


def test_a_secret_that_was_hidden_stays_hidden_as_it_is() -> None:
    for secret in SECRETS:
        assert redact(secret.redacted) == secret.redacted
    for text, redacted in BLOCKS:
        assert redact(redacted) == redacted, text


@given(st.text() | MADE_OF_SECRETS)
def test_redaction_is_idempotent(text: str) -> None:
    once = redact(text)
    assert redact(once) == once


@given(st.text(), st.sampled_from(SECRETS), st.text())
def test_a_secret_is_found_whatever_the_lines_around_it_hold(before: str, secret: Secret, after: str) -> None:
    assert secret.secret not in redact(f"{before}\n\n{secret.text}\n\n{after}")


@given(MARKDOWN)
def test_prose_stays(text: str) -> None:
    assert redact(text) == text


def test_the_removed_kinds_are_those_whose_markers_are_new_in_order_of_appearance() -> None:
    before = f"was [REDACTED:token], password=hunter2, <private>x</private> and {TOKENS[8][1]}, password: hunter3"
    assert removed_kinds(before, redact(before)) == ["password", "private", "github-token"]
    assert removed_kinds("password=[REDACTED:password]", redact("password=[REDACTED:password]")) == []
    assert removed_kinds("a [REDACTED] block", redact("a [REDACTED] block and <private>b</private>")) == ["private"]


def test_letters_of_any_width_move_no_offset() -> None:
    for letters in ("é", "İ", "ß", "ﬃ", "😀", "\ud800", "\x00", "\u2028", "密"):
        text = f"{letters * 3} password={{}} {letters * 3}"
        assert redact(text.format("hunter2")) == text.format("[REDACTED:password]")


def docstrings(file: Path) -> Iterator[str]:
    kinds = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    for node in ast.walk(ast.parse(file.read_bytes())):
        if isinstance(node, kinds) and (docstring := ast.get_docstring(node)):
            yield docstring


def library_files() -> list[Path]:
    outside = {"site-packages", "dist-packages", "test", "tests", "lib2to3"}
    return [file for file in sorted(LIBRARY.rglob("*.py")) if not outside & set(file.relative_to(LIBRARY).parts)]


def share_touched(texts: Iterable[tuple[str, str]]) -> float:
    touched = total = 0
    for name, text in texts:
        total += 1
        if (redacted := redact(text)) != text:
            touched += 1
            changed = zip(text.split("\n"), redacted.split("\n"), strict=False)
            print(name, *(f"  {was} -> {became}" for was, became in changed if was != became), sep="\n")
    print(f"{touched} of {total} touched")
    return touched / total


def test_the_docstrings_of_the_standard_library_stay() -> None:
    texts = [(str(file), text) for file in library_files()[:450] for text in docstrings(file)]
    assert len(texts) > 3000
    assert share_touched(texts) <= 0.01


def test_the_source_of_the_standard_library_stays() -> None:
    texts = [(str(file), file.read_text("utf-8", "replace")) for file in library_files()]
    assert len(texts) > 400
    assert share_touched(texts) <= 0.01


@pytest.mark.parametrize(
    "piece",
    [
        "eyJ",
        "eyJaaaaaaaaaaaa0.",
        "sk-ant-",
        "sk-ant-____",
        "ghp_",
        "AKIA",
        "SG.aaaaaaaaaaaaaaaaaaaa.",
        "://a:",
        "://a:b/",
        "@:/",
        "curl -u ",
        "<private>",
        "-----BEGIN PRIVATE " + "KEY-----A",
        "-----BEGIN PRIVATE " + "KEY-----\nProc-Type: 4\n",
        "password=password=",
        "password: ",
        "password='",
        'password=\\"',
        "PASSWORD=a;b=",
        "token=a@b.",
        "secret=./a",
        "Authorization: Bearer ",
        "[REDACTED:token]",
        "\\",
        "_",
        "a",
    ],
)
def test_a_megabyte_that_nearly_matches_everywhere_comes_to_an_end(piece: str) -> None:
    """Each takes a second at most; were the search quadratic, it would take days."""
    text = piece * (1_000_000 // len(piece))
    assert "hunter2" not in redact(f"{text}\npassword=hunter2\n")
