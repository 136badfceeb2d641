"""`anamnesis eval` as users call it: files of cases, reports, charts, and the errors in them."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from tests.cli.command import Command
from tests.eval.test_cases import CONVERSATION

PAGE = Path(__file__).parent.parent.parent / "docs/evaluation.md"
TOPICS = (
    "kubectl rollout restart",
    "two eggs and flour",
    "the owl in the barn",
    "chess openings",
    "a canoe on the lake",
)


@pytest.fixture
def anamnesis(tmp_path: Path) -> Command:
    """A memory of a few notes, and a file of cases that ask for each by its words."""
    command = Command(tmp_path)
    with command.store() as store:
        ids = [store.write(type="semantic", title=f"Note {n}", body=topic).id for n, topic in enumerate(TOPICS)]
    cases = [
        {"query": topic, "relevant_ids": [id], "kind": "<odd>" if number else "even"}
        for number, (topic, id) in enumerate(zip(TOPICS, ids, strict=True))
    ]
    (tmp_path / "cases.jsonl").write_text("".join(json.dumps(case) + "\n" for case in cases * 3))
    return command


def test_a_run_prints_a_line_for_all_cases_and_for_each_kind(anamnesis: Command) -> None:
    done = anamnesis("eval", "run", "cases.jsonl", "--mode", "words")
    assert (done.code, done.err) == (0, "")
    rows = [line.split("\t") for line in done.out.splitlines()]
    assert [row[:3] for row in rows] == [["all", "15", "1.0000"], ["<odd>", "12", "1.0000"], ["even", "3", "1.0000"]]
    assert {len(row) for row in rows} == {12}


def test_a_run_is_drawn_on_a_terminal_and_as_svg(anamnesis: Command) -> None:
    shown = anamnesis.on_terminal("eval", "run", "cases.jsonl", "--mode", "words", "--svg", "chart.svg", NO_COLOR="1")
    assert "15 cases, 5 notes, mode words" in shown
    assert re.search(r"Recall@10 +█{24} +100.0", shown)
    picture = ET.parse(anamnesis.folder / "chart.svg").getroot()
    texts = [element.text for element in picture.iter("{http://www.w3.org/2000/svg}text")]
    assert {"all", "<odd>", "even", "MRR 1.000, 15 cases"} <= set(texts)
    assert len([*picture.iter("{http://www.w3.org/2000/svg}polyline")]) == 3


def test_reports_are_compared_as_modes_are(anamnesis: Command) -> None:
    for mode in ("words", "fused"):
        done = anamnesis("eval", "run", "cases.jsonl", "--mode", mode, "--json")
        report = done.json
        assert (report["mode"], report["notes"], report["n_cases"]) == (mode, 5, 15)
        assert report["intervals"]["MRR"][0] == pytest.approx(report["mrr"])
        (anamnesis.folder / f"{mode}.json").write_text(done.out)
    saved = anamnesis("eval", "compare", "words.json", "fused.json", "--json").json
    asked = anamnesis("eval", "compare", "cases.jsonl", "--json").json
    assert (asked["a"], asked["b"], asked["n_cases"]) == ("words", "fused", 15)
    for one, other in zip(saved["differences"], asked["differences"], strict=True):
        if one["measure"] != "ms":
            assert one == other
    assert saved["verdict"].replace(".json", "") == asked["verdict"]


def test_locomo_is_measured_without_a_home(tmp_path: Path) -> None:
    anamnesis = Command(tmp_path)
    (tmp_path / "locomo.json").write_text(json.dumps([CONVERSATION]))
    for turns, notes in (([], 2), (["--turns"], 3)):
        report = anamnesis("eval", "run", "--locomo", "locomo.json", *turns, "--json").json
        assert (report["notes"], report["n_cases"], [*report["kinds"]]) == (notes, 2, ["multi-hop", "single-hop"])
        assert report["recall_at"]["10"] == 1.0
    assert not anamnesis.home.exists()


def test_cases_are_built_saved_and_run(anamnesis: Command) -> None:
    with anamnesis.store() as store:
        for number in range(8):
            body = "Every request of a client waits for an answer of the server, which writes a line to its journal."
            store.write(type="procedural", title=f"Rule {number}", body=body)
    built = anamnesis("eval", "build", "-o", "built.jsonl", "-n", "4")
    assert (built.code, built.out) == (0, "Wrote 4 cases to built.jsonl.\n")
    again = anamnesis("eval", "build", "-o", "built.jsonl")
    assert (again.code, again.err) == (
        1,
        "anamnesis: built.jsonl exists. Name another file, or remove it first.\n",
    )
    printed = [json.loads(line) for line in anamnesis("eval", "build", "-n", "4").out.splitlines()]
    assert printed == [json.loads(line) for line in (anamnesis.folder / "built.jsonl").read_text().splitlines()]
    assert printed == anamnesis("eval", "build", "-n", "4", "--json").json["cases"]
    assert anamnesis("eval", "run", "built.jsonl", "--mode", "words").code == 0


def test_cases_of_notes_that_are_gone_are_left_out_and_counted(anamnesis: Command) -> None:
    file = anamnesis.folder / "cases.jsonl"
    gone = {"query": "x", "relevant_ids": ["01J00000000000000000000000"]}
    file.write_text(file.read_text() + json.dumps(gone))
    done = anamnesis("eval", "run", "cases.jsonl", "--mode", "words")
    assert done.code == 0
    assert done.out.startswith("all\t15\t")
    assert done.err == "1 case is left out: its notes do not exist or are superseded.\n"
    file.write_text(json.dumps(gone))
    done = anamnesis("eval", "run", "cases.jsonl")
    assert done.code == 1
    assert re.fullmatch(r"anamnesis: None of the notes in cases.jsonl exists in .*\n", done.err)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["run"], "Give either a FILE of cases or --locomo FILE."),
        (["run", "cases.jsonl", "--locomo", "x"], "Give either a FILE of cases or --locomo FILE."),
        (["run", "nothing.jsonl"], "There is no file nothing.jsonl."),
        (["run", "--locomo", "cases.jsonl"], "cases.jsonl is not a file of LoCoMo's conversations."),
        (["run", "cases.jsonl", "--mode", "words", "--svg", "no/where.svg"], "no/where.svg cannot be written"),
        (["compare"], "Give a FILE of cases, two reports, or --locomo FILE."),
        (["compare", "cases.jsonl", "--a", "words", "--b", "words"], "--a and --b are both words."),
        (["compare", "cases.jsonl", "cases.jsonl"], "cases.jsonl is not a report."),
    ],
)
def test_a_mistake_is_a_sentence(anamnesis: Command, arguments: list[str], message: str) -> None:
    done = anamnesis("eval", *arguments)
    assert done.code in (1, 2)
    assert message in done.err
    assert "Traceback" not in done.err
    assert done.out == ""


def test_the_python_of_the_page_runs(tmp_path: Path) -> None:
    (example,) = re.findall(r"```python\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    script = example.replace("/tmp/demo", str(tmp_path / "demo"))
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "1 {1: 1.0, 3: 1.0, 5: 1.0, 8: 1.0} 1.0\n"
