-- hub.db: what this machine and each hub that it was logged in to last had in common. Not derived: if it is lost, the notes
-- of both sides are compared, and what differs is merged without a common version.

CREATE TABLE accounts (
    number      INTEGER PRIMARY KEY,
    hub         TEXT NOT NULL,
    user        TEXT NOT NULL,
    url         TEXT NOT NULL,
    start       TEXT NOT NULL,  -- random: with a lost hub.db, the change log is followed from its beginning
    reached_at  TEXT NOT NULL DEFAULT '',
    compared_at REAL NOT NULL DEFAULT 0,
    UNIQUE (hub, user)
);

-- The spaces that the user can or could see; `role` is empty after a removal. `id` is the hub's, by which a space is recognised
-- that has another name now; `cursor` is the version up to which all changes were received, `projects` a JSON list of the
-- projects that were given to the space and have followed.
CREATE TABLE spaces (
    account     INTEGER NOT NULL,
    name        TEXT NOT NULL,
    id          TEXT NOT NULL,
    role        TEXT NOT NULL,
    is_personal INTEGER NOT NULL,
    cursor      INTEGER NOT NULL DEFAULT 0,
    projects    TEXT NOT NULL DEFAULT '[]',
    PRIMARY KEY (account, name)
) WITHOUT ROWID;

-- The version of a note in a space that both sides had last, and the hash of its file here: NULL if it was deleted, empty if it
-- is not known. `named` is the space that the text names. The file here is that of the space with `is_here`; of the one with
-- `is_leaving` the note is to be deleted, because it moved.
CREATE TABLE agreed (
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

CREATE INDEX agreed_by_space ON agreed(account, space);
CREATE INDEX agreed_by_note ON agreed(note);
CREATE INDEX agreed_anew ON agreed(account) WHERE version = 0;

-- Notes that could not be exchanged, and why; without a reason, those that the next exchange has to look at. `hash` is that of
-- the file that the hub refused; `missed` is set if a version of the space could not be received when it came.
CREATE TABLE waiting (
    account INTEGER NOT NULL,
    note    TEXT NOT NULL,
    space   TEXT NOT NULL,
    reason  TEXT NOT NULL,
    hash    BLOB,
    missed  INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (account, note, space)
) WITHOUT ROWID;
