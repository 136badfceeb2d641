"""Texts with secrets and texts that only look like it. Tokens are put together here, so that no scanner sees one."""

from __future__ import annotations

import base64
import json
import random
import string
from dataclasses import dataclass

_DICE = random.Random(20240517)
_ALNUM = string.ascii_letters + string.digits
_URL = _ALNUM + "-_"
_HEX = "0123456789abcdef"
_BASE64 = _ALNUM + "+/"
_LOWER = string.ascii_lowercase + string.digits
_UPPER = string.ascii_uppercase + "234567"


@dataclass(frozen=True)
class Secret:
    """A text in three parts, of which only the middle may change, and what it must be called."""

    before: str
    secret: str
    after: str
    kind: str

    @property
    def text(self) -> str:
        return self.before + self.secret + self.after

    @property
    def redacted(self) -> str:
        return f"{self.before}[REDACTED:{self.kind}]{self.after}"


def _some(letters: str, count: int) -> str:
    """Random letters that begin and end with a letter or digit, as sentences around them may not."""
    inner = "".join(_DICE.choices(letters, k=count - 2))
    ends = [letter for letter in letters if letter.isalnum()]
    return _DICE.choice(ends) + inner + _DICE.choice(ends)


def _uuid() -> str:
    return "-".join(_some(_HEX, count) for count in (8, 4, 4, 4, 12))


def _jwt(header: dict[str, str], claims: dict[str, object]) -> str:
    parts = (json.dumps(part, separators=(",", ":")).encode() for part in (header, claims))
    return ".".join([*(base64.urlsafe_b64encode(part).decode().rstrip("=") for part in parts), _some(_URL, 43)])


def _pem(label: str, lines: int = 4, header: str = "") -> str:
    body = "\n".join([*(_some(_BASE64, 64) for _ in range(lines)), _some(_BASE64, 22) + "=="])
    return f"-----BEGIN {label}-----\n{header}{body}\n-----END {label}-----"


TOKENS = [
    ("anthropic-key", "sk-" + "ant-api03-" + _some(_URL, 93) + "AA"),
    ("anthropic-key", "sk-" + "ant-oat01-" + _some(_URL, 95)),
    ("anthropic-key", "sk-" + "ant-admin01-" + _some(_URL, 80)),
    ("openai-key", "sk-" + "proj-" + _some(_URL, 74) + "T3Blbk" + "FJ" + _some(_URL, 74)),
    ("openai-key", "sk-" + "svcacct-" + _some(_URL, 120)),
    ("api-key", "sk-" + _some(_ALNUM, 20) + "T3Blbk" + "FJ" + _some(_ALNUM, 20)),
    ("api-key", "sk-" + "or-v1-" + _some(_HEX, 64)),
    ("api-key", "sk-" + _some(_HEX, 32)),
    ("github-token", "gh" + "p_" + _some(_ALNUM, 36)),
    ("github-token", "gh" + "o_" + _some(_ALNUM, 36)),
    ("github-token", "gh" + "u_" + _some(_ALNUM, 36)),
    ("github-token", "gh" + "s_" + _some(_ALNUM, 36)),
    ("github-token", "gh" + "r_" + _some(_ALNUM, 76)),
    ("github-token", "github" + "_pat_" + _some(_ALNUM, 22) + "_" + _some(_ALNUM, 59)),
    ("gitlab-token", "gl" + "pat-" + _some(_URL, 20)),
    ("gitlab-token", "gl" + "pat-" + _some(_URL, 27) + ".01." + _some(_HEX, 9)),
    ("gitlab-token", "gl" + "dt-" + _some(_URL, 20)),
    ("gitlab-token", "gl" + "rt-" + _some(_URL, 20)),
    ("aws-key-id", "AK" + "IA" + _some(_UPPER, 16)),
    ("aws-key-id", "AS" + "IA" + _some(_UPPER, 16)),
    ("aws-key-id", "AK" + "IAIOSFODNN7EXAMPLE"),
    ("google-key", "AI" + "za" + _some(_URL, 35)),
    ("google-token", "ya" + "29." + _some(_URL, 120)),
    ("google-token", "1/" + "/0e" + _some(_URL, 60)),
    ("google-secret", "GOC" + "SPX-" + _some(_URL, 28)),
    ("stripe-key", "sk" + "_live_" + _some(_ALNUM, 24)),
    ("stripe-key", "rk" + "_live_" + _some(_ALNUM, 99)),
    ("stripe-key", "sk" + "_test_" + _some(_ALNUM, 24)),
    ("stripe-webhook", "wh" + "sec_" + _some(_ALNUM, 32)),
    ("slack-token", "xo" + "xb-" + f"{_some('123456789', 12)}-{_some('123456789', 13)}-{_some(_ALNUM, 24)}"),
    ("slack-token", "xo" + "xp-" + f"{_some('123456789', 12)}-{_some('123456789', 12)}-{_some(_HEX, 32)}"),
    ("slack-token", "xa" + "pp-1-A" + _some(_UPPER, 10) + "-" + _some("123456789", 13) + "-" + _some(_HEX, 64)),
    ("jwt", _jwt({"alg": "HS256", "typ": "JWT"}, {"sub": "1234567890", "name": "Ada", "admin": True})),
    ("jwt", _jwt({"alg": "RS256", "kid": "key-1"}, {"iss": "https://id.example.org", "exp": 1715960000})),
    ("jwt", _jwt({"typ": "JWT", "alg": "ES256", "kid": "ab"}, {"scope": "read write"})),
    ("npm-token", "np" + "m_" + _some(_ALNUM, 36)),
    ("pypi-token", "py" + "pi-AgEI" + "cHlwaS5vcmc" + _some(_URL, 150)),
    ("huggingface-token", "h" + "f_" + _some(string.ascii_letters, 34)),
    ("sendgrid-key", "S" + "G." + _some(_URL, 22) + "." + _some(_URL, 43)),
    ("twilio-key", "S" + "K" + _some(_HEX, 32)),
    ("telegram-token", _some("123456789", 10) + ":A" + "A" + _some(_URL, 33)),
    ("discord-token", "MT" + _some(_ALNUM, 24) + "." + _some(_ALNUM, 6) + "." + _some(_URL, 38)),
    ("discord-token", "OD" + _some(_ALNUM, 22) + "." + _some(_ALNUM, 6) + "." + _some(_URL, 27)),
    ("digitalocean-token", "do" + "p_v1_" + _some(_HEX, 64)),
    ("databricks-token", "da" + "pi" + _some(_HEX, 32)),
    ("linear-key", "lin" + "_api_" + _some(_ALNUM, 40)),
    ("notion-token", "secret" + "_" + _some(_ALNUM, 43)),
    ("notion-token", "nt" + "n_" + _some(_ALNUM, 46)),
    ("shopify-token", "shp" + "at_" + _some(_HEX, 32)),
    ("shopify-token", "shp" + "ss_" + _some(_HEX, 32)),
    ("age-key", "AGE-" + "SECRET-KEY-1" + _some("QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L", 58)),
    ("groq-key", "gs" + "k_" + _some(_ALNUM, 52)),
    ("xai-key", "xa" + "i-" + _some(_ALNUM, 80)),
    ("perplexity-key", "pp" + "lx-" + _some(_ALNUM, 48)),
    ("replicate-token", "r" + "8_" + _some(_ALNUM, 37)),
    ("docker-token", "dckr" + "_pat_" + _some(_URL, 27)),
    ("vault-token", "hv" + "s." + _some(_URL, 90)),
    ("tailscale-key", "ts" + "key-auth-" + _some(_ALNUM, 16) + "-" + _some(_ALNUM, 32)),
    ("grafana-token", "gl" + "sa_" + _some(_ALNUM, 32) + "_" + _some(_HEX, 8)),
    ("figma-token", "fi" + "gd_" + _some(_URL, 40)),
    ("supabase-token", "sb" + "p_" + _some(_HEX, 40)),
    ("newrelic-key", "NR" + "AK-" + _some(_UPPER, 27)),
    ("atlassian-token", "AT" + "ATT3" + _some(_URL, 180) + "=" + _some("0123456789ABCDEF", 8)),
    ("postman-key", "PM" + "AK-" + _some(_HEX, 24) + "-" + _some(_HEX, 34)),
    ("rubygems-token", "ruby" + "gems_" + _some(_HEX, 48)),
    ("azure-secret", "aB3" + "8Q" + "~" + _some(_ALNUM + "_.~-", 34)),
    ("private-key", _pem("PRIVATE " + "KEY")),
    ("private-key", _pem("RSA PRIVATE " + "KEY", 12)),
    ("private-key", _pem("EC PRIVATE " + "KEY", 2)),
    ("private-key", _pem("OPENSSH PRIVATE " + "KEY", 5)),
    ("private-key", _pem("ENCRYPTED PRIVATE " + "KEY", 8)),
    (
        "private-key",
        _pem(
            "RSA PRIVATE " + "KEY",
            3,
            f"Proc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,{_some(_HEX, 32).upper()}\n\n",
        ),
    ),
    ("private-key", _pem("PGP PRIVATE " + "KEY BLOCK", 6, "Version: GnuPG v2\n\n")),
    ("huggingface-token", "h" + "f_" + _some(string.ascii_lowercase, 34)),
    ("huggingface-token", "api" + "_org_" + _some(string.ascii_lowercase, 34)),
    ("dynatrace-token", "dt" + "0c01." + _some(_LOWER, 24) + "." + _some(_LOWER, 64)),
    ("flutterwave-key", "FLW" + "PUBK_TEST-" + _some("0123456789abcdefgh", 32) + "-X"),
    ("flutterwave-key", "FLW" + "SECK_TEST-" + _some("0123456789abcdefgh", 12)),
    ("base64-jwt", "ZX" + "lK" + _some(_URL + "+/", 80)),
    ("clickhouse-key", "4b" + "1d" + _some(string.ascii_letters, 38)),
    ("facebook-token", _some("123456789", 15) + "|" + _some(_URL, 27)),
    ("mailchimp-key", _some(_HEX, 32) + "-us" + "12"),
    ("maxmind-key", _some(_ALNUM, 6) + "_" + _some(_ALNUM, 29) + "_m" + "mk"),
    ("vault-token", "s" + "." + _some(_HEX, 24)),
]

