"""Finds secrets by their shape or by the name before them, and replaces them. Pure; linear in the text."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import lru_cache
from types import MappingProxyType

from anamnesis.notes.known_secrets import Known, known_secrets
from anamnesis.notes.known_secrets import without_known as without_known
from anamnesis.notes.secret_names import ascii_of, secret_names, without_named
from anamnesis.notes.secret_prose import without_stated
from anamnesis.notes.secret_rules import COMMANDS, alone, in_lower_case, regex_of, rules
from anamnesis.notes.secret_values import MARKER, is_reference, without_cookies
from anamnesis.notes.secret_vendors import may_be_a_key, vendor_names

_ALNUM = "[A-Za-z0-9]"
_HEX = "[0-9a-f]"
_BASE64 = "[A-Za-z0-9+/]{20,}={0,2}"
# After the first letter of a secret: asserts that it begins a word.
_ALONE = alone(1, r"\w")

# Shapes that a rule cannot express: the kind, a literal in such a secret, and its pattern, whose first group is kept.
SHAPED = (
    # A JSON header ends in a brace, whose last base64 letter is one of three.
    (
        "jwt",
        "eyJ",
        "()eyJ" + alone(3, r"[\w-]") + r"[\w-]{10,}+(?<=[Q90])\.[\w-]{8,}(?:\.{1,2}[\w-]+){0,3}",
    ),
    ("jwt", ".ey", "()ey" + alone(2, r"[\w-]") + r"[A-Za-z0-9]{17,}+\.ey[\w/-]{17,}+(?:\.[\w/-]*={0,2})?"),
    ("slack-token", "xox", rf"()xox[abceoprs]-[\w-]{{9,}}{_ALNUM}"),
    ("twilio-token", "AC", rf"(AC{_HEX}{{32}}:){_HEX}{{32}}(?:[\w-]*{_ALNUM})?"),
    ("telegram-token", ":A", rf"()\d{{5,16}}:A[\w-]{{32,}}{_ALNUM}"),
    ("discord-webhook", "/api/webhooks/", rf"(/api/webhooks/)\d{{5,}}/[\w-]{{19,}}{_ALNUM}"),
    ("slack-webhook", "hooks.slack.com/", r"(hooks\.slack\.com/(?:services|workflows|triggers)/)[\w/-]{16,}"),
    ("teams-webhook", "/webhookb2/", r"(/webhookb2/)[\w@/-]{20,}"),
    ("azure-key", "Key=", rf"((?:Account|SharedAccess)Key=){_BASE64}"),
    ("azure-signature", "sig=", r"(\bsig=)[\w%+/-]{24,}={0,2}"),
    ("azure-secret", "Q~", rf"()[\w~.-]{{3}}\dQ~[\w~.-]{{29,}}{_ALNUM}"),
    ("azure-devops-token", "AZDO", rf"(){_ALNUM}{_ALONE}{_ALNUM}{{69,79}}AZDO{_ALNUM}{{4}}"),
    (
        "authress-key",
        ".acc",
        "()[sea]" + _ALONE + r"(?:c|xt|cauth|uthress)_\w{5,30}\.\w{4,6}\.acc[_-][\w-]{10,32}\.[\w+/=-]{30,}",
    ),
    (
        "clickhouse-key",
        "4b1d",
        "()4b1d" + alone(4, r"[\w+/-]") + r"(?=[a-f0-9]{0,36}[A-Zg-z])[A-Za-z0-9]{38}(?![\w+/=-])",
    ),
    ("facebook-token", "|", r"()\d" + _ALONE + r"\d{14,15}\|[\w-]{27,40}(?![\w-])"),
    ("facebook-token", "%", r"()\d" + _ALONE + r"\d{14,15}%(?:7[Cc])?[\w-]{27,40}(?![\w-])"),
    ("mailchimp-key", "-us", rf"(){_HEX}{_ALONE}{_HEX}{{31}}-us\d{{1,2}}(?!\w)"),
    ("maxmind-key", "_mmk", rf"(){_ALNUM}{_ALONE}{_ALNUM}{{5}}_{_ALNUM}{{29}}_mmk(?!\w)"),
    ("newrelic-key", "NRAL", rf"(){_HEX}{_ALONE}{_HEX}{{31,35}}(?:FFFF)?NRAL(?!\w)"),
    ("terraform-token", ".atlasv1.", rf"(){_ALNUM}{_ALONE}{_ALNUM}{{13}}\.atlasv1\.[\w=-]{{59,}}[A-Za-z0-9=]"),
    (
        "vault-token",
        "s.",
        r"()s\."
        + alone(2, r"[\w.]")
        + r"(?=[A-Za-z]{0,22}\d)(?!(?:[A-Z]?[a-z]{2,}+\d{0,2}+)++(?!\w))[A-Za-z0-9]{24}(?![\w(-]|\.\w)",
    ),
    ("yandex-token", "t1.", "()t1" + alone(2, r"\w") + r"\.[\w-]{1,2000}={0,2}\.[\w-]{86}={0,2}"),
)
_Token = tuple[int, str, bytes, str, str]
_TOKENS: dict[bytes, list[_Token]] = {}
# Grouped by the last two bytes of the literal, which are cheap to search for. Patterns are compiled when their literal
# is first found: compiling all would cost 60 ms at import.
for _at, (_kind, _literal, _shape) in enumerate((*SHAPED, *rules())):
    _token = (_at, _kind, _literal.encode(), _literal if _at >= len(SHAPED) else "", _shape)
    _TOKENS.setdefault(_token[2][-2:], []).append(_token)
_SINGLE = {ending for ending in _TOKENS if len(ending) == 1}
# Separates the runs of characters that may be a secret. Such a run is long and not made of words.
_SEPARATORS = b"\"'`(){}]<>,;?&"
_SEPARATED = bytes.maketrans(_SEPARATORS, b" " * len(_SEPARATORS))
_SHORTEST = 14
_NO_WORDS = re.compile(rb"[a-z][A-Z](?![a-z]{2})|[A-Z]{10}")
_NO_MARKS = bytes({*range(256)} - {*b"ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"})
_LOWER_CASE = tuple(literal.encode() for literal in in_lower_case())
_FLAG = re.compile(rb" -(?:[abpuwPU]|-(?:pass|user|cookie|proxy))")
_LONGEST_COMMAND = 430
# A Discord token has no literal except its dots; this finds them at the right distance.
_DISCORD_DOTS = re.compile(rb"\.[\w-]{6}\.[\w-]{27}")
# A password may contain a colon or an at sign, or else a slash, but not after a port.
# Named for the tests, which feed each pattern its worst input.
PATTERNS = {
    "discord-token": rf"()[MNO][\w-]{{22,27}}\.[\w-]{{6}}\.[\w-]{{26,}}{_ALNUM}",
    "url-password": r"(:(?:\\?/){2}[^\s/:@\"'<>\[]*:)(?!\[REDACTED)(?:[^\s/\"'<>]+|(?!\d+/)[^\s:@\"'<>]+)(?=@[\w\[])",
    "url-token": rf"(:(?:\\?/){{2}}){_ALNUM}{{20,}}(?=@[\w\[])",
}
# Masks, runs of words, long function names.
_NO_TOKEN = re.compile(r"(?i:.*x{12}|[a-z]{1,12}(?:[-_][a-z]{1,12}){2,}\Z)|[a-z]+_[a-z]+(?:[A-Z][a-z]{2,})+\Z")
_TAG = re.compile(r"(?:<|\\u003[cC])(/?)(?i:private)\s{0,9}(?:>|\\u003[eE])")
_BLANK_LINE = r"(?:\r?\n|\\r\\n|\\n)[ \t]*(?=\r?\n|\\r\\n|\\n)"
# Line ends of all kinds, and what source code, quotations and numbered listings add around them.
_GAP = r"(?:[\s\"'`+,;>|#*.]|\\+[nrt\"'/]?|\d{1,6}[→\t])"
_HEADER = r"[A-Z][A-Za-z-]{2,24}: [^\n\\\"]{1,120}"
_PEM = (
    r"-----BEGIN (?:[A-Z0-9]+ ){0,4}PRIVATE KEY(?: BLOCK)?-----"
    rf"(?=(?:{_GAP}|{_HEADER})*+[A-Za-z0-9+/=]{{5}})"
    rf"(?:(?:{_GAP}*+(?:{_HEADER}|[A-Za-z0-9+/=]+))++{_GAP}*+-----END[^-\n]{{1,40}}-----"
    rf"|(?:{_GAP}*+(?:{_HEADER}|[A-Za-z0-9+/=]{{16,}}))++"
    r"(?:(?:\s|\\+[nr])+[A-Za-z0-9+/]{1,15}={0,2}(?=[\s\"'\\]|\Z))?)"
)
_LINE = r"[A-Za-z0-9+/]++={0,2}(?![:\w-])"
_PUTTY = rf"(Private-Lines:[ \t]{{0,4}}\d{{1,4}}{_GAP}{{1,40}}?){_LINE}(?:{_GAP}{{1,40}}+{_LINE})*+"
# The values under `data` and `stringData` of a Kubernetes manifest, in base64 or plain.
_MANIFEST = r"(?m)^[ \t]{0,9}kind:[ \t]{0,9}[\"']?(?i:secret)\b"
_DATA = r"(?m)^([ \t]*)(?:data|stringData):[ \t]*\r?\n((?:\1[ \t]+[^\n]*(?:\n|\Z)|[ \t]*\r?\n)+)"
_ENTRY = r"(?m)(^[ \t]+[\w.-]+:[ \t]*(?:[|>][-+]?\s{1,40})?[\"']?)(?![|>&*{\[])[^\s\"'#{}]{6,}"

# Many redacted fields are the name of a project or a type: too short for a secret, and no assignment.
_ONE_WORD = re.compile(r"[\w.-]*+\Z", re.ASCII)
_LONGEST_KNOWN = 4_096
_NONE: Known = MappingProxyType({})
# Values that were removed, with their markers.
_Removed = list[tuple[str, str]]


def redact(text: str) -> str:
    """The text with `[REDACTED]` for private blocks and `[REDACTED:kind]` for secrets."""
    return _found(text)[0]


def redact_all(texts: Sequence[str]) -> list[str]:
    """Texts that belong together, such as the fields of a note: what one reveals as a secret is removed from all."""
    return redact_knowing(texts)[0]


def redact_knowing(texts: Sequence[str]) -> tuple[list[str], Known]:
    """The texts as `redact_all` returns them, and the secrets that they reveal."""
    found = [_found(text) for text in texts]
    known = _all_of(found)
    return [without_known(text, known) if known else text for text, _ in found], known


def secrets_in(texts: Iterable[str]) -> Known:
    """The secrets that the texts reveal, for `without_known`."""
    return _all_of(_found(text) for text in texts)


def _all_of(found: Iterable[tuple[str, Known]]) -> Known:
    known: dict[str, str] = {}
    for _, each in found:
        if each:
            known |= each
    return known


def _found(text: str) -> tuple[str, Known]:
    if len(text) < _SHORTEST and _ONE_WORD.match(text):
        return text, _NONE
    return _redacted(text) if len(text) <= _LONGEST_KNOWN else _redacted.__wrapped__(text)


def removed_kinds(before: str, after: str) -> list[str]:
    """The kinds of what `redact` removed from `before`, `private` for blocks, in order of appearance."""
    found = Counter(MARKER.findall(after))
    found.subtract(MARKER.findall(before))
    new = [marker for marker, more in found.items() if more > 0]
    return [marker[1:-1].removeprefix("REDACTED").lstrip(":") or "private" for marker in new]


# A text that was read is often written next, so texts come twice.
@lru_cache(maxsize=1024)
def _redacted(given: str) -> tuple[str, Known]:
    """The text without secrets, and those that are recognised anywhere."""
    text, letters = given, ascii_of(given)
    removed: _Removed = []
    if b"private" in (lowered := letters.lower()):
        if b"<private" in lowered or b"u003cprivate" in lowered:
            text = _without_private(text)
        if b"PRIVATE KEY" in letters:
            text = re.compile(_PEM).sub("[REDACTED:private-key]", text)
        if b"Private-Lines:" in letters:
            text = _without("private-key", _PUTTY, text, [])
    long = _long_words(letters)
    words = _random(long)
    if words:
        text = _without_tokens(text, b" ".join(words), removed)
    if b"@" in letters and b"/" in letters:
        text = _without("url-password", PATTERNS["url-password"], text, removed)
        text = _without("url-token", PATTERNS["url-token"], text, removed)
    if b" -" in letters:
        text = _without_passwords(text, letters, removed)
    if b"kind:" in letters and b"ata:" in letters and b"secret" in lowered:
        text = _without_manifests(text, removed)
    if b"cookie" in lowered:
        text = without_cookies(text, removed)
    if text is not given:
        lowered = ascii_of(text).lower()
    text = without_named(text, secret_names(lowered), removed)
    text = without_stated(text, lowered, removed)
    if words and text is not given:
        letters = ascii_of(text)
        lowered, long = letters.lower(), _long_words(letters)
        words = _random(long)
    keys = set(filter(may_be_a_key, words)) if words else words
    if keys:
        text = without_named(text, vendor_names(letters, lowered, [word for word in long if word in keys]), removed)
    known = known_secrets(removed) if removed else _NONE
    return (without_known(text, known) if known else text), known


def _long_words(letters: bytes) -> list[bytes]:
    """The words that are long enough to be a secret. The cheap split first: most words are short."""
    long = b" ".join([word for word in letters.split() if len(word) >= _SHORTEST])
    return [word for word in long.translate(_SEPARATED).split() if len(word) >= _SHORTEST] if long else []


def _random(words: list[bytes]) -> set[bytes]:
    return set(filter(_is_random, set(words))) if words else set()


def _is_random(word: bytes) -> bool:
    """Whether a word is neither a natural word nor an identifier: it has digits, or many capitals."""
    marks = word.translate(None, _NO_MARKS)
    if 4 * len(marks) >= len(word) and (b"_" not in word or not word.isupper()):
        return not marks.isalpha() or bool(_NO_WORDS.search(word))
    if not marks:
        return _LOWER_CASE[0] in word or _LOWER_CASE[1] in word
    return not marks.isalpha() and may_be_a_key(word)


def _without_tokens(text: str, long: bytes, removed: _Removed) -> str:
    # A short text has fewer pairs of letters than there are endings.
    short = len(long) < 160
    endings = _SINGLE | ({long[at : at + 2] for at in range(len(long))} & _TOKENS.keys()) if short else _TOKENS
    found = [token for ending in endings if short or ending in long for token in _TOKENS[ending] if token[2] in long]
    words = long.decode() if found else ""
    for _, kind, _, literal, shape in sorted(found):
        pattern = regex_of(literal, shape) if literal else shape
        if re.compile(pattern, re.ASCII).search(words):
            text = _without(kind, pattern, text, removed)
    if _DISCORD_DOTS.search(long):
        text = _without("discord-token", PATTERNS["discord-token"], text, removed)
    return text


def _without_passwords(text: str, letters: bytes, removed: _Removed) -> str:
    before, done = [], 0
    for found in _FLAG.finditer(letters):
        before.append(letters[max(done, found.start() - _LONGEST_COMMAND) : found.start()])
        done = found.start()
    commands = b" ".join(before)
    for program, flag in COMMANDS if commands else ():
        if program in commands:
            text = _without("password", command_regex(program, flag), text, removed)
    return text


def command_regex(name: bytes, flag: str) -> str:
    """The pattern of a password on a program's command line, which ends at a line end without a backslash."""
    program = name.decode()
    first, rest = program[0], re.escape(program[1:])
    inside = rf"(?:[^\n{first}]|{first}(?!{rest})|(?<=\\)\n){{0,{_LONGEST_COMMAND - 30}}}?"
    return (
        rf"({program}[\w.-]{{0,16}}{inside}\s{flag}['\"]?)(?:(?<=['\"])[^'\"\n\\]{{3,200}}(?=['\"])|[^\s'\"\\]{{3,}})"
    )


