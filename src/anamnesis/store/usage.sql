-- usage.db: the use of notes on this machine. Not derived: a rebuild of the index leaves it alone.

-- The totals of each note; `last` is the time of its last use in seconds, 0 if it was only injected.
CREATE TABLE notes (
    note_id    TEXT PRIMARY KEY,
    injected   INTEGER NOT NULL DEFAULT 0,
    recalled   INTEGER NOT NULL DEFAULT 0,
    found      INTEGER NOT NULL DEFAULT 0,
    opened     INTEGER NOT NULL DEFAULT 0,
    cited      INTEGER NOT NULL DEFAULT 0,
    edited     INTEGER NOT NULL DEFAULT 0,
    superseded INTEGER NOT NULL DEFAULT 0,
    uses       INTEGER NOT NULL DEFAULT 0,
    sessions   INTEGER NOT NULL DEFAULT 0,
    stability  REAL NOT NULL DEFAULT 1.0,
    last       REAL NOT NULL DEFAULT 0
) WITHOUT ROWID;

CREATE INDEX notes_by_last ON notes(last);

-- The latest events. Each kind of use by a session counts once a day; `at` is its last time.
CREATE TABLE events (
    note_id TEXT NOT NULL,
    session TEXT NOT NULL,
    kind    TEXT NOT NULL,
    day     INTEGER NOT NULL,
    at      INTEGER NOT NULL,
    PRIMARY KEY (note_id, session, kind, day)
) WITHOUT ROWID;

CREATE INDEX events_by_time ON events(at);

-- The position up to which each file of lines is counted, so that a file read again after a kill is not counted twice.
CREATE TABLE taken (
    name     TEXT PRIMARY KEY,
    position INTEGER NOT NULL
) WITHOUT ROWID;
