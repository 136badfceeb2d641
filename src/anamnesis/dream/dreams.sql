-- dreams.db: the proposals of dreams and the decisions about them. Not derived: rejections are permanent.

-- `status` is waiting (for a later cycle), review (for a person) or rejected. `phase` is the one that found it. `notes`
-- is a JSON list of ids in the order of the reason, `after` a JSON list of the new texts of notes, and `seen` maps the ids
-- of both to the hashes of their files. `until` is the day until which a person has postponed the proposal. A rejection
-- without a kind holds for proposals of every kind.
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

-- The hash of each note's text when it was last examined (`said`), the notes it superseded (a JSON list), and whether a
-- person has edited its file by hand since.
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
