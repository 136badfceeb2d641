"""Values whose names say that they are secret: `password=…`, `"api_key": "…"`, `DATADOG_KEY: …`. Pure."""

from __future__ import annotations

import re
from functools import lru_cache

from anamnesis.notes.secret_rules import VENDORS

_STEMS = {b"pass": "password", b"pwd": "password", b"secret": "secret", b"token": "token", b"bearer": "token"}
_STEMS |= {b"key": "key", b"auth": "authorization", b"cred": "credentials"}
_KEYS = tuple(b"api access private secret encryption signing master account service shared auth".split())
_NO_SECRETS = tuple(b"next page pagination starting continuation idempotency csrf xsrf public".split())
# What declares the type of a variable between its name and its value, which then is a string.
_TYPE = (
    rb"(?:[ \t]{0,9}:[ \t]{0,9}[&*]?(?:'\w{1,9} )?[a-z_][\w.:]{0,30}(?:[\[<][\w.,:& |]{0,40}[\]>])?"
    rb"(?:[ \t]?\|[ \t]?\w{1,20})?[?!]?"
    rb"|[ \t]{1,9}(?:string|\[\]byte)|\[\d{0,4}\])[ \t]{0,9}:?=[ \t]{0,9}(?=[a-z]{0,2}\\*[\"'`])"
)
_LINE_END = rb"(?:\r?\n|\\r\\n|\\n)"
_NAME = re.compile(
    # A test passes, too: that word alone needs an equals sign or a quoted value after it, or dashes before.
    rb"(?P<name>(?:pass(?:word|wd|phrase|code|(?<=--pass)(?=[ \t])"
    rb"|(?=[\"'\]]{0,3}[ \t]{0,9}(?:[:?.]?=|:[ \t]{0,9}\\*[\"'])))"
    rb"|pwd|secret|token|key|auth(?:orization)?|bearer(?=[ \t])|cred(?:ential)?s?(?![a-z]))"
    rb"(?:[-_.]?(?:access|key|base|value|string|plain|text|raw|data|token|secret|production|prod|dev|test|live"
    rb"|staging|new|old|main|primary|secondary|confirmation|confirm|v?\d{1,4})){0,4})"
    rb"(?:\\*[\"'`]\]?|\*\*)?[?!]?"
    rb"(?:(?P<typed>" + _TYPE + rb")"
    rb"|(?P<line>[ \t]{0,9}(?:=>|[:?]?=|:)[ \t]{0,9}(?P<block>[|>][-+\d]{0,2}[ \t]{0,4})?[(\\]?"
    + _LINE_END
    + rb"[ \t]{1,40}(?=[^\s\\]))"
    rb"|(?P<sign>[ \t]{0,9}(?:=>|(?::{1,3}|[+.]|[?|&]{1,2})=(?!=)|[=:](?![=:]))\*{0,2}[ \t]{0,9})"
    rb"|(?P<element>>\s{0,40})(?=[^<>\s]{4,200}\s{0,40}</)"
    rb"|(?P<value>,?\s{1,40}[\"']?value[\"']?[=:][ \t]{0,4})|(?<=[\"'`])(?P<comma>,[ \t]{0,4})(?=\\*[\"'`])"
    rb"|(?P<cell>[ \t]{1,9}\|[ \t]{1,9})|(?P<verb>[ \t]{1,9}(?:is|was|-{1,2}>?)[ \t:]{1,3})|(?P<space>[ \t]{1,9}))"
)
# How far around a name one looks; a quoted value and a value on the next line may be longer.
_BEFORE, _AFTER = 64, 128
_JOINED = ("sign", "value", "typed", "line")
_ASSIGNED = (b"=", b":=", b"?=", b"::=", b":::=", b"+=")
_NAME_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-"
_SCHEME = r"(?P<scheme>(?i:bearer|basic|(?:api-?)?(?:token|key)|bot)[ \t]{1,4})?"
_OPEN = re.compile(r"(?:[bBrRuU]{1,2}(?=[\"']))?(?P<quote>\\*(?:\"\"\"|'''|[\"'`]))")
_OPENINGS = "\"'`\\bBrRuU"
_QUOTED = re.compile(rf"{_OPEN.pattern}{_SCHEME}(?P<value>[^\n]{{0,4096}}?)(?<!\\)(?P=quote)")
# An ampersand or semicolon before another name ends a value; any other may be a part of it. Values are judged
# by their beginning, for names can follow each other without end.
_WORD = re.compile(rf"{_SCHEME}(?P<value>(?:[^\s\"'`<>()\[\]{{}},;&|\\]|&(?=\w)(?!\w{{1,30}}=)){{1,64}})")
_ON_A_LINE = re.compile(rf"{_SCHEME}(?P<value>[^\s\"'`<>()\[\]{{}},;|\\]{{4,4096}})(?=[ \t]*(?:\r?\n|\\r|\\n|\"|\Z))")
_WHOLE = re.compile(rf"{_SCHEME}(?P<value>(?:[^\s\"'`\\;&\[]|\[(?!REDACTED)|[;&](?![\w. ]{{1,30}}=)){{1,64}})")