# The contexts of a token: alone, in prose, in code, in JSON and JSON in JSON, in a shell, in a log, by punctuation.
CONTEXTS = [
    ("", ""),
    ("Use ", " for the deployment."),
    ("The key is ", "."),
    ("It printed (", "), which is wrong"),
    ('client = Client("', '")\n'),
    ("client = Client('", "', timeout=3)"),
    ("run `", "` first"),
    ("```sh\nlogin ", "\n```\n"),
    ('{"value": "', '", "n": 1}'),
    ('{\\"value\\": \\"', '\\", \\"n\\": 1}'),
    ('"content": "first\\n', '\\nlast"'),
    ("$ tool login --with ", " --quiet && echo done"),
    ("2024-05-17T10:00:00Z INFO value=", " status=200\n"),
    ("first line\n", ""),
    ("", "\nlast line"),
    ("| name | ", " |\n"),
    ("<value>", "</value>"),
    ("https://example.org/?v=", "&page=2"),
    ("- ", ", the old one\n- "),
    ("é—", "…"),
    ("\x1b[32m", "\x1b[0m"),
]


def _values() -> list[tuple[str, str, str, str]]:
    """Secrets that only their names betray: before, secret, after, kind."""
    hex32, hex40, random20, random40 = _some(_HEX, 32), _some(_HEX, 40), _some(_ALNUM, 20), _some(_BASE64, 40)
    basic = base64.b64encode(b"ada:correct-horse").decode()
    aws = "wJalrXUtn" + "FEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"
    azure = _some(_BASE64, 86) + "=="
    return [
        ("password=", "hunter2", "", "password"),
        ("password = ", "hunter2", "\nuser = ada", "password"),
        ("Password: ", "hunter2", "\n", "password"),
        ("the password is ", "hunter2", ".", "password"),
        ("my password was ", "Tr0ub4dor&3", ", now it is not", "password"),
        ("**Password:** ", "hunter2", "\n", "password"),
        ("- **password**: `", "hunter2", "`\n", "password"),
        ("| password | ", "hunter2", " |\n", "password"),
        ("passwd: ", "S3cr3t!pass", "\n", "password"),
        ("pwd=", "qwerty12", ";database=x", "password"),
        ("Server=db;User Id=sa;Password=", "swordfish", ";Database=shop", "password"),
        ("jdbc:sqlserver://db;user=sa;password=", "Sw0rd,fish", ";x=1", "password"),
        ("passphrase: '", "open-sesame", "'\n", "password"),
        ("DB_PASSWORD=", "swordfish", "\nDB_USER=ada\n", "password"),
        ("DB_PASSWORD=", "p@ss(w0rd)&more,less", "\n", "password"),
        ("DB_PASS=", "hunter2", "\n", "password"),
        ("export PGPASSWORD=", "swordfish", "\npsql", "password"),
        ("export MYSQL_PWD='", "swordfish", "'\n", "password"),
        ("docker run -e MYSQL_ROOT_PASSWORD=", "swordfish", " mysql", "password"),
        ("PASSWORD=", "$2b$12$" + _some(_ALNUM, 53), "\n", "password"),
        ("db.password=", "swordfish", "\ndb.user=ada", "password"),
        ("spring.datasource.password: ", "a1b2c3d4", "\n", "password"),
        ("  password: ", "Xk9,mP2&vL(7)", "\n  user: ada\n", "password"),
        ('password = "', "swordfish", '"\n', "password"),
        ("password='", "swordfish", "')", "password"),
        ("connect(user='ada', password='", "swordfish", "', host=h)", "password"),
        ('{"user": "ada", "password": "', "swordfish", '"}', "password"),
        ('{"password":"', 'p\\u0040ss\\"word', '"}', "password"),
        ('{\\"password\\": \\"', "swordfish", '\\", \\"a\\": 1}', "password"),
        ('{\\\\\\"password\\\\\\": \\\\\\"', "swordfish", '\\\\\\"}', "password"),
        ('"line\\nDB_PASSWORD=', "swordfish", '\\nNEXT=1"', "password"),
        ("'password' => '", "swordfish", "',", "password"),
        (":password => '", "swordfish", "'", "password"),
        ("config['password'] = '", "swordfish", "'", "password"),
        ('os.environ["DB_PASSWORD"] = "', "swordfish", '"', "password"),
        ("const password = `", "hunter22", "`;", "password"),
        ('password := "', "hunter2", '"', "password"),
        ("mysql --user=root --password=", "swordfish", " -h db", "password"),
        ("tool --password ", "hunter2", " --verbose", "password"),
        ("tool --db-password '", "sword-fish", "' --verbose", "password"),
        ("https://example.org/login?user=a&password=", "swordfish", "&next=/", "password"),
        ("<password>", "swordfish", "</password>", "password"),
        ("ALTER USER ada WITH PASSWORD '", "hunter2", "';", "password"),
        ("machine example.org login ada password ", "hunter2", "\n", "password"),
        ("     12→DB_PASSWORD=", "swordfish", "\n     13→", "password"),
        ("> password: ", "hunter2", "\n", "password"),
        ("curl -u ada:", "hunter2", " https://example.org", "password"),
        ("curl -s --user 'ada:", "hunter2", "' https://example.org", "password"),
        ("password=b'", "hunter2", "'", "password"),
        ('password = """', "hunter2", '"""', "password"),
        ("aws_secret_access_key = ", aws, "\n", "secret"),
        ("AWS_SECRET_ACCESS_KEY=", random40, "\nAWS_REGION=eu-west-1", "secret"),
        ('"SecretAccessKey": "', random40, '",', "secret"),
        ("secretAccessKey: '", random40, "',", "secret"),
        ("set AWS_SECRET_ACCESS_KEY=", random40, "\r\n", "secret"),
        ('$env:AWS_SECRET_ACCESS_KEY="', random40, '"', "secret"),
        ("client_secret=", random20, "&grant_type=x", "secret"),
        ('"client_secret": "', hex32, '"', "secret"),
        ("STRIPE_SECRET_KEY=", random20, "", "secret"),
        ("SECRET_KEY = '", "django-insecure-" + _some(_ALNUM + "!@#%^&*(-_=+)", 50), "'\n", "secret"),
        ("SECRET_KEY_BASE=", _some(_HEX, 128), "\n", "secret"),
        ("JWT_SECRET=", "supersecretvalue", "\n", "secret"),
        ("the client secret is ", random20, ".", "secret"),
        ("api_key=", random20, "", "key"),
        ("api_key: ", hex32, "\n", "key"),
        ("apiKey: '", random20, "',", "key"),
        ("API key: ", random20, "\n", "key"),
        ("X-Api-Key: ", hex32, "\n", "key"),
        ("curl -H 'X-API-Key: ", random20, "' https://example.org", "key"),
        ("HEROKU_API_KEY=", _uuid(), "\n", "key"),
        ("https://example.org/v1?api_key=", hex32, "&q=1", "key"),
        ("https://example.org/v1?q=1&apikey=", random20, "", "key"),
        ("OPENWEATHER_API_KEY_PROD=", hex32, "\n", "key"),
        ("tool --api-key ", random20, " run", "key"),
        ("access_key = '", random20, "'", "key"),
        ('encryptionKey: "', random40, '"', "key"),
        ("private_key=", hex40, "\n", "key"),
        ("token=", hex40, "\n", "token"),
        ("token: ", random20, "\n", "token"),
        ("token = '", random20, "'", "token"),
        ('"access_token": "', random40, '"', "token"),
        ('"refreshToken":"', random20, '"', "token"),
        ('\\"token\\":\\"', random20, '\\"', "token"),
        ("//registry.npmjs.org/:_authToken=", _uuid(), "\n", "token"),
        ("TWILIO_AUTH_TOKEN=", hex32, "\n", "token"),
        ("DISCORD_BOT_TOKEN: ", random40, "\n", "token"),
        ("PRIVATE-TOKEN: ", random20, "\n", "token"),
        ("gh auth login --with-token=", hex40, "", "token"),
        ("kubectl config set-credentials x --token=", random40, "", "token"),
        ("the token is `", random20, "`", "token"),
        ("| token | ", random20, " |", "token"),
        ('"auth": "', basic, '"', "authorization"),
        ("Authorization: Bearer ", random20, "\n", "authorization"),
        ("authorization: bearer ", random40, "\r\n", "authorization"),
        ("Authorization: Basic ", basic, "\n", "authorization"),
        ("Authorization: Basic ", "dXNlcjpwYXNz", "", "authorization"),
        ("Authorization: Token ", hex40, "\n", "authorization"),
        ("Authorization: token ", hex40, "\n", "authorization"),
        ("Proxy-Authorization: Basic ", basic, "\n", "authorization"),
        ("curl -H 'Authorization: Bearer ", random20, "' https://example.org", "authorization"),
        ('curl -H "Authorization: Bearer ', random20, '" https://example.org', "authorization"),
        ('"Authorization": "Bearer ', random20, '"', "authorization"),
        ("headers={'Authorization': 'Token ", hex40, "'}", "authorization"),
        ('\\"Authorization\\": \\"Bearer ', random20, '\\"', "authorization"),
        ("sends Bearer ", random40, " to it", "token"),
        ("DefaultEndpointsProtocol=https;AccountName=x;AccountKey=", azure, ";Suffix=y", "azure-key"),
        ("Endpoint=sb://x.net/;SharedAccessKey=", _some(_BASE64, 43) + "=", "", "azure-key"),
        ("https://x.blob.core.net/c?sv=2022&sig=", _some(_ALNUM, 40) + "%3D", "&se=2025", "azure-signature"),
        ("AC" + _some(_HEX, 32) + ":", _some(_HEX, 32), "", "twilio-token"),
        ("https://hooks.slack.com/services/", "T01ABCDEF/B01ABCDEF/" + _some(_ALNUM, 24), "\n", "slack-webhook"),
        ("https://discord.com/api/webhooks/", "123456789012345678/" + _some(_URL, 68), " x", "discord-webhook"),
        ("https://x.webhook.office.com/webhookb2/", _uuid() + "@" + _uuid(), "", "teams-webhook"),
        ('{"user": "ada", "password": "', "swordfish", "", "password"),
        ('{\\"password\\": \\"', "swordfish", "", "password"),
        ('"token": "', _some(_ALNUM, 6000), '"', "token"),
        ("$ export password=", "swordfish", "\n", "password"),
        ("password - ", "hunter2", "\n", "password"),
        ("tool --pass ", "hunter2", "\n", "password"),
        ('"pass": "', "swordfish", '"', "password"),
        ("- name: DB_PASSWORD\n  value: ", "swordfish", "\n", "password"),
        ('{"name": "DB_PASSWORD", "value": "', "swordfish", '"}', "password"),
        ('<add key="DbPassword" value="', "swordfish", '"/>', "password"),
        ('os.getenv("API_TOKEN", "', _uuid(), '")', "token"),
        ("aws_session_token = ", "FwoGZXIvYXdz" + "EJr//////////wEaDH" + random40, "\n", "token"),
        ("curl -s \\\n  -d x \\\n  -u ada:", "hunter2", " \\\n  https://example.org", "password"),
        *((f"api_key {sign} ", random20, "\n", "key") for sign in ("?=", ":=", "::=", ":::=", "+=", "||=")),
        ('$token .= "', random20, '";', "token"),
        ('token: str = "', random20, '"', "token"),
        ('token: str | None = "', random20, '"', "token"),
        ("const apiKey: string = '", random20, "';", "key"),
        ('let token: &str = "', random20, '";', "token"),
        ('var token string = "', random20, '"', "token"),
        ('String password = "', "swordfish", '";', "password"),
        ('const char password[] = "', "swordfish", '";', "password"),
        ("password:\n  ", "hunter2", "\nuser: ada\n", "password"),
        ('token =\n    "', random20, '"\n', "token"),
        ("<token>\n    ", random20, "\n</token>", "token"),
        ("api_key: |\n  ", random20, "\nnext: 1\n", "key"),
        ("api_key: >-\n  ", f"{hex40}\n  {hex40}", "\nnext: 1\n", "key"),
        ("password: |\n    ", "swordfish", "\n", "password"),
        ("mysql -u root -p", "swordfish", " shop", "password"),
        ("mysqldump --host=db -p'", "swordfish", "' shop", "password"),
        ("docker login -u ada -p ", "swordfish", " example.org", "password"),
        ("sshpass -p ", "swordfish", " ssh ada@db", "password"),
        ("redis-cli -h cache -a ", "swordfish", " ping", "password"),
        ("Cookie: theme=dark; session=", random20, "; lang=en", "cookie"),
        ("Set-Cookie: connect.sid=", hex40, "; Path=/; HttpOnly", "cookie"),
        ("Cookie: ", "_gitlab_session=" + hex32, "", "gitlab-token"),
        ("kind: Secret\ndata:\n  user: ", "YWRhIGxvdmVsYWNl", "\n", "secret"),
        (
            "PuTTY-User-Key-File-3: ssh-ed25519\nPublic-Lines: 1\nAAAAC3NzaC1lZDI1NTE5\nPrivate-Lines: 2\n",
            f"{_some(_BASE64, 64)}\n{_some(_BASE64, 30)}==",
            "\nPrivate-MAC: 0123456789abcdef\n",
            "private-key",
        ),
        ("ftp://ada:", "hunter2", "@files.example.org/x", "url-password"),
        ("postgres://ada:", "hunter2", "@localhost:5432/shop", "url-password"),
        ("postgresql+asyncpg://ada:", "p%40ss", "@db/shop?ssl=on", "url-password"),
        ("redis://:", "hunter2", "@cache:6379/0", "url-password"),
        ("DATABASE_URL=mysql://root:", "toor", "@127.0.0.1/shop\n", "url-password"),
        ("mongodb+srv://ada:", "p@ss:word", "@cluster.example.org/x", "url-password"),
        ("postgres://ada:", "ab/cd+ef==", "@db.example.org/shop", "url-password"),
        ("git clone https://ada:", "hunter2", "@example.org/x.git", "url-password"),
        ('"url": "https:\\/\\/ada:', "hunter2", '@example.org"', "url-password"),
        ("amqp://guest:", "visitor", "@[::1]:5672/", "url-password"),
        ("smtp://ada%40x.org:", "hunter2", "@mail:587", "url-password"),
        ("https://", hex40, "@example.org/x.git", "url-token"),
        ("FROM alpine\nENV DB_PASSWORD ", "hunter", "\nRUN make\n", "password"),
        ("ENV STRIPE_TOKEN ", random20, "\n", "token"),
        ("setx API_KEY ", hex32, "", "key"),
        ("setenv DB_PASSWORD ", "hunter2", "\n", "password"),
        ('set api_token "', random20, '"', "token"),
        ("set -gx API_KEY ", hex32, "\n", "key"),
        ('std::string token("', random20, '");', "token"),
        ('std::string password{"', "hunter2", '"};', "password"),
        ('PASSWORD = """\n', "hunter2", '\n"""\n', "password"),
        ("password = '''\\\n    ", "hunter2", "\n'''\n", "password"),
        ("kubectl create secret generic db --from-literal=password=", "hunter", "", "password"),
        ("docker run -e password=", "hunter", " db", "password"),
        ("npm config set //registry.example/:_authToken ", hex32, "", "token"),
        ("snyk auth ", _uuid(), "", "key"),
        ("my adafruit key is ", random20, ", ask Ada", "key"),
        ("mysql -u root -p'", "correct horse", "' shop", "password"),
        ('sshpass -p "', "correct horse battery", '" ssh db', "password"),
    ]


