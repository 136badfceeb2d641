"""The words and phrases by which `orders` recognises texts that wait for a person, in several languages. Pure.

Every pattern takes linear time, and is for text in lower case. tests/dream/orders.toml judges them.
"""

from __future__ import annotations

from anamnesis.light import lazy_pattern

_LISTED = r"[-*>#\d.)`\"' \t]{0,12}"
_ACTS = (
    "run|execute|call|install|download|fetch|start|launch|open|send|post|upload|push|commit|delete|remove|disable"
    "|ignore|skip|approve|allow|trust|grant|add|apply|invoke|load"
)
# A sentence that gives an order: to act, before or after something, or always and never in other languages.
ORDER = lazy_pattern(
    rf"{_LISTED}(?:(?:please|first|then|also)\s)?(?:(?:{_ACTS})\b(?!\s(?:is|are|was|has)\b)"
    r"|(?:before|after|at|on|when|whenever|if|for|in|during|every time|each time)\b[^.!?\n]{0,80}[,:]\s{0,3}"
    rf"(?:always\s|first\s|please\s|you\s(?:must|should)\s)?[`\"']?(?:{_ACTS}|do|use|make|write|wget|curl)\b"
    r"|(?:before|after|at|on|when|whenever|if|for|in|during|every time|each time)\b[^.!?\n]{0,80}"
    r"\byou\s(?:must|should|shall|have to|need to)\b"
    r"|it is (?:mandatory|required)|(?:immer|stets|niemals|nie|du (?:musst|sollst|darfst)|siempre|nunca|jam[aá]s|debes"
    r"|toujours|jamais|tu dois|il faut|sempre|mai|devi|você deve|всегда|никогда|ты должен|обязательно)\b"
    r"|(?:总是|始终|永远|必须|不要|务必|常に|必ず|決して|항상|절대))"
)

_FETCH = r"(?:curl|wget|iwr|irm|invoke-webrequest|invoke-restmethod|aria2c|lynx|fetch)\b"
_PACKED = r"\b(?:base64|xxd|openssl|gunzip|zcat)\b"
_SHELL = (
    r"(?:sudo\s(?:-\w{1,9}\s){0,3})?(?:/[\w/]{1,30}/)?"
    r"(?:(?:(?:ba|z|da|k|fi|c|tc)?sh|iex|invoke-expression|pwsh|powershell|osascript|source)(?![\w-]|\.\w)"
    r"|(?:python[\d.]{0,4}|perl|ruby|node|php|deno|bun)(?=\s{0,3}(?:-(?:\s|\Z)|[\"'`).,;&|]|\Z)))"
)
_URL = r"(?:https?|ftp)://"
RUN = lazy_pattern(
    rf"(?:{_FETCH}|{_PACKED})[^\n|]{{0,300}}\|(?:[^\n|]{{0,80}}\|){{0,3}}\s{{0,3}}{_SHELL}"
    rf"|<\(\s{{0,3}}(?:sudo\s)?{_FETCH}"
    r"|(?:\b(?:eval|exec|source|iex|invoke-expression)|\s-c)\s{0,3}[\"'`(]{0,3}(?:\$\(|`)?\s{0,3}"
    rf"{_FETCH}|\bdownloadstring\("
    r"|\b(?:exec|eval)\([^\n]{0,120}(?:urlopen|requests\.get|httpx\.get|fetch\()"
    r"|\b(?:urlopen|requests\.get|httpx\.get|fetch)\([^\n]{0,160}\b(?:exec|eval)\b"
    r"|\b(?:pip3?|pipx|uvx?|npx|npm|pnpm|yarn|bunx?|easy_install)\s"
    rf"(?:(?!-{{1,2}}(?:i|f|index|extra|find|registry))-{{0,2}}[\w-]{{1,20}}\s){{0,4}}{_URL}"
    rf"|(?:{_FETCH}|\b(?:download|get|lade|descarga|télécharge)\b)[^\n]{{0,60}}{_URL}[^\n]{{0,120}}"
    r"(?:\bchmod\s(?:\+x|[0-7]{3,4})\b|\b(?:and|then|und|y|et)\s(?:run|execute|start|launch|führe|ejecuta|lance)\b)"
)
# Machines that run something, and people who ran it once: no order for the reader, unless it says to do the same.
DESCRIBED = lazy_pattern(
    r"\b(?:ci|actions?|workflows?|dockerfile|containerfile|image|scripts?|installer|jobs?|pipeline|runners?|cron"
    r"|makefile|step)\b[^.!?\n]{0,60}?"
    r"\b(?:runs?|ran|installs|installed|uses|used|calls|called|executes|executed|fetches|fetched|pipes?|piped)\b"
    r"|\b(?:we|i|they|he|she|team)\b[^.!?\n]{0,30}?"
    r"\b(?:ran|installed|used|called|executed|fetched|piped|removed|replaced|dropped|tried)\b"
)
AGAIN = lazy_pattern(
    r"\b(?:do|run|execute|repeat|try|call)\s(?:the same|this|that|it|so|likewise)\b|\b(?:same|likewise) here\b"
)
# A negation, unless it says that nothing works without what follows.
NEGATED = lazy_pattern(
    r"(?:\b(?:never|not|don['’]t|avoid|refuse[sd]?|instead of|no longer|cannot|can['’]t|mustn['’]t|shouldn['’]t|nie"
    r"|niemals|nicht|kein\w{0,3}|nunca|jamais|non|никогда|не)\b|不要|不得|勿|別|别)"
    r"(?!.{0,40}\b(?:unless|until|before|otherwise|works?|fails?|builds?|forget|skip|hesitate|bevor|ohne|olvides"
    r"|oublie)\b)"
)