MARKER = re.compile(r"\[REDACTED(?::[a-z0-9-]+)?\]")
# Variables and templates, and variables joined to a string that ends before them.
REFERENCE = re.compile(
    r"[+.,)]\s?[A-Za-z_][\w.]{0,24}[+(),\s]*\Z|ENC\[|\$(?:[{(]|[A-Za-z_]\w*\Z)|[<{\[]|[#@!][A-Za-z-]+\Z|%(?:[sdr(]|\w+%)|.*(?:\$\{|\{\{|#\{|<%)"
    r"|[\W_xX]+\Z"
)
_ALGORITHM = r"(?i:sha|md|aes|rsa|hmac|utf|base|oauth|argon|hs|rs|es|ed|pbkdf|http|tls|x)\d{1,5}[a-z]{0,3}"
# Paths, URLs and mail addresses; what asks to be replaced; names of secrets and of algorithms.
_NO_SECRET = re.compile(
    r"(?:~|\.{1,2}|[A-Za-z]:)?(?:[/\\][\w.@-]{1,24})+[/\\]?\Z|[\w+.-]+://|arn:|[\w+.-]+@[\w-]+(?:\.[\w-]+)+\Z"
    r"|(?i:.*your|change.?me|.*placeholder|.*\bexample\b)"
    r"|(?:[A-Za-z]+_)+(?i:password|secret|token|key)\Z|[a-z]+(?:[A-Z][a-z]+)*(?:Password|Key)\Z"
    rf"|{_ALGORITHM}\Z"
)
_PLACEHOLDERS = (
    " none null nil true false undefined yes no on off enabled disabled required optional str string bytes text int"
    " bool boolean any object number default empty secret secrets password passwords passwd passphrase pass pwd"
    " token tokens key keys api apikey access auth authentication authorization my the a an of here example sample"
    " dummy fake test testing demo placeholder change me changeme changeit todo tbd redacted hidden masked removed"
    " value name user username insert enter replace with this some foo bar baz client private public bearer basic"
    " oauth jwt scheme header realm db input prompt field credential credentials "
)
_CALL = re.compile(r"[A-Za-z_][\w.]*[(\[]|(?:os|env|process|import|self|this|settings|config)\.\w")
_CODE = re.compile(r"[A-Za-z_]\w*(?:(?:\.|::|->)[A-Za-z_]\w*)+\Z|[A-Za-z]+(?:_[A-Za-z]+)+\d{0,2}\Z")
_WORDLIKE = re.compile(rf"[A-Za-z]*\d{{0,2}}|\d+|\d{{1,2}}[A-Za-z]+|\d\dT\d\d|{_ALGORITHM}")


def ascii_of(text: str) -> bytes:
    """One byte for each letter, whatever the letter: offsets stay the text's own, and searching is fastest."""
    return text.encode("ascii", "replace")


