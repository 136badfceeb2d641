-- dreams.db: what dreams have found and what became of it. Not derived: a rejection is remembered.

-- `status` is waiting (for a later cycle), review (for a person) or rejected. `phase` is the one that found it. `notes`
-- is a JSON list of ids in the order of the reason, `after` one of the texts of the notes as they are to be, and `seen`
-- maps the ids of both to the hashes of their files. `until` is the day before which a person does not want to be asked.
-- Of what was rejected without a kind, nothing is proposed again.
CREATE TABLE proposals (
    key        TEXT PRIMARY KEY,
    kind       TEXT NOT NULL,
    phase      TEXT NOT NULL DEFAULT '',
    status     TEXT NOT NULL,
    reason     TEXT NOT NULL,
    confidence REAL NOT NULL,
    evidence   TEXT NOT NULL,
    notes      TEXT NOT NULL,
    after      TEXT NOT NULL,
    seen       TEXT NOT NULL,
    found_at   TEXT NOT NULL,
    until      TEXT NOT NULL DEFAULT ''
) WITHOUT ROWID;

CREATE TABLE proposal_notes (
    note_id TEXT NOT NULL,
    key     TEXT NOT NULL REFERENCES proposals(key) ON DELETE CASCADE,
    PRIMARY KEY (note_id, key)
) WITHOUT ROWID;

-- What each note said when it was last looked at, which notes it superseded (a JSON list), and whether somebody has
-- edited its file by hand since.
CREATE TABLE seen (
    note_id    TEXT PRIMARY KEY,
    updated_at TEXT NOT NULL,
    said       BLOB NOT NULL,
    supersedes TEXT NOT NULL DEFAULT '[]',
    by_hand    INTEGER NOT NULL DEFAULT 0
) WITHOUT ROWID;

CREATE TABLE state (
    name  TEXT PRIMARY KEY,
    value TEXT NOT NULL
) WITHOUT ROWID;
