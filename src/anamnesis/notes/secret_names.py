"""Values whose names mark them as secret: `password=…`, `"api_key": "…"`, `DATADOG_KEY: …`. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable

from anamnesis.notes.secret_values import is_of_vendor, is_secret

# Names with a vendor's name, without and with a word for a key.
VENDOR_KINDS = ("vendor", "vendor-key")
_STEMS = {b"pass": "password", b"pwd": "password", b"secret": "secret", b"token": "token", b"bearer": "token"}
_STEMS |= {b"key": "key", b"auth": "authorization", b"cred": "credentials"}
_MARKERS = {kind: f"[REDACTED:{kind}]" for kind in _STEMS.values()} | dict.fromkeys(VENDOR_KINDS, "[REDACTED:key]")
_KEYS = tuple(b"api access private secret encryption signing master account service shared auth hub".split())
_NO_SECRETS = tuple(b"next page pagination starting continuation idempotency csrf xsrf public".split())
# A type annotation between a name and its value, which is then a string.
_TYPE = (
    rb"(?:[ \t]{0,9}:[ \t]{0,9}[&*]?(?:'\w{1,9} )?[a-z_][\w.:]{0,30}+(?:[\[<][\w.,:& |]{0,40}+[\]>])?"
    rb"(?:[ \t]?\|[ \t]?\w{1,20})?[?!]?"
    rb"|[ \t]{1,9}(?:string|\[\]byte)|\[\d{0,4}\])[ \t]{0,9}:?=[ \t]{0,9}(?=[a-z]{0,2}\\*[\"'`])"
)
_LINE_END = rb"(?:\r?\n|\\r\\n|\\n)"
# What joins a name to its value.
_JOINER = (
    rb"(?:\\*[\"'`]\]?|\*\*)?[?!]?"
    rb"(?:(?!=\w)(?:(?P<typed>" + _TYPE + rb")"
    rb"|(?P<line>[ \t]{0,9}(?:=>|[:?]?=|:)[ \t]{0,9}(?=[|>(\\\r\n\"'])(?:(?P<block>[|>][-+\d]{0,2}[ \t]{0,4})?[(\\]?"
    + _LINE_END
    + rb"[ \t]{1,40}|(?:\"\"\"|''')\\?"
    + _LINE_END
    + rb"[ \t]{0,40})(?=[^\s\\])))"
    rb"|(?P<sign>[ \t]{0,9}(?:=>|(?::{1,3}|[+.]|[?|&]{1,2})=(?!=)|[=:](?![=:]))\*{0,2}[ \t]{0,9})"
    rb"|(?P<element>>\s{0,40})(?=[^<>\s]{4,200}\s{0,40}</)"
    rb"|(?P<value>,?\s{1,40}[\"']?value[\"']?[=:][ \t]{0,4})|(?<=[\"'`])(?P<comma>,[ \t]{0,4})(?=\\*[\"'`])"
    rb"|(?P<call>[({][ \t]{0,4})(?=\\*[\"'])"
    rb"|(?P<cell>[ \t]{1,9}\|[ \t]{1,9})|(?P<verb>[ \t]{1,9}(?:is|was|-{1,2}>?)[ \t:]{1,3})|(?P<space>[ \t]{1,9}))"
)
# A value too short to be a secret.
_SHORT = rb"(?!bot |key )[^\s\"'`\\]{0,3}+(?:\s|\Z)"


def joined(name: bytes) -> re.Pattern[bytes]:
    """The pattern of a name and what joins it to its value, unless the value is too short to be a secret."""
    return re.compile(rb"(?>(?P<name>" + name + rb")" + _JOINER + rb")(?!" + _SHORT + rb")")


_NAME = joined(
    # "pass" is also a verb: alone it needs an equals sign or a quoted value after it, or dashes before it.
    rb"(?:pass(?:(?=[wpc])|(?<![a-z]pass))(?:word|wd|phrase|code|(?<=--pass)(?=[ \t])"
    rb"|(?=[\"'\]]{0,3}[ \t]{0,9}(?:[:?.]?=|:[ \t]{0,9}\\*[\"'])))"
    rb"|pwd|secret|token|key|(?<![a-z])auth(?:orization)?|bearer(?=[ \t])|cred(?:ential)?s?(?![a-z]))"
    rb"(?:(?=[-_.a-z0-9])[-_.]?(?:access|key|base|value|string|plain|text|raw|data|token|secret|production|prod|dev|test|live"
    rb"|staging|new|old|main|primary|secondary|confirmation|confirm|v?\d{1,4})){0,4}"
)
# The position of the name's stem, the kind of its value, and the match up to the value.
Name = tuple[int, str, re.Match[bytes]]
# The context around a name that is examined; a quoted value or one on the next line may be longer.
_BEFORE, _AFTER = 64, 128
# The size of the cache of names without a secret.
_MOST_HARMLESS = 512
_JOINED = ("sign", "value", "typed", "line", "call")
# Commands that take a name and a value, and prefixes of a name with an equals sign.
_SETTERS = ("ENV ", "set ", "setx ", "setenv ", "set -x ", "set -gx ", "set -Ux ")
_AT_START = ("ENV", "setx", "setenv", "set -x", "set -gx", "set -Ux")
_STARTS = (*_SETTERS, "export ", "$env:", "--from-literal=", "-e ", "--env ", "--env=", "--build-arg ", "--set ")
_ASSIGNED = (b"=", b":=", b"?=", b"::=", b":::=", b"+=")
_LINE_STARTS = "\n→;?&"
_NAME_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-"
_SCHEME = r"(?P<scheme>(?i:bearer|basic|(?:api-?)?(?:token|key)|bot)[ \t]{1,4})?"
_OPEN = re.compile(r"(?:[bBrRuU]{1,2}(?=[\"']))?(?P<quote>\\*(?:\"\"\"|'''|[\"'`]))")
_OPENINGS = "\"'`\\bBrRuU"
_QUOTED = re.compile(rf"{_OPEN.pattern}{_SCHEME}(?P<value>[^\n]{{0,4096}}?)(?<!\\)(?P=quote)")
# An ampersand or semicolon before another name ends a value; any other may be part of it. Values are judged by
# their beginning, because names can follow each other without end.
_WORD = re.compile(rf"{_SCHEME}(?P<value>(?:[^\s\"'`<>()\[\]{{}},;&|\\]{{1,64}}+|&(?=\w)(?!\w{{1,30}}=)){{1,16}})")
_ON_A_LINE = re.compile(rf"{_SCHEME}(?P<value>[^\s\"'`<>()\[\]{{}},;|\\]{{4,4096}})(?=[ \t]*(?:\r?\n|\\r|\\n|\"|\Z))")
_WHOLE = re.compile(rf"{_SCHEME}(?P<value>(?:[^\s\"'`\\;&\[]{{1,64}}+|\[(?!REDACTED)|[;&](?![\w. ]{{1,30}}=)){{1,16}})")
# A word that `_WHOLE` matches to its end.
_PLAIN = re.compile(r"[A-Za-z0-9]{1,64}+(?=[\n\r\\]|[;&][\w. ]{1,30}=|\Z)")
# Punctuation after a value: a sentence hardly ends a value with one of the first, and passwords often do. On a line
# that is only a name and its value, any may be the value's last character.
_LAST = frozenset(".,:;!?*)]}")
_ENDINGS = {False: re.compile(r"[.,:;!?*]{0,8}[!?*]"), True: re.compile(r"[.,:;!?]{0,8}[!?]")}
_AT_LINE_END = re.compile(r"[.,:;)\]}]{1,8}(?=[ \t]{0,9}(?:\r?\n|\\[rn]|\Z))")
_OPENED = re.compile(r"[(\[{]")
_CALL = re.compile(r"[A-Za-z_][\w.]*+[(\[]|(?:os|env|process|import|self|this|settings|config)\.\w")


def ascii_of(text: str) -> bytes:
    """One byte per character: offsets stay the same, and searching bytes is fastest."""
    return text.encode("ascii", "replace")


def without_named(text: str, names: Iterable[Name], removed: list[tuple[str, str]]) -> str:
    """The text without the secrets after the names, which are in the order of the text; adds them to `removed`."""
    kept: list[str] = []
    done = 0
    harmless: set[tuple[str, str, str]] = set()
    for at, kind, name in names:
        if (end := name.end()) < done:
            continue
        before = text[at - _BEFORE if at > _BEFORE else 0 : at]
        if harmless and (kind, before, text[at : end + _AFTER]) in harmless:
            continue
        if span := _span_of_secret(text, before, at, kind, name):
            kept += (text[done : span[0]], _MARKERS[kind])
            removed.append((text[span[0] : span[1]], _MARKERS[kind]))
            done = span[1]
        elif len(harmless) < _MOST_HARMLESS and _is_local(text[end : end + _AFTER], name):
            harmless.add((kind, before, text[at : end + _AFTER]))
    return "".join([*kept, text[done:]]) if kept else text


def _is_local(after: str, name: re.Match[bytes]) -> bool:
    """Whether the result depends only on the text around a name, so that it can be cached."""
    quotes = [letter for letter in after[:3] if letter in "\"'`"]
    closed = not quotes or (after.count(quotes[0]) > 1 and len(quotes) == 1)
    return closed and "\\" not in after and name.lastgroup != "line"


def secret_names(lowered: bytes) -> list[Name]:
    """The names of secrets, in order."""
    found: dict[int, Name] = {}
    find, match = lowered.find, _NAME.match
    for stem, kind in _STEMS.items():
        at, size = find(stem), len(stem)
        ambiguous = stem in (b"key", b"token")
        while at >= 0:
            if not (ambiguous and _is_no_secret(stem, lowered, at)) and (name := match(lowered, at)):
                found.setdefault(name.end(), (at, kind, name))
            at = find(stem, at + size)
    return [found[end] for end in sorted(found)]


def _is_no_secret(stem: bytes, lowered: bytes, at: int) -> bool:
    """Whether the word before "key" or "token" rules out a secret."""
    before = lowered[max(0, at - 14) : at]
    if stem == b"key":
        return not before.rstrip(b"-_ .").endswith(_KEYS)
    return before.rstrip(b"-_ ").endswith(_NO_SECRETS)


def _span_of_secret(text: str, before: str, at: int, kind: str, name: re.Match[bytes]) -> tuple[int, int] | None:
    """The span of the secret after a name, if any."""
    end, group = name.end(), name.lastgroup
    lead = before.rstrip(_NAME_LETTERS)
    prefix = before[len(lead) :]
    if lead.endswith("\\"):  # the n of an escaped line end is not part of the name
        lead, prefix = "", prefix[1:]
    # A fast path: most secrets are one word after a name at the start of a line.
    if group == "sign" and lead[-1:] in _LINE_STARTS and (plain := _PLAIN.match(text, end)):
        return plain.span() if _is_secret(plain[0], kind, name["sign"] in _ASSIGNED) else None
    flag = setter = False
    if group not in _JOINED:
        setter = lead.endswith(_SETTERS) or (lead.endswith(":") and prefix.startswith("_"))
        flag = setter or prefix.startswith("-") or "login " in lead
    quote = _OPEN.match(text, end) if text[end : end + 1] in _OPENINGS else None
    if not _is_joined(name, lead, flag or bool(quote)):
        return None
    literal = quote is not None and quote[0][-1] != "`" and (group in _JOINED or flag)
    if quote and (value := _QUOTED.match(text, end)):
        return _judged(value, kind, literal)
    if group == "line":
        return _span_of_lines(text, kind, name)
    margin = _margin(lead)
    shell = prefix.startswith("--") or (prefix + text[at : name.end("name")]).isupper()
    if not quote:
        literal = group == "element" or (group == "value" and shell)
        literal = literal or (group == "sign" and (shell or margin == "") and name["sign"] in _ASSIGNED)
        literal = literal or (setter and shell and lead[lead.rfind("\n") + 1 :].strip() in _AT_START)
    letters = _WORD if group == "element" or (margin is None and not shell) else _WHOLE
    value = letters.match(text, quote.end() if quote else end)
    span = _judged(value, kind, literal, alone=margin == "" or shell)
    # A quote without an end belongs to a truncated value, or else to another string.
    if span and quote and text[span[1] : span[1] + 1] not in ("", "\n", quote[0][-1]):
        return None
    return span


def _is_joined(name: re.Match[bytes], lead: str, spaced: bool) -> bool:
    """Whether the text before a name allows a value; `spaced` if the value may follow a space."""
    match name.lastgroup:
        case "sign":
            return not lead.endswith(":" if name["sign"] == b":" else "::")
        case "comma":
            return lead.endswith(("'", '"', "`"))
        case "cell":
            return lead.rstrip().endswith("|")
        case "call":
            return lead.rstrip().endswith("string")
        case "space":
            return spaced or name[0].startswith(b"bearer") or name["name"].endswith(b" auth")
    return not lead.endswith("::")


def _margin(lead: str) -> str | None:
    """The text between the start of the line and a name; None if it contains other words."""
    stripped = lead.rstrip(" \t>+-")
    if not stripped or stripped[-1] in _LINE_STARTS:
        return lead[len(stripped) :]
    return "" if lead.endswith(_STARTS) else None


def _span_of_lines(text: str, kind: str, name: re.Match[bytes]) -> tuple[int, int] | None:
    """The span of the secret on the line after a name, or on the lines of a YAML block."""
    value = _ON_A_LINE.match(text, name.end())
    literal = bool(name["block"]) or name["line"].rstrip().endswith((b"'", b'"'))
    span = _judged(value, kind, literal, alone=True) if value and ":" not in value["value"][-1:] else None
    if not span or not name["block"]:
        return span
    indent = re.search(r"[ \t]*\Z", text[max(0, span[0] - 40) : span[0]])
    more = re.compile(rf"(?:\r?\n{re.escape(indent[0] if indent else '')}[A-Za-z0-9+/=_-]{{4,}}(?=\s|\Z))*+").match(
        text, span[1]
    )
    return span[0], more.end() if more else span[1]


def _judged(value: re.Match[str] | None, kind: str, literal: bool, alone: bool = False) -> tuple[int, int] | None:
    """The span of the value, if it is a secret; `alone` if its line holds nothing else than its name."""
    if not value:
        return None
    scheme, secret = value.group("scheme", "value")
    start, end = value.span("value")
    # Unquoted, and not a single word before a space or line end: part of it may belong to the code around it.
    bare = value.re is not _QUOTED and not (secret.isalnum() and value.string[end : end + 1] in " \n")
    if bare:
        secret = _trimmed(secret)
    if scheme and kind == "authorization":
        found = is_secret(secret[:64], True, len(secret) > 7 and not secret.islower() and not secret.istitle())
    else:
        found = _is_secret(secret[:64], kind, literal)
    if not found:
        return None
    if bare:
        call = _CALL.match(value.string, start)
        if call and (not literal or call[0][-1] not in "([" or secret[-1:] in "()[]"):
            return None
        while more := value.re.match(value.string, end):
            end = more.end()
        end = start + len(_trimmed(value.string[start:end]))
    return start, end if value.re is _QUOTED else _with_last(value.string, start, end, alone=alone)


def _is_secret(value: str, kind: str, literal: bool) -> bool:
    if kind in VENDOR_KINDS:
        return is_of_vendor(value, kind == "vendor-key")
    return is_secret(value, kind in ("password", "secret"), literal)


def _with_last(text: str, start: int, end: int, *, alone: bool) -> int:
    """The end of an unquoted value with the punctuation that may be its last characters; `alone` on its line."""
    if text[end : end + 1] not in _LAST:
        return end
    before = text[max(0, start - _BEFORE) : start].rpartition("\n")[2]
    if last := _ENDINGS["*" in before].match(text, end):
        end = last.end()
    if alone and not _OPENED.search(before) and (last := _AT_LINE_END.match(text, end)):
        end = last.end()
    return end


def _trimmed(value: str) -> str:
    """An unquoted value without the punctuation of the sentence or code around it."""
    brackets = "(" in value or "[" in value or "{" in value
    return value.rstrip(".,:;!?*" if brackets else ".,:;!?*)]}")
