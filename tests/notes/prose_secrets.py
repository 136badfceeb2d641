"""Secrets stated in prose in the languages of `capture/cues.py`, in double brackets, and lines that only look like it.

Judged before the patterns were written. Every second line of a language was put aside until they were finished.
"""

from __future__ import annotations

STATED = {
    "en": """
the password for the staging database is [[hunter2go]]
The admin password on the build box was [[Blue!Horse9]], we rotate it on Friday
password of the deploy user: [[kR7tq2Lm]]
log in with the password [[Xp4-winter]] on port 8443
The passphrase of the backup key is [[fjord42lamp]].
Use [[Zebra_77x]] as the password for the test tenant
My login is anna with password [[t0mat0es]]
my credentials are anna / [[g3heim!x]]
the wifi password at the office is [[Gast2024!]]
ssh to pi@box, password [[raspb3rry9]]
The password to the NAS is `[[Qw8#lake]]` for now
I set the root password to [[sn0wfall!]] yesterday
""",
    "de": """
Passwort: [[Sommer2024!]]
Das Passwort heißt [[Sommer2024!]]
Kennwort lautet [[abc123xyz]]
Das Passwort für die Staging-Datenbank ist [[Hund3futter]].
Das Passwort von root lautet [[kR7tq2Lm]], bitte nicht weitergeben
Passwort = [[Regen99tag]]
- **Passwort:** [[Blau!Pferd9]]
Zugangsdaten: anna / [[t0maten7]]
Melde dich mit dem Passwort [[Xp4-winter]] an
Benutzer: anna, Kennwort: [[g3heim!x]]
Die Passphrase des Backup-Schlüssels lautet „[[fjord42lampe]]“.
Nimm [[Zebra_77x]] als Passwort für den Testmandanten
Das WLAN-Passwort im Büro ist [[Gast2024!]]
Der API-Schlüssel lautet [[9f8a7b6c5d4e3f2a1b0c]]
Zugangscode für die Tür: [[K9-4417-xz]]
DB-Passwort: [[prod.Kater5]]
Admin-Kennwort ist jetzt [[Q8wlake#3]]
Passwörter: dev [[no1dea]]
Ich habe das Root-Passwort auf [[schnee7fall]] gesetzt
Das Geheimnis des Webhooks lautet [[whk_55aa77bb99]]
Passwort (Test): [[pr0be-lauf]]
""",
    "es": """
Contraseña: [[Verano2024!]]
La contraseña es [[abc123xyz]]
La contraseña de la base de datos de pruebas es [[perr0gato]].
contraseña = [[lluvia99dia]]
- **Contraseña**: [[Azul!Caballo9]]
Usuario: ana, contraseña: [[s3creto!x]]
Entra con la contraseña [[Xp4-invierno]]
La clave de acceso es [[9f8a7b6c5d4e]]
clave: [[tomat3s7]]
La frase de contraseña es «[[fiordo42luz]]»
Usa [[Cebra_77x]] como contraseña del entorno de pruebas
La contraseña del wifi es [[Oficina2024!]]
Credenciales: ana / [[t0mates7]]
La contrasena del servidor es [[kR7tq2Lm]]
La clave API es [[9f8a7b6c5d4e3f2a1b0c]]
Cambié la contraseña de root a [[niev3caida]]
""",
    "fr": """
Mot de passe : [[Ete2024!]]
Le mot de passe est [[abc123xyz]]
Le mot de passe de la base de recette est [[chi3nchat]].
mot de passe = [[pluie99jour]]
- **Mot de passe** : [[Bleu!Cheval9]]
Identifiant : anne, mot de passe : [[s3cret!x]]
Connecte-toi avec le mot de passe [[Xp4-hiver]]
La phrase secrète est « [[fjord42lampe]] »
Le mot de passe du wifi : [[Bureau2024!]]
La clé d'API est [[9f8a7b6c5d4e3f2a1b0c]]
Utilise [[Zebre_77x]] comme mot de passe
Identifiants : anne / [[t0mates7]]
Le MDP de l'admin est [[kR7tq2Lm]]
mdp : [[neig3blanche]]
Code d'accès : [[K9-4417-xz]]
J'ai mis le mot de passe root à [[n3igeblanc]]
""",
    "pt": """
Senha: [[Verao2024!]]
A senha é [[abc123xyz]]
A senha do banco de testes é [[cach0rro7]].
senha = [[chuva99dia]]
- **Senha:** [[Azul!Cavalo9]]
Usuário: ana, senha: [[s3gredo!x]]
Entre com a senha [[Xp4-inverno]]
A palavra-passe é [[fiorde42luz]]
A senha do wifi é [[Escritorio2024!]]
Use [[Zebra_77x]] como senha do ambiente de testes
Credenciais: ana / [[t0mates7]]
A chave de API é [[9f8a7b6c5d4e3f2a1b0c]]
A senha de root era [[kR7tq2Lm]]
Mudei a senha do root para [[n3vebranca]]
""",
    "it": """
La password è [[abc123xyz]]
Password: [[Estate2024!]]
La password del database di prova è [[can3gatto]].
Parola d'ordine: [[fiordo42luce]]
- **Parola chiave:** [[Blu!Cavallo9]]
Utente: anna, password: [[s3greto!x]]
Entra con la password [[Xp4-inverno]]
La chiave API è [[9f8a7b6c5d4e3f2a1b0c]]
La password del wifi è [[Ufficio2024!]]
Usa [[Zebra_77x]] come password dell'ambiente di prova
Credenziali: anna / [[p0modori7]]
La password di root era [[kR7tq2Lm]]
La passphrase è «[[lampada42]]»
Ho messo la password di root a [[n3vebianca]]
""",
    "ru": """
Пароль: [[Leto2024!]]
Пароль — [[abc123xyz]]
Пароль от тестовой базы: [[s0bakakot]].
пароль = [[dozhd99den]]
- **Пароль:** [[Sin!Kon9x]]
Логин: anna, пароль: [[s3kret!x]]
Войди с паролем [[Xp4-zima]]
Парольная фраза: «[[fjord42lampa]]»
Пароль от вайфая [[Ofis2024!]]
Ключ API: [[9f8a7b6c5d4e3f2a1b0c]]
Используй [[Zebra_77x]] как пароль
Учётные данные: anna / [[p0midor7]]
Пароль root был [[kR7tq2Lm]]
Пароль для staging это [[лето2024снег]]
""",
    "zh": """
密码：[[Xia2024!]]
密码是[[abc123xyz]]
测试数据库的密码是 [[gou3mao7]]。
密码为 [[yu99tian]]
- **密码**：[[Lan!Ma9xx]]
用户名：anna，密码：[[s3cret!x]]
用密码 [[Xp4-dong]] 登录
口令：[[fjord42deng]]
管理员密码: [[kR7tq2Lm]]
密钥是 [[9f8a7b6c5d4e3f2a1b0c]]
WiFi密码[[Bangong2024!]]
密碼：[[xue7luo8]]
用 [[Zebra_77x]] 作为密码
账号密码：anna / [[fanqie77a]]
""",
    "ja": """
パスワード：[[Natsu2024!]]
パスワードは[[abc123xyz]]です
テスト用データベースのパスワードは [[inu3neko7]] です。
パスワード= [[ame99hi]]
- **パスワード**：[[Ao!Uma9xx]]
ユーザー名：anna、パスワード：[[s3cret!x]]
パスワード [[Xp4-fuyu]] でログインしてください
合言葉は「[[fjord42akari]]」
管理者パスワード: [[kR7tq2Lm]]
APIキーは [[9f8a7b6c5d4e3f2a1b0c]] です
暗証番号：[[K9-4417-xz]]
Wi-Fiのパスワードは「[[Jimu2024!]]」
パスフレーズは[[yuki7furu8]]
パスワードを [[n3koyuki]] に変更しました
""",
    "ko": """
비밀번호: [[Yeoreum2024!]]
비밀번호는 [[abc123xyz]]입니다
테스트 데이터베이스 비밀번호는 [[gae3goyang7]] 입니다.
비밀번호 = [[bi99nal]]
- **비밀번호**: [[Paran!Mal9]]
아이디: anna, 비밀번호: [[s3cret!x]]
비밀번호 [[Xp4-gyeoul]]로 로그인하세요
암호: [[fjord42deung]]
관리자 암호는 [[kR7tq2Lm]]
API 키는 [[9f8a7b6c5d4e3f2a1b0c]]입니다
와이파이 비번: [[Samusil2024!]]
패스워드: [[nun7naerim8]]
비밀번호를 [[n3unnaerim]]로 바꿨습니다
패스프레이즈는 "[[haneul42bada]]"
""",
}