SECRETS = [
    *(Secret(before, token, after, kind) for kind, token in TOKENS for before, after in CONTEXTS),
    *(
        Secret(before, token.replace("\n", line_end), after, kind)
        for kind, token in TOKENS
        if "\n" in token
        for line_end in ("\\n", "\\\\n", "\r\n", "\n    ", "\n> ", '\\n" +\n  "')
        for before, after in CONTEXTS[:12]
    ),
    # Cut off by a limit on output, or by the end of a log line.
    *(
        Secret("cat key\n", token[: token.rindex("\n") - cut], "", kind)
        for kind, token in TOKENS
        if "\n" in token
        for cut in (0, 3, 40)
    ),
    *(Secret(*each) for each in _values()),
]

# What must stay as it is: one text a line.
_LINES = r"""
token=None
token = None
token: null
"token": null,
token=true
token=false
token: undefined
token=""
token = ''
password=""
password: ''
"password": "",
password=
PASSWORD=
export TOKEN=
api_key=<your key>
api_key = "<API_KEY>"
token: <token>
--token <token>
--password <password>
--password=<password>
Authorization: Bearer <token>
Authorization: Bearer $TOKEN
Authorization: Bearer ${TOKEN}
Authorization: Bearer {token}
Authorization: Bearer {{ token }}
Authorization: Bearer YOUR_API_KEY
Authorization: Bearer YOUR-TOKEN-HERE
Authorization: Bearer xxxxxxxx
Authorization: Bearer ...
Authorization: Bearer token
Authorization: Basic authentication is not enough
Authorization: Basic <credentials>
"Authorization": f"Bearer {token}"
'Authorization': 'Bearer ' + token
headers["Authorization"] = "Bearer " + self.token
curl -H "Authorization: Bearer $GITHUB_TOKEN" https://api.github.com/user
curl -H "X-Api-Key: $API_KEY" https://example.org
curl -u "$USER:$PASSWORD" https://example.org
curl -u user: https://example.org
curl -u ${USER}:${PASS} https://example.org
token=${TOKEN}
token=$TOKEN
TOKEN=$1
TOKEN="$1"
PASSWORD="${1:?missing}"
PASSWORD=$(pass show db)
password = ${DB_PASSWORD}
password: ${DB_PASSWORD:-postgres}
password: "{{ vault_password }}"
token: {{ token }}
password: {{ .Values.db.password }}
api_key: ${{ secrets.API_KEY }}
password: !vault |
password: !Ref DbPassword
password: %DB_PASSWORD%
password=%(password)s
"password": "%s"
password = os.environ["DB_PASSWORD"]
password=os.environ["DB_PASSWORD"],
password = os.environ.get("DB_PASSWORD", "")
token = os.getenv("GITHUB_TOKEN")
api_key=os.getenv("OPENAI_API_KEY"),
const token = process.env.TOKEN;
apiKey: process.env.OPENAI_API_KEY,
apiKey: import.meta.env.VITE_API_KEY,
secret: Deno.env.get("SECRET1"),
token = settings.token
token=settings.API_TOKEN_V2,
self.token = token
self._password = password
this.token = token;
this.password = options.password || defaults.password;
password = getpass.getpass()
password = getpass("Password: ")
password = input("Enter your password: ")
token = secrets.token_hex(32)
token = secrets.token_urlsafe(nbytes=16)
secret = hashlib.sha256(data).hexdigest()
secret = base64.b64decode(raw)
token=get_token()
token = get_token2(user1)
token = await getToken();
const secret = generateSecret(32);
token := r.Header.Get("Authorization")
let token = parser.next_token();
token = next(tokens)
token = tokens[0]
token = tokens[index2]
password = args.password
password=args["password"],
password = config['database']['password']
password = form.cleaned_data["password1"]
password=password1,
password=password,
password=pw,
password = user.password_hash
secret = shared_secret
secret=secret_key,
secret_key=settings.SECRET_KEY,
client_secret=client_secret,
api_key=api_key
api_key = your-api-key-here
API_KEY=your_api_key_here
API_KEY=YOUR_API_KEY
OPENAI_API_KEY=sk-your-key-here
OPENAI_API_KEY=sk-...
ANTHROPIC_API_KEY=sk-ant-...
ANTHROPIC_API_KEY=sk-ant-your-api-key-goes-here
ANTHROPIC_API_KEY=sk-ant-xxxxxxxxxxxxxxxxxxxxxxxx
GITHUB_TOKEN=ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx
GITHUB_TOKEN=ghp_...
SLACK_BOT_TOKEN=xoxb-your-bot-token
api_key = "insert-your-key-here"
password=changeme
password: changeme
PASSWORD=changeme
"password": "changeme"
password=xxxx
password=xxxxxxxx
password: ****
password: ********
password: ••••••••
password = "..."
token=TODO
secret: REDACTED
secret: [redacted]
password: [REDACTED]
password=[REDACTED:password]
"token": "[REDACTED:github-token]"
password = "password"
"password": "password"
"password": "string"
"password": "Password"
password="secret"
secret = "my-secret"
secret = "test"
token = "test-token"
password: example
the token: a short word
the token: it marks the end
password: see 1Password
password: in the vault, under "shop"
Password: stored in 1Password, item "prod db".
secret = what nobody knows
the secret = patience
The secret: start small.
The password: nobody remembers it.
Secret: none.
Token: the unit that a model reads.
the password is required
the password is wrong
your password was changed
password is too short (minimum is 8 characters)
Password must be at least 12 characters
Password: at least 8 characters
Enter password:
Password for ada:
ada@host's password:
[sudo] password for ada:
passwords: at least 12 characters
No password? No problem.
forgot password?
token is expired
token is invalid: signature mismatch
invalid token: unexpected end of input
SyntaxError: Unexpected token: punc (;)
Unexpected token '<', "<!DOCTYPE "... is not valid JSON
unexpected token `}` at line 12
error: token: expected identifier, found keyword
token: str
token: str = ""
token: str | None = None
token: string;
token?: string;
token!: string;
password: Optional[str] = None
password: Optional[str]
password: SecretStr = Field(min_length=12)
password: Annotated[str, Field(max_length=128)]
password: string | undefined;
def login(user: str, password: str) -> bool:
def f(token: bytes, *, secret: bytes = b"") -> None:
fn parse(token: Token) -> Result<Token>
token: Token::Ident,
token::Ident
Token::Number => 3,
(token: &str, secret: &[u8])
private readonly token: string,
password: PasswordField(),
password = models.CharField(max_length=128)
password_hash = models.CharField(max_length=128)
password VARCHAR(255) NOT NULL
"password" TEXT NOT NULL,
token TEXT PRIMARY KEY
max_tokens=4096
max_tokens: 1024
"max_tokens": 4096,
max_token=4096
maxTokens: 200000,
tokens: 1234
"tokens": 123456,
total_tokens=123456
input_tokens: 12345678
prompt_tokens=1200, completion_tokens=340
token_count: 12345678
token_limit=128000
tokens_per_second: 123.456
num_tokens = len(tokens)
tokenizer: porter
tokenizer="porter unicode61"
tokenize = "unicode61 remove_diacritics 2"
token_type: bearer
"token_type": "Bearer",
"token_type":"bearer","expires_in":3600
token_endpoint=https://example.org/oauth2/token1
token_url: https://example.org/oauth2/token
token_uri: "https://oauth2.googleapis.com/token"
auth_uri: "https://accounts.google.com/o/oauth2/auth"
password_file=/run/secrets/db_password1
POSTGRES_PASSWORD_FILE=/run/secrets/db_password
secret: /run/secrets/db2
private_key: ~/.ssh/id_ed25519
private_key = "/etc/ssl/private/server2.key"
ssh_private_key_file: ./keys/id_rsa
key_file=C:\keys\server2.pem
private_key_id: 1
secretName: my-tls-secret-2
secretKeyRef:
secrets: inherit
secretsmanager:GetSecretValue
secret_arn: arn:aws:secretsmanager:eu-west-1:123456789012:secret:shop-AbCdEf
auth: oauth2
auth: basic
auth=on
AUTH=on
AUTH_ENABLED=true
auth: required
auth: true
auth_method: scram-sha-256
authSource=admin
author: Ada Lovelace 1843
authority: https://login.microsoftonline.com/common
oauth2: authorization code with PKCE
authorization: role-based
authorization: RBAC
Authorization: required
WWW-Authenticate: Basic realm="example"
WWW-Authenticate: Bearer error="invalid_token"
Bearer authentication
bearer of bad news
a Bearer token in the Authorization header
Proxy-Authorization: none
access key: Alt+S
accesskey="s"
<a accesskey="h" href="/">home</a>
<input type="password" name="password" id="password1">
<label for="password">Password</label>
<password>string</password>
<token>
password1 != password2
if password == "":
if token == "(":
if token.type == "string":
assert token.string == "def"
while token != tokenize.ENDMARKER:
token->next
token.kind === "Identifier"
switch (token) { case "a": break; }
type Token = { kind: "ident"; value: string };
case TOKEN_STRING: return "string";
#define TOKEN_EOF 256
TOKEN_IDENT = 12
TOKEN = re.compile(r"\w+")
pwd
cd "$(pwd)"
echo $PWD
PWD=/home/ada/shop
OLDPWD=/home/ada
pwd: /home/ada/projects/shop2
pwd -P
$ pwd && ls
pass
pass  # nothing to do
    pass
pass: 12, fail: 0
3 passed, 1 failed
compass: north2south
bypass: true
passing: 120
passenger: 12345678
--token-color: red
--token-color: #ff00aa11;
.token { color: #f08d49; }
--auth-bg: rgba(0, 0, 0, 0.5);
key: value
"key": "value123"
primary_key: id
primary key: user_id_2
foreign key: shop2_id
cache_key=shop2:items:page3
sort_key: created_at_2
key=lambda pair: pair[1]
public_key: AAAAB3NzaC1yc2EAAAADAQABAAAB
partition key: tenant2
keyboard: qwerty12
monkey: banana22
api: v1beta1
api_version: 2024-01-01
apiVersion: v1
sk-learn
sk-something-short
scikit-learn==1.4.2
.sk-folding-cube { }
sk-cube-grid
task-0123456789abcdef01234567
disk-3f2a9c8b7d6e5f4a3b2c1d0e
risk-assessment-of-the-2024-migration
SK
SKU-12345678901234567890
AC/DC
ASIA-PACIFIC-REGION-2024
hf_hub_download(repo_id)
npm_config_registry=https://registry.npmjs.org
npm_lifecycle_event
pypi-server
ghp_
github_pat_
xoxb-
glpat-
AKIA
eyJ
eyJustALongIdentifierThatIsNot.someModuleName.attributeOfIt
SG.com
secret_santa
secret_key_base
secret_manager_client_factory_for_tests
whsec_
dapi
lin_api_
9fceb02d0ae598e95dc970b74767f19372d61af8
commit 9fceb02d0ae598e95dc970b74767f19372d61af8
Merge 9fceb02 into 1a2b3c4
e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855
sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855
d41d8cd98f00b204e9800998ecf8427e  empty.txt
"sha1": "da39a3ee5e6b4b0d3255bfef95601890afd80709"
integrity sha512-8Bc9WQbqhRr3TPKiLZgBLrKJ2uKaBPGTdKJQbZVZJzVQ7kTQ4KfFKJQ1Dp3zTVyfXyYJmEPkL7sJHrZPxwK1YQ==
"integrity": "sha512-8Bc9WQbqhRr3TPKiLZgBLrKJ2uKaBPGTdKJQbZVZJzVQ7kTQ4KfFKJQ1Dp3zTVyfXyYJmEPkL7sJHrZPxwK1YQ=="
"resolved": "https://registry.npmjs.org/jsonwebtoken/-/jsonwebtoken-9.0.2.tgz"
"jsonwebtoken": "^9.0.2",
js-tokens@^3.0.0 || ^4.0.0, js-tokens@^4.0.0:
"node_modules/js-tokens": { "version": "4.0.0" }
checksum = "5c0e04424e733e69714ca1bbb9204c1a57f09f5493439520f9f68c132ad25eec"
proc-macro2 = { version = "1.0.78", features = ["span-locations"] }
github.com/golang-jwt/jwt/v5 v5.2.1 h1:OuVbFODueb089Lh128TAcimifWaLhJwVflnrgM17wHk=
550e8400-e29b-41d4-a716-446655440000
id: 550e8400-e29b-41d4-a716-446655440000
session 550e8400-e29b-41d4-a716-446655440000 ended
01HXYZ3K9ABCDEFGHJKMNPQRST
id: 01ARZ3NDEKTSV4RRFFQ69G5FAV
data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==
![dot](data:image/gif;base64,R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7)
//# sourceMappingURL=data:application/json;base64,eyJ2ZXJzaW9uIjozLCJzb3VyY2VzIjpbXX0
!function(e,t){"object"==typeof exports?module.exports=t():e.token=t()}(this,()=>({token:e.token,password:t}));
var a=b.token,c=d.password;e({token:a,password:c,secret:!0})
function t(e){return e.accessToken||e.access_token||null}
getAuthorizationTokenFromRequestHeaderOrThrowAnError2
com.example.shop.security.PasswordEncoderFactoryBean2
AbstractSingletonProxyFactoryBeanSecretTokenProvider
/usr/lib/python3.11/site-packages/jwt/api_jwt.py
~/.config/gh/hosts.yml
C:\Users\ada\AppData\Local\token\cache2.json
src/anamnesis/notes/token_2.py:120
https://example.org/reset-password/step2
https://example.org/docs/api-key?lang=en
https://example.org:8443/path@version
https://example.org/@ada/posts/2
https://example.org/login?next=/token/2
https://github.com/owner/repo/tree/main/src@v2
https://user@example.org/repo.git
ssh://git@github.com:22/owner/repo.git
git@github.com:owner/repo.git
git+ssh://git@github.com/owner/repo.git@v1.2.3
user@host:path/to/file2
scp ada@10.0.0.2:/var/log/app.log .
mailto:ada@example.org
ada.lovelace@example.org
redis://localhost:6379/0
postgres://localhost:5432/shop
postgres://ada@localhost/shop
postgres://$USER:$PASSWORD@localhost/shop
postgres://{user}:{password}@{host}/{name}
postgres://<user>:<password>@<host>/<db>
mysql://${USER}:${PASS}@db/shop
amqp://user:****@host
http://[::1]:8080/
http://localhost:3000,http://localhost:3001 for ada@example.org
ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGPKSUTyz1HwHReFVvD5obVsALAgJRNarH4TRpNePnAS ada@host
ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAABAQC7Vd8vNq ada@host
SHA256:uNiVztksCsDhcc0u9e8BgrJXVGDk8lUIWk6f1Uq2Jlw
example.org ecdsa-sha2-nistp256 AAAAE2VjZHNhLXNoYTItbmlzdHAyNTYAAAAIbmlzdHAyNTYAAABBBEmKSENjQEez
docker run -u 1000:1000 image
docker run --user "$(id -u):$(id -g)" image
chown ada:staff file
kubectl create secret generic db --from-literal=user=ada
kubectl get secret shop-db-2 -o yaml
gh auth login --with-token < token.txt
gh secret set NPM_TOKEN --body "$NPM_TOKEN"
git config credential.helper store
aws configure set region eu-west-1
vault kv get secret/shop/db2
op read "op://shop/db/password"
pass show shop/db2
docker login -u ada --password-stdin
tool --token
tool --token --verbose
the --password option
use --token instead of --password
`--token` is deprecated
--secret id=npmrc,src=.npmrc
--auth basic
--auth-type=jwt
-p 8080:80
-e PASSWORD
env: [TOKEN, PASSWORD]
required: ["token", "password"]
fields = ("token", "password", "secret2")
| token | count |
| password | string | required |
| secret | the shared one |
- token: what the client sends
- password: never logged
- **Token:** the unit of text
* secret: rotate it monthly
# Secret: how it works
## Token budget: 2000
> password: ask Ada
Rotate the token every 90 days: see runbook 12.
We store a secret: it lives in Vault (path kv/shop).
Set the API key: Settings > Developers > Keys.
The API key: 32 characters, hexadecimal.
API key: see the vault
access key: rotated 2024-05-17
access token: 15 minutes; refresh token: 30 days
secret: sha256 of the body
password: argon2id with 64 MiB
password: bcrypt
password hashing: PBKDF2, 600000 rounds
token: HS256
token: 2024-05-17T10:00:00Z
token: 12345678
token=0
secret: 42
token version: 1.2.3
token: v1.2.3-beta4
token: page2
nextToken: page-2
pageToken=next-page-2
token: en-US
csrf_token: {% csrf_token %}
{{ csrf_token() }}
<%= csrf_token %>
@csrf_token
cancellation_token: CancellationToken::new()
CancellationToken token = default
CancellationToken cancellationToken = new();
token: cancellationToken,
StringTokenizer tokenizer = new StringTokenizer(line2);
Token token = lexer.nextToken();
auto token = lexer->next();
token, err := jwt.Parse(raw, keyFunc)
let secret: Vec<u8> = vec![0; 32];
password: z.string().min(8),
password: { type: String, required: true },
password: yup.string().required(),
password: Joi.string().min(8).max(72),
password: hashSync("x", 10),
"password": {"type": "string", "minLength": 8},
"password": ["This field is required."],
"password": "This field is required",
"password": "Enter your password",
"passwordPlaceholder": "At least 8 characters",
"token": "The token has expired, log in again",
"secret": true,
"secret": {"secretName": "shop-db"},
msgid "Password"
label_password: "Password:"
password_label = "Password"
password_prompt="Password: "
PASSWORD_MIN_LENGTH = 12
PASSWORD_HASHERS = ["django.contrib.auth.hashers.Argon2PasswordHasher"]
AUTH_USER_MODEL = "accounts.User2"
AUTH_PASSWORD_VALIDATORS = []
SECRET_KEY = env("SECRET_KEY")
SECRET_KEY = get_random_secret_key()
SECRET_KEY=change-me
TOKEN_TTL=3600
TOKEN_EXPIRY: 15m
JWT_ALGORITHM=HS256
jwt.decode(token, key, algorithms=["RS256"])
import secrets, tokenize
from tokenize import TokenInfo, generate_tokens
from .auth import authenticate as auth2
class TokenError(Exception): ...
raise ValueError(f"bad token: {token!r}")
logger.info("token=%s", token)
print("password:", password)
printf("token: %d\n", token);
console.log("token: ", token);
echo "password: $PASSWORD"
f"password={password}"
`token=${token}`
"password=" + password
'?token=' + encodeURIComponent(token)
?token=
?token=&page=2
?q=token:12
grep -n "token: " src/
sed -i 's/token=.*/token=/' .env
rg 'password\s*='
r"(?i)password\s*[:=]\s*(\S+)"
ON CONFLICT (token) DO UPDATE SET secret = excluded.secret
WHERE token = ? AND secret = :secret
UPDATE users SET password = $1 WHERE id = $2
SELECT password FROM users WHERE token = 'x'
CREATE INDEX sessions_token ON sessions (token);
IDENTIFIED BY PASSWORD
test_password_is_hashed_2
def test_token_2_is_rejected(self) -> None:
tests/test_auth.py::test_token_refresh[case2] PASSED
2024-05-17 10:00:00 INFO auth: user 1234 logged in
2024-05-17 10:00:00 WARN token: expired for user 1234
auth: sshd[1234]: Accepted publickey for ada
level=info msg="token refreshed" user=ada
{"level":"info","token":"refreshed","n":1}
added 1200 packages, and audited 1201 packages in 12s
HTTP/1.1 401 Unauthorized
fix(auth): reject expired token (#123)
Refactor: token -> credential
password → passphrase
token… then nothing
Ada's secret; Bob's key: both lost.
secret: 秘密は言わない
пароль: см. 1Password
le mot de passe: à demander
cmd.Env = append(cmd.Env, "PWD="+cmd.Dir)
url = base + "?password="+pw1+"&x=1"
const url = base + '?token='+token2;
"password="+hash1
--- PASS: TestOAuth2Flow (0.01s)
--- PASS: TestWithColons/[::1] (0.00s)
PASS: TestAuth2
PASS: 12/12
pass: 123456 of 123456
{"go/token", "scan2ner"},
("token", "string")
["password", "secret", "token"]
- name: TOKEN
password value: string
"name": "password", "value": ""
name: DB_PASSWORD, valueFrom: secretKeyRef
token -> next
password - required
token -- the second one
curl -u <user:password> https://example.org
AWS4-HMAC-SHA256 Credential=x
token: "CommonMarkTokenizer"
private_key: SSHPrivateKeyTypes,
def load_private_key(self) -> Ed25519PrivateKey | Ed448PrivateKey: ...
private_key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
SECRET_KEY = 'aws_secret_access_key'
FORCE_CHANGE_PASSWORD = "FORCE_CHANGE_PASSWORD"
arn:aws:secretsmanager:us-west-2:123456789012:secret:MyTestDatabaseSecret-a1b2c3
"AWS::ApiGateway::ApiKey": "48205d4ffd7feba3",
credentials: 'include',
const USE_CREDENTIALS = 'use-credentials'
ucred := *(*Ucred)(unsafe.Pointer(&m.Data[0]))
readUint16LengthPrefixed acts like s.ReadUint16LengthPrefixed, but
[![twitter/ada](https://gravatar.example/avatar/24e08a9ea84deb17ae121074d0f17125?s=70)](https://twitter.example)
Cookie: theme=dark; lang=en
document.cookie = "session=" + session
docker run -p 8080:80 image
mkdir -p src/login
docker login example.org
"""