def without_named(text: str, lowered: bytes) -> str:
    """The text without the values whose names say that they are secret."""
    kept: list[str] = []
    done = 0
    harmless: set[tuple[str, str]] = set()
    for at, kind, name in _names(lowered):
        around = (text[max(0, at - _BEFORE) : at], text[at : name.end() + _AFTER])
        if name.end() < done or around in harmless:
            continue
        if span := _span_of_secret(text, at, kind, name):
            kept += [text[done : span[0]], f"[REDACTED:{kind}]"]
            done = span[1]
        elif _is_local(text[name.end() : name.end() + _AFTER], name):
            harmless.add(around)
    return "".join([*kept, text[done:]]) if kept else text


def _is_local(after: str, name: re.Match[bytes]) -> bool:
    """Whether only what is around a name made it harmless: then it is so wherever it is repeated."""
    quotes = [letter for letter in after[:3] if letter in "\"'`"]
    closed = not quotes or (after.count(quotes[0]) > 1 and len(quotes) == 1)
    return closed and "\\" not in after and name.lastgroup != "line"


def _names(lowered: bytes) -> list[tuple[int, str, re.Match[bytes]]]:
    """Each name of a secret with what joins it to a value, in order: where its stem is, its kind, its match."""
    found: dict[int, tuple[int, str, re.Match[bytes]]] = {}
    for stem, kind in _STEMS.items():
        at = lowered.find(stem)
        while at >= 0:
            if (name := _NAME.match(lowered, at)) and _is_name(stem, lowered, at):
                found.setdefault(name.end(), (at, kind, name))
            at = lowered.find(stem, at + len(stem))
    return [found[end] for end in sorted(found)]


def _is_name(stem: bytes, lowered: bytes, at: int) -> bool:
    before = lowered[max(0, at - 14) : at]
    if stem == b"key":
        return before.rstrip(b"-_ .").endswith(_KEYS)
    if stem == b"token":
        return not before.rstrip(b"-_ ").endswith(_NO_SECRETS)
    if stem == b"auth" or (stem == b"pass" and lowered[at + 4 : at + 5] not in b"wpc"):
        return not before[-1:].isalpha()
    return True


def _span_of_secret(text: str, at: int, kind: str, name: re.Match[bytes]) -> tuple[int, int] | None:
    """Where the secret after a name is, if there is one."""
    before = text[max(0, at - _BEFORE) : at]
    lead = before.rstrip(_NAME_LETTERS)
    prefix = before[len(lead) :]
    if lead.endswith("\\"):  # the n of an escaped line end is no part of the name
        lead, prefix = "", prefix[1:]
    flag = prefix.startswith("-") or "login " in lead
    end, group = name.end(), name.lastgroup
    quote = _OPEN.match(text, end) if text[end : end + 1] in _OPENINGS else None
    match group:
        case "comma":
            joined = lead.endswith(("'", '"', "`"))
        case "cell":
            joined = lead.rstrip().endswith("|")
        case "space":
            joined = flag or bool(quote) or name[0].startswith(b"bearer")
        case _:
            joined = not lead.endswith(":" if name["sign"] == b":" else "::")
    if not joined:
        return None
    if quote and (value := _QUOTED.match(text, end)):
        return _judged(value, kind, quote[0][-1] != "`" and (group in _JOINED or flag))
    if group == "line":
        return _span_of_lines(text, kind, name)
    margin = _margin(lead)
    shell = prefix.startswith("--") or (prefix + text[at : name.end("name")]).isupper()
    if quote:
        literal = quote[0][-1] != "`" and (group in _JOINED or flag)
    else:
        bare = shell or margin == ""
        literal = bool(name["element"] or (name["value"] and shell) or (name["sign"] in _ASSIGNED and bare))
    value = (_WORD if margin is None and not shell else _WHOLE).match(text, quote.end() if quote else end)
    span = _judged(value, kind, literal) if value else None
    # A quote that nothing ends is that of a value which was cut off, or else that of another string.
    if span and quote and text[span[1] : span[1] + 1] not in ("", "\n", quote[0][-1]):
        return None
    return span


