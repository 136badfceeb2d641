"""Output for people: drawn on a terminal, plain lines in a pipe."""

from __future__ import annotations

import re

from tests.cli.command import Command


def plain(shown: str) -> str:
    return re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", shown)


def test_a_new_user_sees_how_to_begin(anamnesis: Command) -> None:
    shown = plain(anamnesis.on_terminal("status"))
    assert "0 notes in" in shown
    assert 'anamnesis write "Title" "What to remember"' in shown


def test_status_draws_bars_and_the_last_half_year(anamnesis: Command) -> None:
    for number in range(4):
        anamnesis("write", f"Note {number}", "body", "-t", "semantic" if number else "procedural")
    shown = plain(anamnesis.on_terminal("status"))
    assert "4 notes in" in shown
    assert "▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁█ new notes per week" in shown
    assert re.search(r"type +semantic +█{24} +3 *\n +procedural +█{8} +1", shown)


def test_status_in_a_pipe_is_names_and_values(anamnesis: Command) -> None:
    anamnesis("write", "Note", "body")
    lines = dict(line.split("\t", 1) for line in anamnesis("status").out.splitlines())
    assert lines["root"] == str(anamnesis.home)
    assert lines["total"] == "1"
    assert lines["type"] == "semantic\t1"


def test_search_shows_title_strength_and_the_matching_part(anamnesis: Command) -> None:
    anamnesis("write", "Use WAL mode", f"{'padding ' * 60}Set busy_timeout on every connection.")
    anamnesis("write", "Another", "nothing of the kind")
    shown = plain(anamnesis.on_terminal("search", "busy_timeout", "--long"))
    assert re.search(r" 1 Use WAL mode +▮▮▮▮▮", shown)
    assert "…padding" in shown
    assert "busy_timeout" in shown
    assert "Another" not in shown


def test_search_marks_whole_words_that_matched_and_no_function_words(anamnesis: Command) -> None:
    anamnesis("write", "Do locks block a door?", "I do avoid them: a lock is in the blocking database.")
    anamnesis("write", "Another", "nothing of the kind")
    marked = re.compile(r"\x1b\[(?:1;)?33m(.*?)\x1b")
    assert marked.findall(anamnesis.on_terminal("search", "how do I avoid a lock")) == ["locks"]
    assert marked.findall(anamnesis.on_terminal("search", "how do I avoid a lock", "--long")) == [
        "locks",
        "avoid",
        "lock",
    ]


def test_search_omits_notes_that_share_only_common_words(anamnesis: Command) -> None:
    for number in range(6):
        anamnesis("write", f"Note {number}", "gateway" + " lock" * (number == 3))
    found = anamnesis("search", "--words", "gateway lock")
    assert [line.split("\t")[4] for line in found.out.splitlines()] == ["Note 3"]
    assert "1 of" not in (shown := plain(anamnesis.on_terminal("search", "--words", "gateway lock")))
    assert "Note 3" in shown
    assert "Note 4" not in shown
    assert len(anamnesis("search", "--words", "gateway lock", "--json").json) == 6


def test_no_result_has_a_score_of_zero(anamnesis: Command) -> None:
    anamnesis("write", "Only", "gateway")
    (line,) = anamnesis("search", "gateway").out.splitlines()
    assert float(line.split("\t")[1]) > 0


def test_search_says_when_it_finds_nothing_only_to_people(anamnesis: Command) -> None:
    anamnesis("write", "Restarting pods", "kubectl rollout restart deployment web")
    shown = plain(anamnesis.on_terminal("search", "zebra")).split("\n")
    assert shown[:2] == ["Nothing found.", "Try other words, or: anamnesis list"]
    done = anamnesis("search", "zebra")
    assert (done.code, done.out, done.err) == (0, "", "")
    assert anamnesis("search", "zebra", "--json").out == "[]\n"


