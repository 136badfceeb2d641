-- hub.db: the state of the exchange with each hub that this machine was logged in to. Not derived: if it is lost, the notes of both
-- sides are compared, and different texts are merged without a common version.

CREATE TABLE IF NOT EXISTS accounts (
    number      INTEGER PRIMARY KEY,
    hub         TEXT NOT NULL,
    user        TEXT NOT NULL,
    url         TEXT NOT NULL,
    start       TEXT NOT NULL,  -- random: a new hub.db follows the change log from its beginning
    reached_at  TEXT NOT NULL DEFAULT '',
    compared_at REAL NOT NULL DEFAULT 0,
    UNIQUE (hub, user)
);

-- The spaces that the user can see or once saw; `role` is empty after a removal. `id` is the hub's, and identifies a renamed
-- space; `cursor` is the version up to which all changes were received; `projects` is a JSON list of the projects that belong
-- to the space and that a sync whose result is read has named.
CREATE TABLE IF NOT EXISTS spaces (
    account     INTEGER NOT NULL,
    name        TEXT NOT NULL,
    id          TEXT NOT NULL,
    role        TEXT NOT NULL,
    is_personal INTEGER NOT NULL,
    cursor      INTEGER NOT NULL DEFAULT 0,
    projects    TEXT NOT NULL DEFAULT '[]',
    PRIMARY KEY (account, name)
) WITHOUT ROWID;

-- The last version of a note in a space that both sides had, and the hash of its local file: NULL if it was deleted, empty if it
-- is unknown. `named` is the space that the text names. `is_here` marks the space whose version is the local file; `is_leaving`
-- marks a space in which a moved note still has to be deleted.
CREATE TABLE IF NOT EXISTS agreed (
    account    INTEGER NOT NULL,
    note       TEXT NOT NULL,
    space      TEXT NOT NULL,
    version    INTEGER NOT NULL,
    hash       BLOB,
    named      TEXT NOT NULL DEFAULT '',
    is_here    INTEGER NOT NULL DEFAULT 0,
    is_leaving INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (account, note, space)
) WITHOUT ROWID;

CREATE INDEX IF NOT EXISTS agreed_by_space ON agreed(account, space);
CREATE INDEX IF NOT EXISTS agreed_by_note ON agreed(note);
CREATE INDEX IF NOT EXISTS agreed_anew ON agreed(account) WHERE version = 0;

-- The queued notes, with the reason why they were not exchanged; the reason is empty if the next exchange just has to check the
-- note. `hash` is the hash of a file that the hub refused; `missed` is set if a version from the hub could not be received.
CREATE TABLE IF NOT EXISTS waiting (
    account INTEGER NOT NULL,
    note    TEXT NOT NULL,
    space   TEXT NOT NULL,
    reason  TEXT NOT NULL,
    hash    BLOB,
    missed  INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (account, note, space)
) WITHOUT ROWID;

-- The invitations to spaces that wait for an answer, as of the last exchange; `projects` is a JSON list. `told` is set once a sync
-- whose result is read has named it.
CREATE TABLE IF NOT EXISTS invitations (
    account  INTEGER NOT NULL,
    space    TEXT NOT NULL,
    role     TEXT NOT NULL,
    inviter  TEXT NOT NULL,
    projects TEXT NOT NULL,
    told     INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (account, space)
) WITHOUT ROWID;

-- Sentences about what other members did to notes, until a sync whose result is read has said them.
CREATE TABLE IF NOT EXISTS news (
    number   INTEGER PRIMARY KEY,
    account  INTEGER NOT NULL,
    note     TEXT NOT NULL,
    sentence TEXT NOT NULL,
    UNIQUE (account, sentence)
);
