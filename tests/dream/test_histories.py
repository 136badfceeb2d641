"""Whatever happens to files, a note about one is marked if and only if the file is gone and was there when it was
written; and it makes no difference how often a dream has looked.
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import NamedTuple

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.dream.repositories import Repository, note, run

from anamnesis.notes.marks import STALE, marks_of
from anamnesis.store import MemoryStore

NAMES = ("src/a.py", "src/b.py", "c.py")


class Step(NamedTuple):
    """A file that is written, removed or renamed."""

    what: str
    name: str
    to: str


STEPS = st.lists(
    st.builds(Step, st.sampled_from(["write", "remove", "rename"]), st.sampled_from(NAMES), st.sampled_from(NAMES)),
    min_size=1,
    max_size=6,
)


def play(repository: Repository, day: int, step: Step, files: dict[str, int]) -> None:
    """Take a step in the repository and in `files`, the numbers of files by their names."""
    serial = 1 + day
    if step.what == "write":
        if step.name not in files:
            files[step.name] = serial
        text = "".join(f"value_{serial}_{line} = {serial * line}\n" for line in range(20))
        repository.commit(day, {step.name: text} if files[step.name] == serial else {})
    elif step.what == "remove" and step.name in files:
        del files[step.name]
        repository.commit(day, {step.name: None})
    elif step.what == "rename" and step.name in files and step.to not in files:
        files[step.to] = files.pop(step.name)
        repository.commit(day, {step.to: (repository.folder / step.name).read_text(), step.name: None})
    else:
        repository.commit(day, {})


@settings(max_examples=25, suppress_health_check=[HealthCheck.too_slow])
@given(before=STEPS, after=STEPS, name=st.sampled_from(NAMES), looks=st.sets(st.integers(0, 20)))
def test_a_note_is_marked_if_and_only_if_its_file_is_gone(
    before: list[Step], after: list[Step], name: str, looks: set[int]
) -> None:
    folder = Path(tempfile.mkdtemp())
    try:
        repository, files, day = Repository(folder / "work"), dict[str, int](), 0
        with MemoryStore(folder / "store") as store:
            for day, step in enumerate(before):
                play(repository, day, step, files)
            written = note(store, f"It is in `{name}`.", day)
            was_there, meant = name in files, {files.get(name, 0)}
            for day, step in enumerate(after, day + 1):  # noqa: B020
                play(repository, day, step, files)
                meant.add(files.get(name, 0))
                if day in looks:
                    run(store, repository.folder)
            run(store, repository.folder)
            is_elsewhere = bool({*files.values()} & meant)
            expected = was_there and name not in files and not is_elsewhere
            assert (STALE in marks_of(store.get(written.id))) is expected
    finally:
        shutil.rmtree(folder)