def test_a_search_without_hits_suggests_what_to_try(anamnesis: Command) -> None:
    assert "there are no notes yet" in plain(anamnesis.on_terminal("search", "lock"))
    anamnesis("write", "Lock errors", "Set busy_timeout.", "-p", "github.com/a/web")
    anamnesis("write", "Other", "of the kind", "-p", "shop")

    def said(*arguments: str) -> list[str]:
        return plain(anamnesis.on_terminal("search", *arguments)).strip().split("\n")

    assert said("how to", "lokc") == ["Nothing found.", "Did you mean: how to lock"]
    assert said("lock", "-p", "shop") == [
        "Nothing found in shop.",
        "Without the project, these projects have matches: github.com/a/web (1)",
    ]
    assert said("lock", "-t", "episodic")[1] == "Without filters, these projects have matches: github.com/a/web (1)"
    assert said('"errors lock"')[1] == "Without the quotes, any of the words is enough."
    assert said("??") == ["Nothing found: the query has no words."]


def test_a_short_name_of_two_projects_is_refused_with_their_names(anamnesis: Command) -> None:
    for owner in "ab":
        anamnesis("write", "Note", "body", "-p", f"github.com/{owner}/web")
    for command in (["search", "body"], ["list"]):
        done = anamnesis(*command, "-p", "web")
        assert (done.code, done.out) == (1, "")
        assert "'web' is the short name of 2 projects: github.com/a/web and github.com/b/web." in done.err
    anamnesis("write", "Mine", "body", "-p", "web")
    assert anamnesis("search", "body", "-p", "web").out.endswith("\tMine\n")
    assert anamnesis("list", "-p", "web").out.count("\n") == 1


def test_the_long_list_shows_whole_ids_types_and_tags(anamnesis: Command) -> None:
    note_id = anamnesis("write", "Note", "body", "--tag", "red").out.strip()
    shown = plain(anamnesis.on_terminal("list", "--long"))
    assert re.search(rf"{note_id} +just now +semantic +global +Note +#red", shown)
    assert shown.rstrip().endswith("1 note")


def test_a_title_cannot_paint_the_terminal(anamnesis: Command) -> None:
    with anamnesis.store() as store:
        store.write(type="semantic", title="[bold]x[/bold] \x1b[31mred", body="\x1b]0;title\x07 [link=x]y")
    for arguments in (
        ["list"],
        ["list", "--long"],
        ["search", "red"],
        ["search", "red", "--long"],
        ["show", "0"],
        ["status"],
    ):
        shown = anamnesis.on_terminal(*arguments)
        assert "\x1b[31mred" not in shown
        assert "\x1b]0;" not in shown


def test_a_note_is_drawn_as_markdown(anamnesis: Command) -> None:
    note_id = anamnesis("write", "Title", "# Heading\n\n- one\n- two\n").out.strip()
    shown = plain(anamnesis.on_terminal("show", note_id))
    assert "╭─ Title ─" in shown
    assert " • one" in shown
    assert "human, claims to be from thinkpad" in shown


def test_lines_in_a_pipe_stay_lines_whatever_the_title(anamnesis: Command) -> None:
    with anamnesis.store() as store:
        store.write(type="semantic", title="a\tb\nc", body="")
    assert anamnesis("list").out.splitlines()[0].endswith("\ta b c")
    assert len(anamnesis("list").out.splitlines()) == 1


def test_reindex_shows_progress_to_people_and_is_silent_in_a_pipe(anamnesis: Command) -> None:
    anamnesis("write", "Title", "body")
    assert "Indexed 1 note." in plain(anamnesis.on_terminal("reindex"))
    done = anamnesis("reindex")
    assert (done.out, done.err) == ("Indexed 1 note.\n", "")


def test_doctor_names_faults_and_says_when_there_are_none(anamnesis: Command) -> None:
    anamnesis("write", "Title", "body")
    assert "in order" in plain(anamnesis.on_terminal("doctor"))
    anamnesis.home.chmod(0o755)
    shown = plain(anamnesis.on_terminal("doctor"))
    assert "✗" in shown
    assert "anamnesis doctor --fix" in shown
    assert "✓ fixed" in plain(anamnesis.on_terminal("doctor", "--fix"))
