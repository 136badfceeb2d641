-- usage.db: what notes were used for on this machine. Not derived: a rebuild of the index leaves it alone.

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

-- The latest events. What a session does with a note counts once a day; `at` is the last time.
CREATE TABLE events (
    note_id TEXT NOT NULL,
    session TEXT NOT NULL,
    kind    TEXT NOT NULL,
    day     INTEGER NOT NULL,
    at      INTEGER NOT NULL,
    PRIMARY KEY (note_id, session, kind, day)
) WITHOUT ROWID;

CREATE INDEX events_by_time ON events(at);

-- Up to which byte the files of lines are counted: one that is read again after a kill is not counted twice.
CREATE TABLE taken (
    name     TEXT PRIMARY KEY,
    position INTEGER NOT NULL
) WITHOUT ROWID;
