"""What this program was installed from. The registry's package of the same name may be another program."""

from __future__ import annotations

import json
import shlex
from importlib import metadata
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from urllib.request import url2pathname

from anamnesis import __version__

_NAME = "anamnesis-memory"


def own_package(extra: str = "") -> str:
    """This program as an installer's argument, with an extra: its checkout or package, else its name and version."""
    extras = f"[{extra}]" if extra else ""
    origin = _origin()
    url = str(origin.get("url", ""))
    path = Path(url2pathname(urlsplit(url).path)) if url.startswith("file:") else None
    if path and path.exists():
        return shlex.quote(f"{path}{extras}")
    if url and not path:
        repository = origin.get("vcs_info", {})
        source = f"{repository['vcs']}+{url}@{repository['commit_id']}" if repository else url
        return shlex.quote(f"{_NAME}{extras} @ {source}")
    return shlex.quote(f"{_NAME}{extras}=={__version__}")


def _origin() -> dict[str, Any]:
    """The record that installers keep of a package that did not come from a registry; {} if there is none."""
    try:
        record = metadata.distribution(_NAME).read_text("direct_url.json")
    except metadata.PackageNotFoundError:
        checkout = Path(__file__).parents[3]
        return {"url": checkout.as_uri()} if (checkout / "pyproject.toml").is_file() else {}
    return dict(json.loads(record)) if record else {}
