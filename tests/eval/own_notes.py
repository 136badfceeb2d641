"""Forty notes of a developer, each with a question in other words and, for some, an identifier that only it has."""

from __future__ import annotations

from typing import NamedTuple


class Own(NamedTuple):
    title: str
    body: str
    question: str
    identifier: str = ""


OWN = (
    Own(
        "Use WAL mode for SQLite",
        "Readers no longer block while a transaction commits. Set busy_timeout on every connection to 5000.",
        "how do I stop the database from being locked when several processes write at once",
        "busy_timeout",
    ),
    Own(
        "kubectl rollout restart after a config map changes",
        "Pods keep the old environment until they are recreated: kubectl rollout restart deployment/web.",
        "why does my kubernetes service still see stale settings after I edited them",
        "deployment/web",
    ),
    Own(
        "Pin the base image by digest",
        "python:3.12-slim moved under us and broke the wheel of lxml. The Dockerfile now names sha256 of the image.",
        "how do we make container builds reproducible",
        "python:3.12-slim",
    ),
    Own(
        "JWT clock skew",
        "Tokens were rejected right after login because the auth server is two seconds ahead. Allow leeway=10.",
        "users get logged out immediately after signing in",
        "leeway=10",
    ),
    Own(
        "Stripe webhooks arrive twice",
        "Store the event id and ignore one that was handled; StripeEvent.seen does it.",
        "customers were charged two times for a single order",
        "StripeEvent.seen",
    ),
    Own(
        "Why the nightly export was slow",
        "It loaded each invoice with its lines in a loop. selectinload on Invoice.lines made 2 minutes of 40.",
        "how was the N+1 query problem in the report job solved",
        "selectinload",
    ),
    Own(
        "Feature flags live in LaunchDarkly",
        "New behaviour goes behind a flag named team.purpose; remove the flag two weeks after full rollout.",
        "how do we release something to only a few people first",
        "team.purpose",
    ),
    Own(
        "Rebase, never merge, in this repository",
        "History on main is linear. git pull --rebase is the default through pull.rebase=true.",
        "what is our policy about combining branches",
        "pull.rebase=true",
    ),
    Own(
        "Flaky test in the browser suite",
        "The spinner hides after the assertion. Wait for the row itself: expect(page.get_by_role('row')).",
        "the end to end checks fail every now and then without any change",
        "get_by_role",
    ),
    Own(
        "Memory leak in the image service",
        "Pillow keeps file handles open until close(); the worker grew to 4 GB in a day. Use a with block.",
        "the process that resizes pictures uses more and more RAM",
    ),
    Own(
        "Money is integer cents",
        "Never float. Amounts are ints of the smallest unit with an ISO currency code beside it, see types/money.py.",
        "how do we store prices to avoid rounding mistakes",
        "types/money.py",
    ),
    Own(
        "Terraform state is in S3 with a lock table",
        "The bucket is infra-state-eu; DynamoDB holds the lock. A stuck one is freed by terraform force-unlock.",
        "somebody else is applying infrastructure and I cannot continue",
        "infra-state-eu",
    ),
    Own(
        "Time zones in the scheduler",
        "Jobs are stored in UTC and shown in the tenant's zone. The hour that is repeated in October ran twice before.",
        "a cron task fired two times when daylight saving ended",
    ),
    Own(
        "Redis eviction policy",
        "Sessions vanished because maxmemory-policy was allkeys-lru. The session instance uses noeviction now.",
        "people lose what they had in their shopping cart when the cache is full",
        "noeviction",
    ),
    Own(
        "How to rotate the signing key",
        "Publish the new key in jwks.json, wait an hour, sign with it, remove the old one after a day.",
        "steps to replace the secret used for authentication without downtime",
        "jwks.json",
    ),
    Own(
        "Front end bundle budget",
        "The main chunk may be 180 kB gzipped; CI fails beyond it. moment was replaced with date-fns for that.",
        "what limits the size of the JavaScript we ship to visitors",
        "date-fns",
    ),
    Own(
        "Soft deletes need a partial index",
        "CREATE UNIQUE INDEX ON users (email) WHERE deleted_at IS NULL lets an address be used again.",
        "somebody who closed an account cannot register a second time",
        "deleted_at",
    ),
    Own(
        "Retry with jitter",
        "All workers hit the API at the same second after an outage. Backoff is exponential with full jitter, 5 tries.",
        "avoid a thundering herd when a service comes back",
    ),
    Own(
        "Accessibility of the date picker",
        "It could not be used without a mouse. The replacement handles arrow keys and announces the month.",
        "blind people cannot choose a day in the form",
    ),
    Own(
        "Deploys stop on Friday at noon",
        "Nobody is around to roll back at the weekend. Emergency fixes need a second person.",
        "may I ship something to production right before my days off",
    ),
    Own(
        "gRPC message size",
        "The default limit is 4 MB; reports are larger. max_receive_message_length is 32 MB on both sides.",
        "remote procedure call fails with resource exhausted for big payloads",
        "max_receive_message_length",
    ),
    Own(
        "Postgres connection pool",
        "Each pod opened 20 connections and the server allows 100. PgBouncer in transaction mode sits in between.",
        "too many clients already, how did we fix it",
        "PgBouncer",
    ),
    Own(
        "Encoding of CSV uploads",
        "Excel writes cp1252 without a mark. decode_upload tries utf-8-sig first, then cp1252.",
        "umlauts are broken in files that accountants send us",
        "decode_upload",
    ),
    Own(
        "Logging must not contain personal data",
        "Emails and names are hashed by scrub() before a record leaves the process; GDPR audit of March.",
        "what about privacy in our diagnostic output",
        "scrub()",
    ),
    Own(
        "The search box debounces for 250 ms",
        "One request per keystroke brought the backend down during the sale. useDebounced wraps the input.",
        "typing quickly sends far too many calls to the server",
        "useDebounced",
    ),
    Own(
        "Why we left GraphQL",
        "Caching at the edge was impossible, and three clients only used five queries. REST with OpenAPI since May.",
        "reason for choosing plain HTTP endpoints over a query language",
    ),
    Own(
        "Running one test",
        "pytest -k name -x --lf stops at the first failure and starts with what failed last.",
        "how can I execute just a single check quickly",
        "--lf",
    ),
    Own(
        "Apple silicon and the arm64 wheels",
        "grpcio has no binary for our pinned version; brew install and build it once, then cache the wheel.",
        "setting up the project on a new MacBook fails while compiling",
        "grpcio",
    ),
    Own(
        "Pagination by cursor",
        "OFFSET got slower with each page. The cursor is the base64 of (created_at, id).",
        "fetching later parts of a long list takes forever",
    ),
    Own(
        "Secrets come from Vault",
        "Nothing in .env files any more. vault kv get secret/app prints them; tokens last eight hours.",
        "where do I find the passwords for local development",
        "secret/app",
    ),
    Own(
        "Dark mode colours",
        "Use the tokens --surface and --ink; a literal hex value fails the linter.",
        "how should I style a component so that it looks right at night",
        "--surface",
    ),
    Own(
        "Kafka consumer lag",
        "One poison message blocked partition 3 for a day. It goes to the dead letter topic after 3 attempts.",
        "the queue stopped being processed because of one bad record",
    ),
    Own(
        "License check in CI",
        "GPL packages are refused. Add an exception to licenses.toml with a lawyer's name.",
        "am I allowed to add this open source dependency",
        "licenses.toml",
    ),
    Own(
        "Type hints are checked in strict mode",
        "mypy --strict, no Any in signatures. Generated code is excluded by pattern.",
        "which rules about static typing does the team follow",
    ),
    Own(
        "Blue green deployment of the API",
        "Two target groups; the switch is a weight in the load balancer. Keep the old one for 30 minutes.",
        "how can we go back to the previous version within seconds",
    ),
    Own(
        "Emails end up in spam",
        "The DKIM record was cut at 255 characters. Split it in two strings within one TXT record.",
        "our newsletters are not reaching inboxes",
        "DKIM",
    ),
    Own(
        "Backups are restored every Monday",
        "A job loads the last dump into a scratch cluster and counts rows; an alert comes when it does not.",
        "how do we know that we could recover after losing the data",
    ),
    Own(
        "Vim bindings in the code review tool",
        "Press ? for the list. j and k move between files, e marks one as viewed.",
        "keyboard shortcuts for reading pull requests",
    ),
    Own(
        "Circular imports in the billing package",
        "models imports tasks imports models. Import inside the function, or move the signal to billing/signals.py.",
        "ImportError partially initialized module",
        "billing/signals.py",
    ),
    Own(
        "Rate limits per tenant",
        "100 requests a minute, counted in Redis by a token bucket. The answer is 429 with Retry-After.",
        "a single customer can slow down everyone else",
        "Retry-After",
    ),
)
