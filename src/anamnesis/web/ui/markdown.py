"""The text of a note as HTML. Notes are hostile: nothing in them runs, loads, navigates or hides.

Raw HTML is shown as text, images become links, every link to another host names it, and the output of markdown-it is
sanitised again.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from urllib.parse import urlsplit

import nh3
from markdown_it import MarkdownIt
from markdown_it.renderer import RendererProtocol
from markdown_it.rules_core import StateCore
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token
from markupsafe import Markup, escape

from anamnesis.notes.links import LINK
from anamnesis.plain import plain
from anamnesis.web.guard import PAGES

# Longer texts are shown unrendered: a text that is built to be slow takes 2 s at this length, and 7 s at twice it.
_LONGEST = 100_000
_TAGS = {
    *("h1", "h2", "h3", "h4", "h5", "h6", "p", "br", "hr", "blockquote", "pre", "code", "em", "strong", "s", "a"),
    *("ul", "ol", "li", "table", "thead", "tbody", "tr", "th", "td", "span"),
}
_SCHEMES = {"http", "https", "mailto"}


# The address of the note that a wiki link names; None if there is none.
Resolve = Callable[[str], str | None]


def rendered(text: str, resolve: Resolve | None = None) -> Markup:
    """The text as HTML that is safe in a page. `resolve` gives the targets of wiki links."""
    shown = plain(text)
    if len(shown) > _LONGEST:
        return Markup("<pre>{}</pre>").format(shown)
    html = _parser().render(shown, {"resolve": resolve})
    clean = nh3.clean(
        html,
        tags=_TAGS,
        attributes={
            "a": {"href", "class"},
            "code": {"class"},
            "span": {"class"},
            "blockquote": {"dir"},
            "ul": {"dir"},
            "ol": {"dir", "start"},
            "table": {"dir"},
        },
        url_schemes=_SCHEMES,
        link_rel="noopener noreferrer nofollow",
    )
    return Markup(clean)  # noqa: S704  it was sanitised


@cache
def _parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"html": False, "linkify": False}).enable(["table", "strikethrough"])
    parser.inline.ruler.before("link", "wiki_link", _wiki_link)
    parser.core.ruler.push("direction", _direction)
    parser.add_render_rule("image", _image)
    parser.add_render_rule("link_open", _link_open)
    parser.add_render_rule("link_close", _link_close)
    return parser


def _direction(state: StateCore) -> None:
    """Lists, quotes and tables have the direction of their first letters."""
    for token in state.tokens:
        if token.nesting == 1 and token.tag in ("ul", "ol", "blockquote", "table"):
            token.attrSet("dir", "auto")


def _wiki_link(state: StateInline, silent: bool) -> bool:
    """`[[Title]]` or `[[Title|text]]` is a link to a note."""
    found = LINK.match(state.src, state.pos)
    if found is None:
        return False
    if not silent:
        resolve = state.env.get("resolve")
        address = resolve(found[1].strip()) if resolve else None
        state.push("html_inline", "", 0).content = _note_link(address, (found[2] or found[1]).strip())
    state.pos = found.end()
    return True


def _note_link(address: str | None, text: str) -> str:
    if address is None:
        return str(Markup('<span class="missing">{}</span>').format(text))
    return str(Markup('<a class="note" href="{}">{}</a>').format(address, text))


def _image(self: RendererProtocol, tokens: list[Token], place: int, _options: object, _env: object) -> str:
    """A link instead of an image, as loading it would tell its host that the note was read."""
    address = str(tokens[place].attrGet("src") or "")
    host = _host(address)
    if not host or not _is_safe(address):
        return str(escape(f"[{tokens[place].content or 'image'}]"))
    text = f"{tokens[place].content or 'image'} ({host})"
    return str(Markup('<a class="image" href="{}">{}</a>').format(address, text))


def _link_open(
    self: RendererProtocol, tokens: list[Token], place: int, _options: object, env: dict[str, list[str]]
) -> str:
    address = str(tokens[place].attrGet("href") or "")
    env.setdefault("hosts", []).append(_host(address))
    is_safe = _is_safe(address)
    return str(Markup('<a href="{}">').format(address)) if is_safe else '<span class="missing">'


def _link_close(
    self: RendererProtocol, tokens: list[Token], place: int, _options: object, env: dict[str, list[str]]
) -> str:
    host = env["hosts"].pop()
    opened = next(each for each in reversed(tokens[:place]) if each.type == "link_open")
    if not _is_safe(str(opened.attrGet("href") or "")):
        return "</span>"
    return str(Markup('</a><span class="host"> ({})</span>').format(host)) if host else "</a>"


def _is_safe(address: str) -> bool:
    """Whether a link may be followed: to the web, to a mail address, or within the dashboard."""
    try:
        parts = urlsplit(address)
    except ValueError:
        return False
    if parts.scheme:  # browsers treat `http:x`, without a host, as a path on this one
        return parts.scheme == "mailto" or (parts.scheme in _SCHEMES and bool(parts.hostname))
    return address.startswith((f"{PAGES}/", "#"))


def _host(address: str) -> str:
    """The host of an address in ASCII (IDNA), so that look-alike letters of other scripts are visible."""
    try:
        name = urlsplit(address).hostname or ""
        return name.encode("idna").decode("ascii")
    except (ValueError, UnicodeError):
        return "?" if "//" in address else ""
