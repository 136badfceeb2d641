"""Training pairs are collected from every named source, without excluded texts."""

from __future__ import annotations

import csv
import json
import random
import zipfile
from pathlib import Path

import pytest
from tools.training.collect import SOURCES, main, source_pairs, wheel_pairs
from tools.training.documents import document_pairs, markdown_of, sections
from tools.training.functions import is_permissive, licence_of, words_of
from tools.training.pairs import Pair, accepted, read

PROSE = "This text has more than a dozen words, so that it is worth being learned as an answer."
CHANCE = random.Random(1)


def files(folder: Path, **texts: str) -> Path:
    for name, text in texts.items():
        path = folder / name.replace("__", "/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    return folder


def asked(pairs: list[Pair]) -> dict[str, str]:
    return {pair.query: pair.passage for pair in pairs if not pair.source.endswith((" sentences", " turns"))}


def wheel(folder: Path, name: str, licence: str, code: str, path: str = "package/module.py") -> Path:
    with zipfile.ZipFile(made := folder / f"{name}-1.0-py3-none-any.whl", "w") as archive:
        archive.writestr(f"{name}-1.0.dist-info/METADATA", f"Name: {name}\n{licence}\n\nLicense: GPL\n")
        archive.writestr(path, code)
    return made


FUNCTION = '''
def getUserById(number):
    """Return the user that has this number.

    A second paragraph.
    """
    return connection.execute("SELECT * FROM users WHERE id = ?", number)
'''


def test_a_page_answers_its_title_its_description_and_its_headings() -> None:
    page = (
        "---\ntitle: 'Volumes | Manual'\ndescription: How data is kept\n---\n"
        f"{PROSE} [A link](there.md)\n## Back up {{#backup}}\n{PROSE}\n```\n# no heading\n```\n## See also\n{PROSE}\n"
    )
    found = asked(list(document_pairs("docs", page, CHANCE)))
    assert found["Volumes"] == found["How data is kept"] == f"{PROSE} A link"
    (backup,) = (query for query in found if "Back up" in query)
    assert backup in {"Back up", "Volumes Back up"}
    assert "# no heading" in found[backup]
    assert len(found) == 3


def test_a_page_without_front_matter_has_its_first_heading_as_its_title() -> None:
    assert asked(list(document_pairs("docs", f"# Locks\r\n{PROSE}\r\n", CHANCE))) == {"Locks": PROSE}


def test_half_of_the_sections_answer_one_of_their_sentences_which_is_removed_from_them() -> None:
    sentences = [f"This is sentence number {number} of the section." for number in range(5)]
    page = "# A\n" + " ".join(sentences)
    drawn = [
        pair for _ in range(40) for pair in document_pairs("docs", page, CHANCE) if pair.source == "docs sentences"
    ]
    assert 8 < len(drawn) < 32
    assert all(pair.query in sentences and pair.query not in pair.passage for pair in drawn)


def test_restructured_text_has_sections_too() -> None:
    text = f"=====\nTitle\n=====\n\nSee :ref:`the page <page>`.\n\nPart\n----\n\n{PROSE}\n"
    assert [section for section in sections(markdown_of(text)) if section.heading] == [
        ("Title", "See the page."),
        ("Part", PROSE),
    ]


def test_only_the_files_that_a_source_names_are_read(tmp_path: Path) -> None:
    files(tmp_path, **{"content__a.md": f"# A page\n{PROSE}", "README.md": f"# Not read\n{PROSE}"})
    assert asked(list(source_pairs("docker/docs", tmp_path, CHANCE))) == {"A page": PROSE}


def test_a_page_of_tldr_gives_a_pair_for_each_example(tmp_path: Path) -> None:
    page = (
        "# tar\n\n> Archiving utility.\n> More information: <x>.\n\n- Create an archive:\n\n`tar cf {{a.tar}} {{b}}`\n"
    )
    files(tmp_path, **{"pages__common__tar.md": page, "pages.de__common__tar.md": page.replace("Create", "Anlegen")})
    found = asked(list(source_pairs("tldr-pages/tldr", tmp_path, CHANCE)))
    assert found == {"Create an archive": "tar: Archiving utility.\ntar cf a.tar b"}


def test_a_synset_of_wordnet_pairs_its_words_with_its_gloss(tmp_path: Path) -> None:
    line = '00001740 03 n 02 hot_dog 0 frank(p) 1 001 ~ 00001930 n 0000 | a smooth-textured sausage; "usually smoked"'
    files(tmp_path, **{"data.noun": f"  1 This software is licensed\n{line}  \n", "index.noun": "no data"})
    found = list(accepted(source_pairs("wordnet", tmp_path, CHANCE)))
    assert asked(found) == {"hot dog, frank": 'a smooth-textured sausage; "usually smoked"'}


def test_a_fact_about_a_person_is_paired_with_the_turn_that_mentions_it(tmp_path: Path) -> None:
    turns = [f"User {1 + number % 2}: this is turn number {number}" for number in range(6)]
    turns[2] = "User 1: I play the violin every evening"
    (tmp_path / "data").mkdir()
    with (tmp_path / "data/chats.csv").open("w", newline="") as file:
        table = csv.writer(file)
        table.writerow(["user 1 personas", "user 2 personas", "Best Generated Conversation"])
        table.writerow(["I play the violin.\nI own a horse.", "", "\n".join(turns)])
    found = list(source_pairs("google-research-datasets/Synthetic-Persona-Chat", tmp_path, CHANCE))
    facts = asked(found)
    assert list(facts) == ["I play the violin."]
    assert turns[2] in facts["I play the violin."]
    context = [pair for pair in found if pair.source.endswith(" turns")]
    assert len(context) == 3
    assert all(pair.query in turns and pair.query not in pair.passage.split("\n") for pair in context)


def test_a_turn_of_a_task_is_paired_with_its_neighbours(tmp_path: Path) -> None:
    said = [{"speaker": "user", "text": f"please book table number {number}"} for number in range(8)]
    files(tmp_path, **{"TM-1-2019__sample.json": "broken", "TM-1-2019__woz.json": json.dumps([{"utterances": said}])})
    found = list(source_pairs("google-research-datasets/Taskmaster", tmp_path, CHANCE))
    assert len(found) == 2
    assert all(pair.query.startswith("User: please book") and pair.query not in pair.passage for pair in found)


def test_a_question_about_a_meeting_is_paired_with_its_transcript(tmp_path: Path) -> None:
    meeting = {
        "meeting_transcripts": [{"speaker": "Ann", "content": f"remark {number}"} for number in range(5)],
        "specific_query_list": [
            {"query": "What did Ann say?", "answer": "She made remarks.", "relevant_text_span": [["1", "2"]]}
        ],
    }
    files(tmp_path, **{"data__ALL__train__a.json": json.dumps(meeting), "data__ALL__test__a.json": json.dumps(meeting)})
    said = "Ann: remark 1\nAnn: remark 2"
    found = source_pairs("Yale-LILY/QMSum", tmp_path, CHANCE)
    assert asked(list(found)) == {"What did Ann say?": said, "She made remarks.": said}


def test_a_function_of_a_wheel_is_paired_with_the_first_sentence_of_its_docstring(tmp_path: Path) -> None:
    wheel(tmp_path, "good", "License-Expression: MIT", FUNCTION)
    found = [pair for pair in wheel_pairs(tmp_path, CHANCE) if pair.source == "functions"]
    assert [pair.query for pair in found] == ["Return the user that has this number"]
    assert "SELECT * FROM users" in found[0].passage
    assert "Return the user" not in found[0].passage


def test_of_two_functions_with_the_same_sentence_only_the_first_is_used(tmp_path: Path) -> None:
    wheel(tmp_path, "one", "License-Expression: MIT", FUNCTION)
    wheel(tmp_path, "two", "License-Expression: MIT", FUNCTION.replace("users", "people"))
    assert sum(pair.source == "functions" for pair in wheel_pairs(tmp_path, CHANCE)) == 1


@pytest.mark.parametrize(
    ("metadata", "licence", "permissive"),
    [
        ("License-Expression: Apache-2.0 OR BSD-3-Clause", "Apache-2.0 OR BSD-3-Clause", True),
        ("Classifier: License :: OSI Approved :: MIT License", "MIT License", True),
        ("License: BSD", "BSD", True),
        ("License-Expression: MIT AND LGPL-3.0-only", "MIT AND LGPL-3.0-only", False),
        ("Classifier: License :: OSI Approved :: Mozilla Public License 2.0 (MPL 2.0)", None, False),
        ("License: Proprietary", "Proprietary", False),
        ("Author: nobody", "?", False),
    ],
)
def test_a_wheel_is_read_only_under_a_permissive_licence(
    tmp_path: Path, metadata: str, licence: str | None, permissive: bool
) -> None:
    made = wheel(tmp_path, "some", metadata, FUNCTION)
    assert licence in {None, licence_of(made)}
    assert is_permissive(licence_of(made)) == permissive
    assert bool(list(wheel_pairs(tmp_path, CHANCE))) == permissive


@pytest.mark.parametrize(
    ("path", "code"), [("package/tests/test_a.py", FUNCTION), ("a.py", "def f(:"), ("a.txt", FUNCTION)]
)
def test_tests_and_broken_files_of_a_wheel_are_skipped(tmp_path: Path, path: str, code: str) -> None:
    wheel(tmp_path, "good", "License-Expression: MIT", code, path)
    assert not list(wheel_pairs(tmp_path, CHANCE))


def test_a_fifth_of_the_functions_have_their_name_split_into_words(tmp_path: Path) -> None:
    code = "".join(
        FUNCTION.replace("this number", f"the number {number}").replace("ById", f"By{number}") for number in range(500)
    )
    wheel(tmp_path, "good", "License-Expression: MIT", code)
    found = list(wheel_pairs(tmp_path, random.Random(1)))
    code_pairs = [pair for pair in found if pair.source == "functions"]
    assert len(code_pairs) == 500
    assert 70 < sum(" get user by" in pair.passage for pair in code_pairs) < 130
    assert 40 < len(found) - len(code_pairs) < 95


def test_identifiers_are_split_into_words() -> None:
    assert [words_of(name) for name in ("getUserById", "read_file", "HTTP_2")] == [
        "get user by id",
        "read file",
        "http 2",
    ]


def test_pairs_are_truncated_deduplicated_and_filtered() -> None:
    pairs = [
        Pair("a", " what\n is  it ", "word " * 300),
        Pair("b", "what is it", "word " * 300),
        Pair("a", "abc", PROSE),
        Pair("a", "a" * 401, PROSE),
        Pair("a", "too short a passage", "short"),
        Pair("a", "a judged function", 'def f():\n  """Other words."""\n  return   compute(everything)'),
    ]
    (only,) = accepted(pairs, ['def f():\n    """Do it."""\n    return compute(everything)'])
    assert only == Pair("a", "what is it", " ".join(["word"] * 130))


def test_the_command_writes_the_pairs_of_all_sources(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files(tmp_path, **{"co__content__a.md": f"# A page\n{PROSE}", "excluded": json.dumps("nothing of this")})
    (tmp_path / "wheels").mkdir()
    wheel(tmp_path / "wheels", "good", "License-Expression: MIT", FUNCTION)
    wheel(tmp_path / "wheels", "bad", "License-Expression: GPL-3.0-only", FUNCTION)
    (tmp_path / "wheels/broken.whl").write_bytes(b"no archive")
    out = tmp_path / "pairs.jsonl"
    wheels, excluded = str(tmp_path / "wheels"), str(tmp_path / "excluded")
    arguments = ["--out", str(out), "--wheels", wheels, "--exclude", excluded, f"docker/docs={tmp_path / 'co'}"]
    assert main(arguments) == 0
    assert {pair.source for pair in read(out)} >= {"functions", "docker/docs"}
    printed = capsys.readouterr()
    assert f"pairs in {out}" in printed.out
    assert "skipped bad-1.0-py3-none-any.whl: its licence is GPL-3.0-only" in printed.err
    assert "skipped broken.whl" in printed.err


@pytest.mark.parametrize(
    ("argument", "says"), [("unknown=.", "is not a source"), ("docker/docs=missing", "is not a folder")]
)
def test_a_wrong_source_is_reported(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], argument: str, says: str
) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(["--out", str(tmp_path / "out"), argument])
    assert says in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_every_source_of_the_notices_has_a_collector() -> None:
    notices = (Path(__file__).parents[2] / "src/anamnesis/meaning/data/NOTICES.md").read_text("utf-8")
    table = notices.partition("| source |")[2].partition("## Wheels")[0]
    listed = {
        line.split(" | ")[0].removeprefix("| ").split(" ")[0]
        for line in table.split("\n")
        if ", " in line or "/" in line
    }
    assert {name for name in SOURCES if name != "wordnet"} <= listed