_USER = r"(?:user|human|owner|developer|operator)"
_NUTZER = r"\b(?:nutzer|benutzer|anwender|user)\w{0,3}\b"
CONCEALED = lazy_pattern(
    r"\b(?:do not|don['’]?t|never|must not|mustn['’]t|should not|shouldn['’]t|no need to|not to|avoid|but not)\s"
    r"(?:\w{1,12}\s){0,2}(?:tell|telling|inform|informing|mention|mentioning|notify|notifying|alert|alerting|let)\b"
    rf"[^.!?\n]{{0,60}}?\b{_USER}\b(?!\s(?:whether|which|if|why|how|what)\b)"
    r"|\b(?:do not|don['’]?t|never)\s(?:mention|reveal|disclose|discuss|refer to|talk about|quote|show|tell)\s(?:of\s)?"
    r"(?:this|these|it|them|that)\b"
    rf"|\bwithout\s(?:\w{{1,12}}\s){{0,2}}(?:telling|informing|notifying|alerting|mentioning)\b[^.!?\n]{{0,40}}\b{_USER}\b"
    rf"|\bwithout the {_USER}(?:['’]s knowledge|\s(?:knowing|noticing))"
    rf"|\b(?:hide|conceal|keep)\b[^.!?\n]{{0,50}}?\bfrom (?:the |your ){_USER}\b"
    r"|\bkeep (?:this|it|that|these)\b[^.!?\n]{0,20}\b(?:secret|confidential|quiet|hidden|between us|to yourself)\b"
    r"|\b(?:instructions?|notes?|steps?|rules?|memory)\b[^.!?\n]{0,20}"
    r"\b(?:are|is|stays?) (?:strictly )?(?:confidential|secret)\b"
    rf"|\b{_USER} (?:must|should|may|need|shall)(?:n['’]t|\snot|\snever) "
    r"(?:know|notice|learn|find out|be (?:told|informed))\b"
    r"|\b(?:leave|omit|keep|drop)\b[^.!?\n]{0,40}?\b(?:out of|from)\s(?:your|any|every)\s"
    r"(?:summary|summaries|answers?|repl(?:y|ies)|reports?|response|messages?)\b"
    r"|\b(?:sag|sage|erzähl|erzähle|verrat|verrate|erwähne|teile?|informiere)\b[^.!?\n]{0,40}"
    rf"{_NUTZER}[^.!?\n]{{0,30}}\b(?:nichts|nicht|nie|niemals)\b"
    rf"|\bohne\b[^.!?\n]{{0,30}}{_NUTZER}[^.!?\n]{{0,30}}"
    r"(?:informieren|sagen|wissen|merkt|mitzuteilen|benachrichtigen|unterrichten)"
    r"|\bno (?:se lo |le |les |lo )?(?:digas|informes|avises|cuentes|menciones|reveles)\b[^.!?\n]{0,40}"
    r"\b(?:usuario|desarrollador)"
    r"|\bsin (?:avisar|informar|decir|que lo sepa)[^.!?\n]{0,30}\b(?:usuario|desarrollador)"
    r"|\b(?:não (?:diga|conte|informe|avise|mencione)|sem (?:avisar|informar|contar))\b[^.!?\n]{0,40}\busu[áa]rio"
    r"|\b(?:ne\s(?:le\s|lui\s)?(?:dis|dites|informe|informez|mentionne|préviens|prévenez|révèle|parle)"
    r"|sans (?:prévenir|informer|avertir|le dire|en parler))\b[^.!?\n]{0,40}utilisateur"
    r"|\b(?:non (?:dirlo|dire|informare|avvisare|menzionare|rivelare)|senza (?:avvisare|informare|dirlo))\b"
    r"[^.!?\n]{0,40}utente"
    r"|не (?:говори|сообщай|рассказывай|упоминай|уведомляй)[^.!?\n]{0,40}пользовател|без ведома пользовател"
    r"|(?:不要|别|不得|勿|不能)[^。\n]{0,10}(?:告诉|告知|通知|透露|提及)|(?:瞒着|隐瞒)[^。\n]{0,6}用户"
    r"|ユーザー?[^。\n]{0,24}(?:伝えない|伝えず|言わない|言わず|知らせない|知らせず|教えない|話さない|内緒|秘密)"
    r"|사용자에게[^.\n]{0,24}(?:말하지|알리지|보고하지)"
)

