"""Streams the notes of a list as a file: JSON lines, or a zip of their markdown files."""

from __future__ import annotations

import json
import zipfile
from collections.abc import AsyncIterator, Iterable
from datetime import UTC, datetime
from functools import partial

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from anamnesis.errors import InvalidArgument
from anamnesis.notes import Memory, as_dict, render
from anamnesis.web.lanes import Lane
from anamnesis.web.ui.notes import selected
from anamnesis.web.ui.view import PageRequest, Site

_AT_ONCE = 200


class _Lines:
    """JSON lines, one note per line."""

    type = "application/x-ndjson"

    def add(self, notes: Iterable[Memory]) -> bytes:
        return "".join(f"{json.dumps(as_dict(note), ensure_ascii=False)}\n" for note in notes).encode()

    def end(self) -> bytes:
        return b""


class _Zip:
    """The files of the notes, in the folders of their types."""

    type = "application/zip"

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._zip = zipfile.ZipFile(self, "w", zipfile.ZIP_DEFLATED)  # type: ignore[call-overload]

    def write(self, data: bytes) -> int:
        self._parts.append(bytes(data))
        return len(data)

    def flush(self) -> None:
        pass

    def add(self, notes: Iterable[Memory]) -> bytes:
        for note in notes:
            self._zip.writestr(f"{note.type}/{note.id}.md", render(note))
        return self._take()

    def end(self) -> bytes:
        self._zip.close()
        return self._take()

    def _take(self) -> bytes:
        parts, self._parts = self._parts, []
        return b"".join(parts)


_FORMATS: dict[str, type[_Lines | _Zip]] = {"jsonl": _Lines, "zip": _Zip}


class NoteExport:
    """Answers with the notes of a list, or with the hits on all pages of a search."""

    def __init__(self, site: Site) -> None:
        self._site = site

    async def answer(self, request: Request) -> Response:
        name = request.query_params.get("format", "")
        if name not in _FORMATS:
            raise InvalidArgument(f"{name[:20]!r} is not an export format.", f"Give {' or '.join(_FORMATS)}.")
        file = _FORMATS[name]()
        page_request = PageRequest({}, request.query_params)
        ids = await self._site.lanes.call(Lane.SEARCH, partial(selected, self._site.vault.notes, page_request))
        place = f'attachment; filename="anamnesis-{datetime.now(UTC):%Y-%m-%d}.{name}"'
        headers = {"Content-Disposition": place}
        return StreamingResponse(self._content(ids, file), media_type=file.type, headers=headers)

    async def _content(self, ids: list[str], file: _Lines | _Zip) -> AsyncIterator[bytes]:
        notes = self._site.vault.notes
        for start in range(0, len(ids), _AT_ONCE):
            some = ids[start : start + _AT_ONCE]
            yield await self._site.lanes.call(Lane.LIST, lambda some=some: file.add(notes.whole(some)))  # type: ignore[misc]
        yield file.end()