TEXTS = [
    *_LINES.strip("\n").splitlines(),
    "-----BEGIN CERTIFICATE-----\nMIIDdzCCAl+gAwIBAgIEAgAAuTANBgkqhkiG9w0BAQUFADBaMQsw\n-----END CERTIFICATE-----",
    "-----BEGIN PUBLIC KEY-----\nMIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEAu1SU1LfV\n-----END PUBLIC KEY-----",
    "-----BEGIN PGP PUBLIC KEY BLOCK-----\n\nmQENBFXyzBkBCADLdc8UjF\n=abcd\n-----END PGP PUBLIC KEY BLOCK-----",
    'if "-----BEGIN PRIVATE ' + 'KEY-----" in text:',
    "files that start with -----BEGIN RSA PRIVATE " + "KEY----- are keys",
    "between -----BEGIN PRIVATE " + "KEY----- and -----END PRIVATE " + "KEY-----",
    "-----BEGIN PRIVATE " + "KEY-----\n...\n-----END PRIVATE " + "KEY-----",
    'grep -rn "BEGIN OPENSSH PRIVATE ' + 'KEY" .',
    "token=None, password=None\nsecret=None",
    "TOKEN=\nPASSWORD=\nSECRET=",
    "password:\n  hunter: none\n",
    "def f(\n    token: str,\n    password: str = '',\n    secret=None,\n) -> None: ...",
]

