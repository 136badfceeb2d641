"""The known kinds of secrets as data, one line each. `redaction` compiles a line when one of its literals is found.

A line has the kind, the literals with which such a secret begins, and the shape of the rest. In a shape, `{w20}` is
20 characters of the class `w`, `{w16-32}` 16 to 32; the last one extends to the end of the word. `[...]` is optional.
A leading `^` means that the literal begins a word, `^^` a run of base64, `#` that a digit follows within 24
characters, `~` that it may be lower-case letters only. Tests generate their samples from the same shapes.
"""

from __future__ import annotations

import re
from functools import cache

CLASSES = {
    "a": "A-Za-z0-9",
    "b": "A-Za-z0-9+/",
    "d": "0-9",
    "e": r"\w.=-",
    "g": "0-9a-hA-H",
    "h": "0-9a-f",
    "i": r"\w",
    "l": "a-z0-9",
    "s": r"\w+/=.~-",
    "u": "A-Z0-9",
    "U": "A-Z0-9-",
    "w": r"\w-",
    "x": "0-9a-fA-F",
}

RULES = """
anthropic-key       sk-ant-                                         {w16}
openai-key          sk-proj- sk-svcacct- sk-admin-                  {w16}
api-key             sk-or-v1- sk-or-v2- sk-lf- sk-None-             ^{w20}
api-key             sk-                                             ^{a20}
api-key             sk_                                             ^#{h40}
github-token        ghp_ gho_ ghu_ ghs_ ghr_                        {i30}[.{w20}][.{w20}]
github-token        github_pat_                                     {w22}
gitlab-token        glpat- gldt- glrt- glptt- glcbt- glsoat-        {w18}[.{l2}.{i7}][.{l9}]
gitlab-token        glagent- glft- glimt- gloas- glffct- glwt-      {w18}
gitlab-token        GR1348941                                       {w18}
gitlab-token        _gitlab_session=                                {a32}
aws-key-id          AKIA ASIA ABIA ACCA                             ^{u16}
aws-key-id          A3T                                             ^#{u17}
aws-bedrock-key     ABSK                                            ^^{b100}
aws-bedrock-key     bedrock-api-key-                                {s24}
amazon-mws-token    amzn.mws.                                       {h8}-{h4}-{h4}-{h4}-{h12}
google-key          AIza                                            {w30}
google-token        ya29.                                           {w20}
google-token        1//0                                            ^{w30}
google-secret       GOCSPX-                                         {w20}
stripe-key          sk_live_ rk_live_ sk_test_ rk_test_             {a10}
stripe-key          sk_prod_ rk_prod_                               {a10}
stripe-webhook      whsec_                                          {b20}
slack-token         xapp-                                           {d1}-{w16}
npm-token           npm_                                            ^{a30}
nuget-key           oy2                                             ^^#{l43}
pypi-token          pypi-AgE                                        {w16}
rubygems-token      rubygems_                                       {h40}
clojars-token       CLOJARS_ clojars_                               {a50}
crates-token        cio                                             ^^#{a32}
huggingface-token   hf_                                             ^~{a28}
huggingface-token   api_org_                                        ^~{a28}
sendgrid-key        SG.                                             ^{w16-32}.{w16}
sendgrid-key        SG.                                             ^#{e60}
sendinblue-key      xkeysib- xsmtpsib-                              {h60-64}-{a16}
mailgun-key         key- pubkey-                                    ^^{h32}
mailchimp-key       md-                                             ^^#{a22}
twilio-key          SK                                              ^{x32}
digitalocean-token  dop_v1_ doo_v1_ dor_v1_                         {x32}
databricks-token    dapi                                            ^{h32}[-{d1}]
linear-key          lin_api_ lin_oauth_                             {a30}
notion-token        secret_ ntn_                                    {a40}
shopify-token       shpat_ shpca_ shppa_ shpss_ shpit_              {x32}
anamnesis-token     anh_                                            {w40}
age-key             AGE-SECRET-KEY-1                                {u40}
adobe-secret        p8e-                                            ^{a32}
airtable-token      pat                                             ^#{a14}.{h64}
alibaba-key-id      LTAI                                            ^^#{a16}
artifactory-key     AKCp                                            ^^{a60}
artifactory-token   cmVmd                                           ^^#{a50}
atlassian-token     ATATT3 ATCTT3 ATSTT3                            {w24}[={w1}]
bitbucket-token     ATBB                                            ^^#{a28}
buildkite-token     bkua_ bkaj_                                     ^{h32}
circleci-token      CCIPAT_ CCIPRJ_                                 {w30}
cloudflare-ca-key   v1.0-                                           ^{h24}-{h100}
contentful-token    CFPAT-                                          {w40}
defined-key         dnkey-                                          ^{e60}
deno-token          ddp_ ddo_                                       ^{a36}
docker-token        dckr_pat_ dckr_oat_                             {w24}
doppler-token       dp.pt. dp.st. dp.ct. dp.sa. dp.scim. dp.audit.  {e40}
duffel-token        duffel_test_ duffel_live_                       {e40}
dynatrace-token     dt0                                             ^{l1}{d2}.{a24}.{a60}
easypost-key        EZAK EZTK                                       ^^{a50}
facebook-token      EAA                                             ^^#{a100}
figma-token         figd_ figu_ figor_ figoh_                       {w24}
firecrawl-key       fc-                                             ^{h32}
flutterwave-key     FLWSECK_TEST- FLWSECK- FLWPUBK_TEST- FLWPUBK-   {g12}[-X]
fly-token           fo1_                                            {w40}
fly-token           fm1a_ fm1r_ fm2_                                {b60}
frameio-token       fio-u-                                          {e40}
grafana-token       glsa_                                           {w24}
grafana-token       glc_                                            {b32}
grafana-key         eyJrIjoi                                        ^^{b70}
groq-key            gsk_                                            {a27}
harness-token       pat. sat.                                       ^{w22}.{a24}.{a20}
heroku-key          HRKU-                                           {w40}
hubspot-token       pat-na1- pat-na2- pat-eu1-                      ^{h8}-{h4}-{h4}-{h4}-{h12}
infracost-key       ico-                                            ^#{a32}
intra42-secret      s-s4t2ud- s-s4t2af-                             {x64}
langsmith-key       lsv2_pt_ lsv2_sk_                               {w32}
launchdarkly-key    sdk-                                            ^^{h8}-{h4}-{h4}-{h4}-{h12}
lob-key             live_ test_                                     ^^{h35}
lob-key             live_pub_ test_pub_                             ^^{h31}
mapbox-token        pk. sk. tk.                                     ^^#{w50-100}.{w20}
netlify-token       nfp_ nfc_ nfo_ nfu_ nfb_                        ^{a36}
newrelic-key        NRAK- NRIQ- NRRA-                               {a27}
newrelic-key        NRII-                                           {w30}
newrelic-key        NRJS-                                           {x19}
nvidia-key          nvapi-                                          {w40}
octopus-key         API-                                            ^^#{u26}
onepassword-token   ops_eyJ                                         {b100}
onepassword-key     A3-                                             ^{u6}-{U20}
openshift-token     sha256~                                         {w40}
perplexity-key      pplx-                                           {a27}
pinecone-key        pcsk_                                           {w40}
plaid-token         access-sandbox- access-development-             {h8}-{h4}-{h4}-{h4}-{h12}
plaid-token         access-production-                              {h8}-{h4}-{h4}-{h4}-{h12}
planetscale-token   pscale_pw_ pscale_tkn_ pscale_oauth_            {e32}
posthog-key         phx_ phc_                                       ^{a40}
postman-key         PMAK-                                           {w24}
prefect-token       pnu_ pnb_                                       ^{a36}
pulumi-token        pul-                                            ^{h40}
readme-token        rdme_                                           {l60}
replicate-token     r8_                                             ^{a27}
resend-key          re_                                             ^#{a8}_{a20}
scalingo-token      tk-us- tk-eu-                                   ^{w40}
sentry-token        sntrys_                                         {s40}
sentry-token        sntryu_                                         {h40}
settlemint-token    sm_aat_ sm_pat_ sm_sat_                         {a16}
shippo-token        shippo_live_ shippo_test_                       {x40}
sonar-token         squ_ sqp_ sqa_                                  ^{a40}
sourcegraph-token   sgp_                                            [local_][{x16}_]{x40}
sourcegraph-token   slk_ sgd_                                       ^{x40}
square-token        EAAA                                            ^^#{w22}
square-token        sq0atp- sq0csp-                                 {w22}
supabase-token      sbp_                                            {a27}
supabase-token      sb_secret_                                      {w20}
tailscale-key       tskey-                                          {w24}
tavily-key          tvly-                                           {w20}
typeform-token      tfp_                                            ^{e55}
vault-token         hvs. hvb. hvr.                                  ^{w24}
vercel-token        vcp_ vci_ vca_ vcr_ vck_                        ^{a24}
xai-key             xai-                                            ^{a27}
yandex-key          AQVN                                            ^^{w35}
yandex-token        y0_                                             ^#{w50}
base64-jwt          ZXlK                                            ^^{s50}
"""