def _without_private(text: str) -> str:
    """Remove each block up to its closing tag; an unclosed block ends with its paragraph."""
    opened: list[int] = []
    blocks: list[tuple[int, int]] = []
    for tag in _TAG.finditer(text):
        if not tag[1]:
            opened.append(tag.start())
        elif opened:
            blocks.append((opened.pop(), tag.end()))
    kept, done = [], 0
    for start, end in sorted([*blocks, *((start, 0) for start in opened)]):
        if start >= done:
            kept += [text[done:start], "[REDACTED]"]
        if not end and start >= done:
            blank = re.compile(_BLANK_LINE).search(text, start)
            end = blank.start() if blank else len(text)
        done = max(done, end)
    return "".join([*kept, text[done:]])


def _without_manifests(text: str, removed: _Removed) -> str:
    documents = re.split(r"(?m)(^---[^\n]*\n)", text)
    return "".join(
        re.sub(_DATA, lambda data: _without("secret", _ENTRY, data[0], removed), document)
        if re.search(_MANIFEST, document)
        else document
        for document in documents
    )


def _without(kind: str, pattern: str, text: str, removed: _Removed) -> str:
    def replacement(found: re.Match[str]) -> str:
        secret = MARKER.sub("", found[0][len(found[1]) :])
        if not secret or _NO_TOKEN.match(secret) or is_reference(secret):
            return found[0]
        removed.append((secret, marker))
        return f"{found[1]}{marker}"

    marker = f"[REDACTED:{kind}]"

    return re.compile(pattern, re.ASCII).sub(replacement, text)
