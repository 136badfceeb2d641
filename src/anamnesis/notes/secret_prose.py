"""Secrets that a sentence states: "das Passwort für die Datenbank lautet …", "use … as the password". Pure.

In the languages of `capture/cues.py`. Only a value with a digit or a mark counts, as after `password is`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import pairwise

from anamnesis.notes.secret_values import is_secret

# Names of a password, of a key, whose value must look random, and of a login, whose password follows its user.
_PASSWORD, _KEY, _LOGIN = "password", "key", "credentials"
_NAMES = {
    _PASSWORD: (
        *("password", "passphrase", "passcode", "passwort", "passwört", "kennwort", "kennwört", "zugangscode"),
        *("contraseña", "contrasena", "clave de acceso", "clave", "mot de passe", "mots de passe", "mdp"),
        *("phrase secrète", "senha", "palavra-passe", "parola d'ordine", "parola chiave"),
        *("парол", "парольная фраза", "密码", "密碼", "口令", "パスワード", "パスフレーズ", "合言葉", "暗証番号"),
        *("비밀번호", "암호", "비번", "패스워드", "패스프레이즈"),
    ),
    _KEY: (
        *("token", "api key", "api-schlüssel", "zugangsschlüssel", "geheimschlüssel", "geheimnis"),
        *("clave api", "clave de api", "clave secreta", "clé api", "clé d'api", "clé d’api", "clé secrète"),
        *("chave api", "chave de api", "chave da api", "chave secreta", "chiave api", "chiave segreta"),
        *("ключ api", "api-ключ", "секретный ключ", "密钥", "密鑰", "私钥", "apiキー", "シークレットキー", "秘密鍵"),
        *("api 키", "api키", "비밀 키", "시크릿 키"),
    ),
    _LOGIN: (
        *("credentials", "zugangsdaten", "credenciales", "credenciais", "credenziali", "identifiants"),
        *("учётные данные", "учетные данные", "账号密码", "帳號密碼", "ログイン情報", "로그인 정보"),
    ),
}
_KINDS = {name: kind for kind, names in _NAMES.items() for name in names}
# What each Latin name holds, in the bytes of `ascii_of`: few and short, as every text is searched for them.
_STEMS = tuple(b"pass kennw zugang contras clave mdp secr senha parola token api geheim chia creden identifi".split())
_BY_STEM: dict[bytes, list[str]] = {stem: [] for stem in _STEMS}
_EASTERN: list[str] = []
for _name in _KINDS:
    _letters = _name.encode("ascii", "replace")
    _held = next((stem for stem in _STEMS if stem in _letters), None)
    (_BY_STEM[_held] if _held else _EASTERN).append(_name)
_EASTERN_LETTER = re.compile("[\u0400-\u04ff\u3040-\ud7af]")
# Names that are also the end of another word, such as "enclave" and "resenha".
_WHOLE = ("clave", "senha", "mdp")
_EAST = "\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af"
_VERB = (
    "(?:is|was|are|lautet|lauten|heißt|heisst|ist|war|sind|es|era|fue|est|était|sont|é|eram?|è|sono|это|был|будет|[—–-])"
    "(?:[ \t]{1,3}(?:now|still|jetzt|nun|noch|ahora|maintenant|agora|ora|adesso|теперь))?"
)
_SIGN = r"(?:[ \t]{0,2}\([^()\n]{1,40}\))?[\"'”“»*_`]{0,3}[ \t]{0,3}[:=：＝][ \t]{0,3}[*_]{0,3}[ \t]{0,3}"
_OPEN = "[\"'`„“”«»「『]?[ \t]?"
# Words after a name that still say whose it is, or what became of it. After others, as in "password policy: v2.1" and
# "token usage: 128k", the value is that of another noun.
_LINKS = (
    "for|of|on|at|in|to|from|by|via|with|we|i|you|that|has|was|root|admin"
    "|für|von|vom|des|der|zum|zur|im|am|bei|beim|auf|an|ist|wurde"
    "|del?|du|do|das?|dos|della|dello|dei|di|per|para|por|pour|na|nos?|à|aux?|al|se|ha|fue|a|foi|(?:d|dell|all)['’]\\S{1,24}"
    "|от|для|к|на|у|в|был"
)
# The end of an inflected name, and up to eight words between it and what joins it to its value: "for the database".
_FILLER = rf"[^\W\d_{_EAST}]{{0,3}}(?:[ \t]{{1,3}}(?:{_LINKS})(?:[ \t]{{1,3}}[^\s:=：.,;!?()\[\]\"`]{{1,24}}){{0,8}}?)?"
_JOINERS = (
    re.compile(rf"{_FILLER}(?:{_SIGN}|[ \t]{{1,3}}{_VERB}[ \t]{{1,3}}){_OPEN}"),
    re.compile(rf"{_FILLER}[ \t]{{1,3}}(?:to|auf|a|à|para|на)[ \t]{{1,3}}{_OPEN}"),
)
# What is given as the password: no "password hash" and "password-related".
_ENDS = re.compile(
    rf"[^\W\d_{_EAST}]{{0,3}}(?:[^\w\s-]|\s*\Z|\s*\n|[ \t]{{1,3}}(?:(?:{_LINKS}|and|und|y|et|e|и)\b|[^\w\s]))"
)
_SPACE = re.compile(rf"[^\W\d_{_EAST}]{{0,3}}[ \t]{{1,3}}{_OPEN}")
# Scripts without spaces have particles.
_PARTICLE = re.compile(rf"(?:{_SIGN}|[ \t]{{0,2}}(?:是|为|為|は|은|는|를|을|を|이|가)?[ \t]{{0,2}}){_OPEN}")
_USER = re.compile(r"[^\s/:]{1,40}[ \t]{0,2}/[ \t]{1,2}")
_VALUE = re.compile(r"[^\s\"'`<>()\[\]{}«»„“”「」『』,;，。；、|]{4,128}+(?![(\[])")
_EASTERN_VALUE = re.compile(r"(?=[!-~])[^\s\"'`<>()\[\]{},;|\x7f-\U0010ffff]{4,128}+(?![(\[])")
# Punctuation of the sentence. A value often ends with the others.
_SENTENCE = ".,:;"
_WITH = frozenset(("with", "mit", "con", "avec", "com", "с", "using"))
_AS = frozenset(("as", "als", "como", "comme", "come", "как"))
_AS_EAST = ("作为", "作為", "当作")
_BEFORE = 96
# What consists of a word and a digit, and is the name of something.
_NO_SECRET = re.compile(
    r"(?:1password|keepass|oauth|base|utf|python|http|ipv|iso|rfc|postgres|postgresql|mysql|db|bcrypt|pbkdf|node|vue"
    r"|web|totp|fido|srp|ntlmv|k8s|windows|ubuntu|debian|java|php|wpa|v)\d{0,5}(?:[.-]\d{1,4}){0,3}\Z"
)
# A number of tokens, their cost or their lifetime.
_QUANTITY = re.compile(
    r"[$€£~≈<>]{0,2}\d{1,6}(?:[.,_]\d{1,3}){0,3}[a-z%]{0,6}(?:[-/+–](?:\d[\d.,_]{0,7})?[a-z%]{0,6}){0,3}\Z"
)


def without_stated(text: str, lowered: bytes, removed: list[tuple[str, str]]) -> str:
    """The text without the secrets that its sentences state, which are added to `removed`; `lowered`: `ascii_of`."""
    names = [name for stem in _STEMS if stem in lowered for name in _BY_STEM[stem]]
    if not text.isascii() and _EASTERN_LETTER.search(text):
        names += _EASTERN
    return _without(text, names, removed) if names else text


def _without(text: str, names: Iterable[str], removed: list[tuple[str, str]]) -> str:
    folded = small if len(small := text.lower()) == len(text) else text
    kept: list[str] = []
    done = 0
    for at, name in _places(folded, names):
        if span := _span(text, folded, at, name, done):
            marker = f"[REDACTED:{_KINDS[name]}]"
            kept += (text[done : span[0]], marker)
            removed.append((text[span[0] : span[1]], marker))
            done = span[1]
    return "".join([*kept, text[done:]]) if kept else text


def _places(folded: str, names: Iterable[str]) -> list[tuple[int, str]]:
    """The names with their positions; of several at one position, the longest."""
    found: dict[int, str] = {}
    for name in names:
        at = folded.find(name)
        while at >= 0:
            if len(name) > len(found.get(at, "")) and not (name in _WHOLE and folded[at - 1 : at].isalnum()):
                found[at] = name
            at = folded.find(name, at + len(name))
    return sorted(found.items())


def _span(text: str, folded: str, at: int, name: str, done: int) -> tuple[int, int] | None:
    """The span of the secret that a name states, after it or before it."""
    kind = _KINDS[name]
    is_eastern = name[-1] >= "\u3040"
    for start in _starts(folded, at, at + len(name), is_eastern=is_eastern):
        if kind == _LOGIN:
            user = _USER.match(folded, start)
            start = user.end() if user else len(folded)
        value = (_EASTERN_VALUE if is_eastern else _VALUE).match(text, start)
        if value and start >= done and _is_stated(secret := value[0].rstrip(_SENTENCE), kind):
            return start, start + len(secret)
    if (
        kind == _PASSWORD
        and (is_eastern or _ENDS.match(folded, at + len(name)))
        and (before := _before(folded, max(done, at - _BEFORE), at))
    ):
        return before if _is_stated(text[slice(*before)], kind) else None
    return None


def _starts(folded: str, at: int, end: int, *, is_eastern: bool) -> Iterator[int]:
    """Where the value after a name may begin."""
    if is_eastern:
        joiners: tuple[re.Pattern[str], ...] = (_PARTICLE,)
    else:
        words = folded[max(0, at - 24) : at].replace(",", " with ").split()[-2:]
        joiners = _JOINERS if _WITH.isdisjoint(words) else (*_JOINERS, _SPACE)
    for joiner in joiners:
        if found := joiner.match(folded, end):
            yield found.end()


def _before(folded: str, start: int, at: int) -> tuple[int, int] | None:
    """The span of the word that is said to be the password: "use … as the password"."""
    words = [*re.finditer(r"\S+", folded[start:at])][-4:]
    for value, word in pairwise(words):
        if word[0] in _AS or word[0].startswith(_AS_EAST):
            return start + value.start(), start + value.end()
    return None


def _is_stated(value: str, kind: str) -> bool:
    if "[REDACTED" in value or _NO_SECRET.match(value.lower()):
        return False
    if kind == _KEY and _QUANTITY.match(value.lower()):
        return False
    return is_secret(value[:64], kind != _KEY, False)