BLOCKS = [
    ("a <private>b</private> c", "a [REDACTED] c"),
    ("<private>b</private>", "[REDACTED]"),
    ("<PRIVATE>b</Private>.", "[REDACTED]."),
    ("a\n<private>\nb\nc\n</private>\nd", "a\n[REDACTED]\nd"),
    ("a <private>b", "a [REDACTED]"),
    ("a <private>", "a [REDACTED]"),
    ("a <private>b <private>c</private> d</private> e", "a [REDACTED] e"),
    ("a <private>b <private>c</private> d", "a [REDACTED]"),
    ("a <private>b\nc\n\nd", "a [REDACTED]\n\nd"),
    ("a <private>b\r\n\r\nc <private>d</private> e", "a [REDACTED]\r\n\r\nc [REDACTED] e"),
    ("a <private>b\n \t\nc", "a [REDACTED]\n \t\nc"),
    ("<private>a\n\nb</private> c", "[REDACTED] c"),
    ("<private>a\n\n<private>b\n\nc", "[REDACTED]\n\n[REDACTED]\n\nc"),
    ('{"text": "a <private>b\\n\\nc"}', '{"text": "a [REDACTED]\\n\\nc"}'),
    ("<private>a</private>b<private>c</private>", "[REDACTED]b[REDACTED]"),
    ("a </private> b", "a </private> b"),
    ("a </private> b <private>c</private> d", "a </private> b [REDACTED] d"),
    ("a <private >b</private\n> c", "a [REDACTED] c"),
    ("a \\u003cprivate\\u003eb\\u003c/private\\u003e c", "a [REDACTED] c"),
    ("<private></private>", "[REDACTED]"),
    ("<privateer>b</privateer>", "<privateer>b</privateer>"),
    ("private b /private", "private b /private"),
]
