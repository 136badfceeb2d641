"""The model card describes the files that ship, and the wheel and the source distribution carry them."""

from __future__ import annotations

import hashlib
import re
import subprocess
import sys
import zipfile
from importlib.resources import files
from pathlib import Path

ROOT = Path(__file__).parents[2]
CARD = (ROOT / "docs/meaning.md").read_text("utf-8")
DATA = files("anamnesis.meaning") / "data"
SHIPPED = {"model.safetensors", "vocab.txt", "NOTICES.md"}


def test_the_card_has_the_size_and_the_sum_of_each_file() -> None:
    rows = re.findall(r"^\| `([\w.]+)` \| (\d+) \| ([0-9a-f]{64}) \|$", CARD, re.MULTILINE)
    assert {name for name, _, _ in rows} == SHIPPED - {"NOTICES.md"}
    for name, size, checksum in rows:
        data = (DATA / name).read_bytes()
        assert (len(data), hashlib.sha256(data).hexdigest()) == (int(size), checksum), name


def test_the_card_and_the_notices_name_the_same_sources() -> None:
    notices = (DATA / "NOTICES.md").read_text("utf-8")
    tables = [re.findall(r"^\| ([^\s`]+).*? \| ([\d,]+) \| (.+) \|$", text, re.MULTILINE) for text in (CARD, notices)]
    assert tables[0] == tables[1]
    assert len(tables[0]) == 18
    assert sum(int(pairs.replace(",", "")) for _, pairs, _ in tables[0]) == 614_499


def test_the_wheel_carries_the_model_which_loads_from_it(tmp_path: Path) -> None:
    build = [sys.executable, "-m", "pip", "wheel", "--quiet", "--disable-pip-version-check", "--no-deps", str(ROOT)]
    subprocess.run([*build, "--wheel-dir", str(tmp_path)], check=True, capture_output=True)
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        for name in SHIPPED:
            assert archive.read(f"anamnesis/meaning/data/{name}") == (DATA / name).read_bytes()
        assert not any(name.startswith(("tools/", "tests/")) for name in archive.namelist())
        archive.extractall(tmp_path / "installed")
    script = "import anamnesis; from anamnesis.meaning.model import load; load().query('x'); print(anamnesis.__file__)"
    environment = {"PYTHONPATH": str(tmp_path / "installed"), "PATH": ""}
    run = [sys.executable, "-c", script]
    done = subprocess.run(run, env=environment, cwd=tmp_path, check=True, capture_output=True, text=True)
    assert done.stdout.startswith(str(tmp_path / "installed"))
