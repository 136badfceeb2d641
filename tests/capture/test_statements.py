"""A note quotes the causes, decisions and rules that a session stated, and nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.capture.conftest import Parse
from tests.capture.labelled import Dialogue, read
from tests.capture.transcripts import Era
from tests.growth import superlinear

from anamnesis.capture import HeuristicSummarizer, ParsedSession, Statement, parse_transcript, unknown_to
from anamnesis.capture.cues import CAUSE, RULE
from anamnesis.capture.statements import most_telling, statements_in

TUNING, HELD_OUT = read("tuning"), read("held_out")
LIMIT = 5


def found_in(dialogue: Dialogue, folder: Path) -> dict[str, str]:
    folder.mkdir()
    session = parse_transcript(dialogue.store(folder))
    return {statement.text: statement.kind for statement in session.statements}


@pytest.mark.parametrize("dialogue", TUNING, ids=lambda dialogue: dialogue.name)
def test_each_labelled_sentence_is_kept_and_no_other(tmp_path: Path, dialogue: Dialogue) -> None:
    assert found_in(dialogue, tmp_path / "agent") == dialogue.kept


def test_precision_and_recall_hold_on_dialogues_that_were_not_tuned_on(tmp_path: Path) -> None:
    """Measured: 30 of 32 sentences are kept, and no other. Precision goes before recall."""
    wrong = kept = labelled = 0
    for number, dialogue in enumerate(HELD_OUT):
        found = found_in(dialogue, tmp_path / str(number))
        right = found.items() & dialogue.kept.items()
        wrong += len(found) - len(right)
        kept += len(right)
        labelled += len(dialogue.kept)
    assert kept / (kept + wrong) >= 0.95
    assert kept / labelled >= 0.9


def test_every_agent_has_dialogues_in_both_sets() -> None:
    agents = {"claude", "codex", "gemini", "opencode"}
    assert {dialogue.agent for dialogue in TUNING} == {dialogue.agent for dialogue in HELD_OUT} == agents


@pytest.mark.parametrize(
    "text",
    [
        "```\nAlways use uv.\n```",
        "~~~\nRoot cause: a stale lock.\n~~~",
        "```python\nAlways use uv.",
        "> Root cause: a stale lock.",
        "    Always use uv for everything.",
        "| Always use uv. | Root cause: a stale lock. |",
        "<log>\n2026-01-01 10:00:00 Root cause: a stale lock.",
        "$ echo Always use uv here",
        "ERROR: Always use uv here.",
        "error[E0308]: types must never differ",
        "ValueError: Root cause: a stale lock.",
        "Traceback (most recent call last):\nRoot cause: a stale lock.\nAlways use uv here.",
        "const rule = 'Always use uv here.';",
        "# Always use uv here.",
    ],
)
@pytest.mark.parametrize("by_user", [False, True])
def test_code_logs_quotations_and_tables_state_nothing(text: str, by_user: bool) -> None:
    assert statements_in(text, by_user=by_user) == []


@pytest.mark.parametrize("by_user", [False, True])
def test_private_blocks_state_nothing(by_user: bool) -> None:
    """Outside its block, a private sentence would no longer be recognised as private."""
    filler = "Nothing of note here.\n\n" * 200
    for text in (
        "fix it <private>the door is blue. Always use the blue door. Root cause: the lock.</private> now",
        f"Hello.\n\n<private>\n\n{filler}Always use the blue door.</private>",
        "<private>Always use the blue door, and never close it.",
    ):
        assert statements_in(text, by_user=by_user) == []


def test_text_after_a_code_block_counts() -> None:
    text = "```\nAlways use pip.\n```\nAlways use uv here."
    assert [each.text for each in statements_in(text)] == ["Always use uv here."]


@pytest.mark.parametrize(
    "text",
    [
        "What was the root cause?",
        "Should we always use uv?",
        "I haven't found the root cause yet.",
        "The cause of the crash is still unknown.",
        "The reason for the timeout was not found.",
        "Maybe the problem was the cache.",
        "Let me find out what the root cause is.",
        "It always fails.",
        "It must be the cache.",
        "Never mind, it works.",
        "Don't worry about it.",
        "The list is never empty.",
        "I always wanted to try this.",
        "Always.",
        "Root cause:",
    ],
)
@pytest.mark.parametrize("by_user", [False, True])
def test_questions_guesses_and_phrases_state_nothing(text: str, by_user: bool) -> None:
    assert statements_in(text, by_user=by_user) == []


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("The root cause of the 502 errors was the keepalive timeout of nginx.", CAUSE),
        ("The reason for the slow startup is a synchronous DNS lookup.", CAUSE),
        ("I learned that SQLite ignores foreign keys unless the pragma is set.", RULE),
        ("Learned that pytest-xdist sets up fixtures once per worker.", RULE),
        ("Key learning: the ORM caches the schema for 5 minutes.", RULE),
        ("The user prefers small commits.", RULE),
    ],
)
def test_named_causes_and_learnings_are_statements(text: str, kind: str) -> None:
    assert [each.kind for each in statements_in(text)] == [kind]


def test_a_long_message_of_a_user_is_read_at_its_ends_only() -> None:
    """The middle is usually pasted, and a pasted document may contain rules."""
    pasted = "\n\n".join("Never feed the lions at night." for _ in range(200))
    text = f"Always answer in English.\n\n{pasted}\n\nFrom now on, be brief."
    found = [each.text for each in statements_in(text, by_user=True)]
    assert found == ["Always answer in English.", "From now on, be brief."]


def test_of_many_statements_the_most_telling_are_kept_first() -> None:
    """The final answer weighs most, then the user, then the latest."""
    parts = ("motor", "gear", "fuse", "plug", "lamp", "fan", "coil")
    early = [Statement("cause", f"{part.title()} trouble was {part} {part}s {part}ing.") for part in parts]
    user = Statement("cause", "The cause was a worn belt.", by_user=True, weight=2)
    final = Statement("cause", "Root cause: the belt had worn through overnight.", weight=3)
    kept = most_telling([*([each] for each in early), [user], [final]])
    assert kept == [final, user, *early[: -(LIMIT - 1) : -1]]


def test_the_statements_of_a_message_keep_their_order() -> None:
    text = "Root cause: a stale lock. The fix was to remove that file at the start."
    assert [each.text for each in most_telling([statements_in(text)])] == text.replace(". ", ".\n").splitlines()


def test_a_repeated_statement_is_kept_once(parse: Parse, era: Era) -> None:
    said = "Root cause: the session cookie has no Secure flag."
    session = parse(
        era.ask("why?"),
        era.answer(said, id="a"),
        era.answer(f"{said} Fixed.", id="b"),
        era.answer("**Root cause:** the session cookie has no `Secure` flag", id="c"),
    )
    assert [each.text for each in session.statements] == ["Root cause: the session cookie has no `Secure` flag"]


def test_the_last_message_of_a_hook_is_searched_too(parse: Parse, era: Era) -> None:
    session = parse(era.ask("why?"), last_message="Root cause: the cookie had expired.")
    assert [each.text for each in session.statements] == ["Root cause: the cookie had expired."]


def test_the_note_lists_statements_under_their_kinds_and_names_the_user() -> None:
    session = ParsedSession(
        first_prompt="why?",
        last_outcome="Done.",
        statements=[
            Statement("cause", "Root cause: the cookie had expired."),
            Statement("decision", "We decided to keep the cookie.", by_user=True),
            Statement("rule", "Never log cookies."),
        ],
    )
    summary = HeuristicSummarizer().summarize(session)
    assert summary is not None
    assert summary.body == (
        "**Ask:** why?\n\n"
        "**Causes and fixes:**\n- Root cause: the cookie had expired.\n"
        "**Decisions:**\n- We decided to keep the cookie. (user)\n"
        "**Rules and caveats:**\n- Never log cookies.\n"
        "\n**Outcome:** Done."
    )


def test_statements_that_a_note_contains_are_known() -> None:
    known = Statement("rule", "Always use `uv` here.")
    new = Statement("rule", "Never use pip here.")
    assert unknown_to([known, new], ["# Tools\n\n- always use uv here\n"]) == [new]


def test_injected_notes_are_not_the_users_words(parse: Parse, era: Era) -> None:
    notes = "<recalled-memory-0a1b2c3d>\nAlways use uv here.\n</recalled-memory-0a1b2c3d>"
    session = parse(era.ask(f"{notes}\ngo on with the page"))
    assert session.prompts == ["go on with the page"]
    assert session.statements == []


@pytest.mark.parametrize(
    "part",
    [
        *("always ", "never mind, ", "must ", "a: ", "; ", ", ", "`", "``` ", "**", "- ", "# ", ". ", "... ", "' "),
        *("\n",),
        *("Root cause: ", "no cause ", "we use x instead of y ", "because of it fails ", "don't ", "1. ", "。", "决定"),
    ],
)
@pytest.mark.parametrize("by_user", [False, True])
def test_time_grows_with_the_text(part: str, by_user: bool) -> None:
    def make(size: int) -> str:
        return part * (size // len(part))

    assert not superlinear(lambda text: statements_in(text, by_user=by_user), make, largest=250_000)