# A random-looking value after a name that contains one of these vendors is a secret, even without a word for a key.
VENDORS = """
adafruit adobe adyen airtable alchemy algolia alibaba aliyun amplitude artifactory asana atlassian auth0 beamer
binance bintray bitbucket bittrex braintree bugsnag buildkite circleci clickup cloudflare cloudinary codecov cohere
coinbase confluence confluent contentful contribsys datadog deepgram digitalocean discord droneci dropbox elevenlabs
etherscan etsy facebook fastly figma finicity finnhub flickr freshbooks gitter gocardless grafana heroku honeycomb
hubspot infura intercom jfrog jira klaviyo kraken kucoin launchdarkly linear linkedin looker mailchimp mailgun mailjet
mandrill mapbox mattermost meraki messagebird mixpanel netlify newrelic newyorktimes nexmo nytimes okta opsgenie
pagerduty paypal pinecone plaid plivo postmark privateai pubnub pusher rapidapi razorpay rollbar sendbird sendgrid
sentry shodan snyk sonar sourcegraph sparkpost splunk squarespace sumo sumologic telegram travis trello twilio twitch
twitter typeform vercel virustotal vonage xray yandex yorktimes zendesk
"""

# A program, and the option before a password on its command line.
COMMANDS = (
    (b"mysql", r"-p(?=['\"]?[^\s'\"-])"),
    (b"mariadb", r"-p(?=['\"]?[^\s'\"-])"),
    (b"sshpass", r"-p[ \t]{0,4}"),
    (b"login", r"(?:-p|--password)[ \t=]{1,4}"),
    (b"redis-cli", r"-a[ \t]{1,4}"),
    (b"mongo", r"-p[ \t]{1,4}"),
    (b"ldap", r"-w[ \t]{1,4}"),
    (b"sqlcmd", r"-P[ \t]{0,4}"),
    (b"smbclient", r"-U[ \t]{0,4}['\"]?[\w.\\/-]{1,60}%"),
    (b"openssl", r"-pass(?:in|out)?[ \t]{1,4}['\"]?pass:"),
    (b"htpasswd", r"-\w{0,4}b\w{0,4}[ \t]{1,4}(?:-\w[ \t]{1,4}){0,3}[^\s-]\S{0,200}[ \t]{1,4}[\w.@-]{1,60}[ \t]{1,4}"),
    (b"curl", r"(?:-b|--cookie)[ =]{1,4}['\"]?[\w.-]{1,60}="),
    (b"curl", r"(?:-u|--user)[ =]{1,4}['\"]?(?=[^\s:'\"$<{\[]{0,24}\d[^\s:'\"]{6,200}:['\"]?(?:\s|\Z))"),
    (b"curl", r"(?:-u|--user|--proxy-user|-U)[ =]{0,4}['\"]?[^\s:'\"\[<]{0,100}['\"]?:['\"]?"),
)