def _margin(lead: str) -> str | None:
    """What stands between a name and the start of its line, or nothing where other words do."""
    stripped = lead.rstrip(" \t>+-")
    if not stripped or stripped[-1] in "\n→;?&":
        return lead[len(stripped) :]
    return "" if lead.endswith(("export ", "set ", "ENV ", "$env:")) else None


def _span_of_lines(text: str, kind: str, name: re.Match[bytes]) -> tuple[int, int] | None:
    """Where the secret on the line after a name is, or on the lines of a block of YAML."""
    value = _ON_A_LINE.match(text, name.end())
    span = _judged(value, kind, bool(name["block"])) if value and ":" not in value["value"][-1:] else None
    if not span or not name["block"]:
        return span
    indent = re.search(r"[ \t]*\Z", text[max(0, span[0] - 40) : span[0]])
    more = re.compile(rf"(?:\r?\n{re.escape(indent[0] if indent else '')}[A-Za-z0-9+/=_-]{{4,}}(?=\s|\Z))*+").match(
        text, span[1]
    )
    return span[0], more.end() if more else span[1]


def _judged(value: re.Match[str], kind: str, literal: bool) -> tuple[int, int] | None:
    """Where the value is, if it is a secret."""
    (start, end), secret = value.span("value"), value["value"]
    bare = value.re is not _QUOTED
    if bare:
        secret = _trimmed(secret)
    strong, certain = kind in ("password", "secret"), literal
    if kind == "authorization" and value["scheme"]:
        strong, certain = True, len(secret) > 7 and not secret.islower() and not secret.istitle()
    if not _is_secret(secret[:64], strong, certain):
        return None
    if bare:
        call = _CALL.match(value.string, start)
        if call and (not literal or call[0][-1] not in "([" or secret[-1:] in "()[]"):
            return None
        while more := value.re.match(value.string, end):
            end = more.end()
        end = start + len(_trimmed(value.string[start:end]))
    return start, end


def _trimmed(value: str) -> str:
    """An unquoted value without the punctuation that the sentence or the code puts after it."""
    brackets = "(" in value or "[" in value or "{" in value
    return value.rstrip(".,:;!?*" if brackets else ".,:;!?*)]}")


@lru_cache(maxsize=4096)
def _is_secret(value: str, strong: bool, literal: bool) -> bool:
    """Whether a value is a secret; `strong` is its name, and `literal` says that it can be no word of a text."""
    if len(value) < (4 if strong and literal else 6 if strong else 8) or len(value.split()) != 1:
        return False
    digits, letters = sum(map(str.isdigit, value)), re.sub("[+/=]", "", value)
    if not strong and digits < 2 and not letters.isalpha():
        return False
    if "[REDACTED" in value or REFERENCE.match(value) or _NO_SECRET.match(value):
        return False
    if digits < 2 and all(f" {word} " in _PLACEHOLDERS for word in re.findall("[a-z]+", value.lower())):
        return False
    if strong and literal:
        return True
    if digits < 5 and _CODE.match(value):
        return False
    words = [word for word in re.split(r"[-_.:/@+]", value) if word]
    wordlike = all(_WORDLIKE.fullmatch(word) for word in words)
    if strong:
        return (digits > 0 and (len(words) == 1 or not wordlike)) or bool(re.search(r"\w[!@#$%^&*~]\w", value))
    if digits > 1:
        return not wordlike
    share = sum(map(str.isupper, letters)) / len(letters)
    padded = value.endswith("=") and len(value) % 4 == 0
    return padded or (len(letters) > 15 and (0.35 < share < 0.65 or (literal and share in (0, 1))))