# Policies, fields, code, documentation and talk about passwords.
ALIKE = {
    "en": """
Token usage: 12.5k/200k
Context tokens: 128k/200k
Token limit: 128k-context
Token cost: $0.15/1M
Token refresh fix: 8f3c2a1b
Password reset fix is 8f3c2a1b
password entropy is 80bits
The password hash is argon2id!
Use libsodium23 as password library
We chose Argon2id13 as the password hash.
We labelled PR-4821b as password work
the password for the v2 API is hashed with argon2id
Password managers: 1Password, Bitwarden
the password of each user is stored as SHA-256
passwords expire after 90 days
the password is at least 12 characters long
With password 2FA becomes optional
the password for release builds is in 1Password
password reset flow (RFC-6749) returns HTTP 401
the password policy for ISO27001 is stricter
use OAuth2 as the password replacement
credentials are in ~/.pgpass and config/db2.yml
the password to the vault is never written in CI logs from v2.3.1 on
change the password to something with 16 characters
""",
    "de": """
das Passwort wird mit bcrypt gehasht
Passwort-Manager: Bitwarden
Das Passwort ist 90 Tage gültig
Passwort: mindestens 12 Zeichen, davon 1 Sonderzeichen
Das Passwort steht in config/db2.yml
Passwort: siehe 1Password
Das Passwort wird ab v2.3 nicht mehr geloggt
Das Passwort ist ein SHA-256-Hash
Passwort: argon2id
Passwort: ${DB_PASSWORT_2}
passwort = os.environ["PASSWORT_2"]
Passwort: {{ vault_pw1 }}
passwort: str = Field(min_length=8)
Das Kennwort lautet für jeden Benutzer anders
Kennwortrichtlinie: 14 Zeichen, ISO27001
Das Passwort von Benutzern ist seit 2024 optional
Passwort vergessen? Schritt 1 von 3
Nimm OAuth2 statt Passwort
Der Schlüssel der Tabelle lautet user_id_2
Der Schlüssel ist (space, id, v2)
Schlüssel: notes_pkey1
Das Geheimnis ist Vertrauen
Zugangsdaten liegen in ~/.pgpass
Passwörter: 3 Versuche, dann Sperre
Das Passwort ist auf Seite 12/14 beschrieben
Passwort: [REDACTED:password]
Passwort: ********
Passwort: dein_passwort
Das Passwort für PostgreSQL15 fehlt
Feld „Passwort“: type=password, maxlength=64
Passwort ändern: POST /api/v1/passwort
""",
    "es": """
la contraseña caduca en 90 días
La contraseña se guarda con bcrypt
Gestor de contraseñas: Bitwarden
Contraseña: mínimo 12 caracteres
La contraseña está en config/db2.yml
contraseña: str = Field(min_length=8)
Contraseña: ${DB_CLAVE_2}
La contraseña es un hash SHA-256
la clave primaria es user_id_2
La clave es probar con Python3
clave: notes_pkey1
Palabras clave: http2, grpc
La contraseña de los usuarios es opcional desde 2024
Contraseña: ver 1Password
¿Olvidaste la contraseña? Paso 1 de 3
Usa OAuth2 como alternativa a la contraseña
Las credenciales están en ~/.pgpass
Contraseña: tu_contraseña
""",
    "fr": """
le mot de passe expire au bout de 90 jours
Le mot de passe est haché avec bcrypt
Gestionnaire de mots de passe : Bitwarden
Mot de passe : 12 caractères minimum
Le mot de passe est dans config/db2.yml
mot_de_passe: str = Field(min_length=8)
Mot de passe : ${DB_MDP_2}
Le mot de passe est un condensat SHA-256
la clé primaire est user_id_2
La clé est de passer à Python3
clé : notes_pkey1
Mots clés : http2, grpc
Le mot de passe est facultatif depuis 2024
Mot de passe : voir 1Password
Mot de passe oublié ? Étape 1 sur 3
Utilise OAuth2 comme solution de rechange
Les identifiants sont dans ~/.pgpass
Identifiant : user_42
""",
    "pt": """
a senha expira em 90 dias
A senha é guardada com bcrypt
Gerenciador de senhas: Bitwarden
Senha: no mínimo 12 caracteres
A senha está em config/db2.yml
senha: str = Field(min_length=8)
Senha: ${DB_SENHA_2}
A senha é um hash SHA-256
a chave primária é user_id_2
A chave é usar Python3
chave: notes_pkey1
Palavras-chave: http2, grpc
A senha é opcional desde 2024
Senha: ver 1Password
Esqueceu a senha? Passo 1 de 3
resenha: v2-final
""",
    "it": """
la password scade dopo 90 giorni
La password è salvata con bcrypt
Gestore di password: Bitwarden
Password: almeno 12 caratteri
La password è in config/db2.yml
La password è un hash SHA-256
la chiave primaria è user_id_2
La chiave è usare Python3
chiave: notes_pkey1
Parole chiave: http2, grpc
La password è facoltativa dal 2024
Password: vedi 1Password
Password dimenticata? Passo 1 di 3
Le credenziali sono in ~/.pgpass
""",
    "ru": """
пароль истекает через 90 дней
Пароль хранится как SHA-256
Менеджер паролей: Bitwarden
Пароль: минимум 12 символов
Пароль лежит в config/db2.yml
Пароль: ${DB_PAROL_2}
Пароль — это хеш SHA-256
первичный ключ: user_id_2
Ключ — перейти на Python3
Ключевые слова: http2, grpc
Пароль необязателен с 2024 года
Пароль: см. 1Password
Забыли пароль? Шаг 1 из 3
парольная политика ISO27001
""",
    "zh": """
密码 90 天后过期
密码用 bcrypt 加密
密码管理器：Bitwarden
密码：至少12位
密码在 config/db2.yml 里
密码：${DB_MIMA_2}
密码是 SHA-256 哈希
主键是 user_id_2
关键是升级到 Python3
关键词：http2、grpc
密码从2024年起可选
密码：见 1Password
忘记密码？第1步，共3步
密码学课程：CS255
""",
    "ja": """
パスワードは90日で期限切れになります
パスワードはbcryptでハッシュ化されます
パスワードマネージャー：Bitwarden
パスワード：12文字以上
パスワードは config/db2.yml にあります
パスワード：${DB_PASS_2}
パスワードは SHA-256 のハッシュです
主キーは user_id_2 です
キーは notes_pkey1 です
キーワード：http2、grpc
パスワードは2024年から任意です
パスワード：1Password を参照
パスワードを忘れた場合：手順1/3
パスワード再設定は /api/v1/reset です
""",
    "ko": """
비밀번호는 90일 후에 만료됩니다
비밀번호는 bcrypt로 해시됩니다
비밀번호 관리자: Bitwarden
비밀번호: 12자 이상
비밀번호는 config/db2.yml 에 있습니다
비밀번호: ${DB_PASS_2}
비밀번호는 SHA-256 해시입니다
기본 키는 user_id_2 입니다
핵심은 Python3로 바꾸는 것
키워드: http2, grpc
비밀번호는 2024년부터 선택입니다
비밀번호: 1Password 참고
비밀번호 찾기: 1단계/3단계
암호화: AES-256-GCM
""",
}