_PIECE = re.compile(r"\{(?P<letters>\w)(?P<least>\d+)(?:-(?P<most>\d+))?\}|(?P<mark>[\[\]])|(?P<text>[^{}\[\]]+)")
_ALNUM = "[A-Za-z0-9]"


def rules() -> list[tuple[str, str, str]]:
    """Each literal with its kind and shape."""
    lines = [line.split() for line in RULES.strip().splitlines()]
    return [(kind, literal, literals[-1]) for kind, *literals in lines for literal in literals[:-1]]


def in_lower_case() -> list[str]:
    """The literals of secrets that may consist of lower-case letters only, like words."""
    return [literal for _, literal, shape in rules() if "~" in shape]


@cache
def regex_of(literal: str, shape: str) -> str:
    """The pattern of a rule; its first group is empty, because the whole match is the secret."""
    marks = shape[: len(shape) - len(shape.lstrip("^#~"))]
    start = {0: "", 1: alone(len(literal)), 2: alone(len(literal), r"[\w+/-]")}[marks.count("^")]
    digit = r"(?=[\w-]{0,24}\d)" if "#" in marks else ""
    return f"(){re.escape(literal)}{start}{digit}{_body(shape[len(marks) :])}"


def alone(width: int, within: str = _ALNUM) -> str:
    """A lookbehind: the last `width` letters begin a word, or follow an escaped line end, percent code or colour."""
    codes = (r"\\[nrt]", "%[0-9A-Fa-f]{2}", r"\[\dm", r"\[\d\dm")
    return rf"(?:(?<!{within}.{{{width}}})|{'|'.join(rf'(?<={code}.{{{width}}})' for code in codes)})"


def _body(shape: str) -> str:
    found = ""
    for piece in _PIECE.finditer(shape):
        if piece["mark"]:
            found += {"[": "(?:", "]": ")?"}[piece["mark"]]
        elif piece["text"]:
            found += re.escape(piece["text"])
        else:
            last = shape[piece.end() : piece.end() + 1] in ("", "[", "]")
            found += _letters(piece["letters"], int(piece["least"]), piece["most"], last)
    return found


def _letters(letters: str, least: int, most: str | None, last: bool) -> str:
    """A pattern for letters. A token extends to the end of its word, so that its rest cannot become another token."""
    letter = f"[{CLASSES[letters]}]"
    if most or not last:
        return f"{letter}{{{least},{most or least}}}"
    if letters == "b":
        return f"{letter}{{{least},}}={{0,2}}"
    if letters in "eswU":
        return f"{letter}{{{least - 1},}}[A-Za-z0-9{'=' if letters in 'es' else ''}]"
    return rf"{letter}{{{least}}}(?:[\w-]*{_ALNUM})?"
