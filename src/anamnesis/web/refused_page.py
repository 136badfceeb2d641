"""The refusal of a request as a page, for a browser that sent a form or opened a page of the dashboard."""

from __future__ import annotations

import html
import json
from dataclasses import replace

from anamnesis.web.guard import LOGIN, is_page
from anamnesis.web.message import JSON, Request, Response

HTML = "text/html; charset=utf-8"
_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark"><title>Anamnesis</title>
<link rel="stylesheet" href="/ui/static/style.css"></head>
<body><main id="main" class="login"><h1>{head}</h1><p>{what_to_do}</p></main></body></html>
"""
_LOG_IN = (
    f'<a href="{LOGIN}" target="_blank">Log in</a> in another tab, then reload this page: the browser sends your form'
    " again."
)
_GO_BACK = "What you sent was not saved. Go back to the form and send it again."


def readable(request: Request, refusal: Response) -> Response:
    """The refusal, as a page if a browser shows it."""
    if refusal.type != JSON or not is_page(request) or "text/html" not in (request.headers.get("accept") or ""):
        return refusal
    if refusal.status == 401:
        head, what_to_do = "Your login has ended, so nothing was saved.", _LOG_IN
    else:
        head, what_to_do = html.escape(json.loads(refusal.body)["error"]), _GO_BACK if request.method == "POST" else ""
    page = _PAGE.format(head=head, what_to_do=what_to_do)
    return replace(refusal, body=page.encode("utf-8", "replace"), type=HTML)