_COOKIES = r"(?i:cookie)2?[\"'`]?[ \t]{0,4}[:=, ][ \t]{0,4}[\"'`]?[^\n\"'`]{1,4096}"
_COOKIE = r"(?P<name>[\w.%-]{1,60})=(?P<value>[^;\s,\"'`\\]{4,4096})"
_SESSION = "(?i)sess|sid|auth|token|jwt|login|remember|ticket"


def without_cookies(text: str) -> str:
    """The text without the values of cookies that open a session or look random."""

    def replacement(found: re.Match[str]) -> str:
        session = bool(re.search(_SESSION, found["name"]))
        if not _is_secret(found["value"][:64], session, True) or not (session or len(found["value"]) > 15):
            return found[0]
        return f"{found['name']}=[REDACTED:cookie]"

    return re.sub(_COOKIES, lambda header: re.sub(_COOKIE, replacement, header[0]), text)


# An operator that assigns, and the beginning of a value that is no word.
_ASSIGNMENT = re.compile(
    rb"[=:>,|][\s\"'`=\\]{0,9}+(?=(?P<value>[\w./+=:%|-]{14,100}+))"
    rb"(?=[A-Za-z_.:/+=%|-]{0,24}+\d|[A-Za-z]{0,20}[a-z][A-Z](?![a-z]{2}))"
)
_REST = re.compile(r"[\w./+=:%|-]*+(?![@(\[])", re.ASCII)
_VENDORS = frozenset(VENDORS.split())
_NO_NAME = re.compile(r"[^\w.\- ]")
_PARTS = re.compile("[A-Z]?[a-z0-9]+|[A-Z0-9]+")
_NO_CREDENTIALS = "commit sha hash digest checksum integrity revision version etag channel guild url uri"
_NO_CREDENTIAL = frozenset(_NO_CREDENTIALS.split())
_CREDENTIALS = "token key secret client app access api auth"
_CREDENTIAL = frozenset(_CREDENTIALS.split())
_CAMEL = re.compile("[a-z]*(?:[A-Z]+[a-z]{2,}|[A-Z]{2,})*[0-9]{0,2}")


def may_name_a_vendor(letters: bytes, words: set[bytes]) -> bool:
    """Whether a vendor is named before one of these words; to look for many of them costs more than the search does."""
    if len(words) > 32:
        return True
    for word in words:
        at = letters.find(word)
        while at >= 0:
            if _vendor_in(letters[max(0, at - 60) : at + len(word)].decode()):
                return True
            at = letters.find(word, at + len(word))
    return False


def _vendor_in(name: str) -> list[str]:
    """The parts of a name in which a vendor is named."""
    parts = [part.lower() for part in _PARTS.findall(name)]
    none = _VENDORS.isdisjoint(parts) and _VENDORS.isdisjoint(map(str.__add__, parts, parts[1:]))
    return [] if none else parts


def without_vendors(text: str) -> str:
    """The text without the random values that are assigned to the name of a vendor of such keys."""
    kept, done = [], 0
    for found in _ASSIGNMENT.finditer(ascii_of(text)):
        start, end = found.span("value")
        if start >= done and _is_of_vendor(text[max(0, found.start() - 60) : found.start()], text[start:end]):
            rest = _REST.match(text, end)
            if rest:
                kept += [text[done:start], "[REDACTED:key]"]
                done = rest.end()
    return "".join([*kept, text[done:]]) if kept else text


def _is_of_vendor(before: str, value: str) -> bool:
    # What was hidden before names its kind, which is no name of a value.
    name = _NO_NAME.split(MARKER.sub("#", before).rstrip(" \t\"'`\\)]:?.|="))[-1]
    parts = _vendor_in(name)
    if not parts or not _NO_CREDENTIAL.isdisjoint(parts):
        return False
    named = not _CREDENTIAL.isdisjoint(parts)
    if value.isdigit():
        return named and len(value) > 14
    if named and value.isalnum() and not _CAMEL.fullmatch(value):
        return not value.islower() or not value.isalpha()
    return not value.startswith("//") and not re.match(_ALGORITHM, value) and _is_secret(value[:64], False, True)