_FILE = (
    r"(?:~/\.ssh\b(?!/(?:config|known_hosts|authorized_keys))|\bid_(?:rsa|ed25519|ecdsa|dsa)\b(?!\.pub)"
    r"|\.aws/credentials|\.netrc\b|\.npmrc\b|\.pypirc\b|\.pgpass\b|\.git-credentials\b|\.docker/config\.json"
    r"|\.kube/config|gh/hosts\.yml|\.gnupg\b|wallet\.dat|(?:login\s)?keychain\b|(?<![\w.])\.env\b(?!\.\w))"
)
_SECRET = (
    rf"(?:{_FILE}|(?:api|access|auth|private|secret|ssh|signing|deploy|encryption)[ _-]keys?\b"
    r"|\bpass(?:words?|phrases?)\b|\bcredentials?\b"
    r"|(?<!csrf )(?<!xsrf )(?<![\d,] )\b(?:access |auth |api |bearer |session |refresh |github )?tokens?\b"
    r"(?! (?:count|limit|budget|usage|window))"
    r"|\bsecrets?\b|\bcookies\b|\bseed phrases?\b|\b[a-z0-9]{2,20}_(?:token|api_key|key|secret|password)\b"
    r"|\benvironment variables\b|passw[oö]rt|passwörter|zugangsdaten|contraseñas?|credenciales|\bclaves?\b"
    r"|mots? de passe|\bjetons?\b|identifiants|senhas?|парол|токен|密码|令牌|密钥|パスワード|トークン|鍵)"
)
_TOLD_TO = (
    rf"(?:\A{_LISTED}(?:(?:at|before|after|when|on|in|for|during|every|each|once)\b[^,.!?\n]{{0,60}}?\s)?"
    r"|[,;:(—–`]\s{0,3}|\b(?:and|then|please|always|must|should|shall|have to|need to|remember to|first|also)\s)"
)
# A secret is handed over if these three follow each other: an order to give, the secret, and where it is to go.
GIVE = lazy_pattern(
    rf"{_TOLD_TO}(?:send|post|upload|mail|email|e-mail|paste|attach|transmit|forward|exfiltrate|share|publish|leak"
    r"|submit|push|copy|write(?:\sdown)?|save|include|put|commit|print|dump|echo|log|quote|append|embed|collect|gather"
    r"|record|create|get|read|open|search)\b"
)
SECRET = lazy_pattern(_SECRET)
PLACE = lazy_pattern(
    r"(?:(?:https?|ftp|s3|gs)://|\b(?:to|on|in|into|with)\s(?:\w{1,12}\s){0,4}?"
    r"(?:tickets?|issues?|pull requests?|prs?|gists?|pastebin|channel|slack|commit messages?|answers?|repl(?:y|ies)"
    r"|summary|build logs?|logs?|public|server|bucket|chat|descriptions?)\b"
    r"|\bpublic gist\b|/tmp/|\b[\w.-]{1,40}@[\w-]{1,40}\.\w|\b(?:docs|notes?)[/.]\w"
    r"|\b\d{1,3}\.\d{1,3}\.\d{1,3}\.\d{1,3}\b"
    r"|\bin (?:your|the|every) (?:answer|reply|summary|description|pull request)|\bcommit\b)"
)
REVEALED = lazy_pattern(
    rf"{_TOLD_TO}commit\b[^!?\n]{{0,40}}?{_FILE}"
    rf"|(?:{_TOLD_TO}|`)(?:cat|less|head|tail|base64|xxd|strings|read|open|print|dump|type|quote)\s"
    rf"(?:\w{{1,12}}\s){{0,4}}(?!\.env){_FILE}"
    rf"|\b(?:curl|wget|nc|ncat|scp|rsync)\s[^\n]{{0,160}}{_FILE}|{_FILE}[^\n|]{{0,60}}\|\s{{0,3}}(?:curl|wget|nc|ncat)\b"
    r"|\b(?:env|printenv|set)\s{0,3}\|[^\n]{0,60}\b(?:curl|wget|nc|ncat)\b"
    r"|\bsecurity\s(?:dump-keychain|find-(?:generic|internet)-password)|\bgit credential fill\b"
    r"|\b(?:sende|schicke?|poste|lade|kopiere|speichere|veröffentliche|envía|envia|sube|copia|manda|envoie|envoyez"
    r"|copie|publie|envie|invia|carica|отправь|отправляй|скопируй|загрузи)\b"
    rf"[^!?\n]{{0,120}}{_SECRET}"
    rf"|(?:发送|上传|发到|送信|アップロード)[^。\n]{{0,60}}{_SECRET}|{_SECRET}[^。\n]{{0,60}}(?:发送|上传|发到|送信|アップロード)"
)


def _lists(*texts: str) -> tuple[list[str], ...]:
    return tuple(text.split() for text in texts)


# A text that has no word of one of the lists needs no pattern: a search for words takes a hundredth of the time.
RUN_WORDS = _lists(
    "curl wget iwr irm invoke- aria2c lynx fetch base64 xxd openssl gunzip zcat downloadstring urlopen .get( ://"
)
CONCEALED_WORDS = _lists(
    "not n't n’t dont never no avoid without hide conceal keep confidential secret leave omit drop nicht nie ohne sin"
    " não sem ne sans non senza не без 不 别 勿 瞒 隐 ユーザ 사용자",
    "user human owner developer operator nutzer anwender usuario usuário utilisateur utente пользовател 用户 使用者"
    " 告 通知 透露 提及 ユーザ 사용자 this these it them that confidential secret summar answer repl report respon"
    " message",
)
REVEALED_WORDS = _lists(
    "key pass token secret cookie credential seed env .ssh id_ .netrc .npmrc .pypirc .pgpass config.json .kube"
    " hosts.yml gnupg wallet security zugang contrase clave credencial jeton mot identif senha парол токен 密 令牌"
    " パスワ トーク 鍵"
)
