-- kept.db: what this machine saw of notes and no file has any more. Not derived: a rebuild of the index leaves it alone.

-- Replaced versions of notes as file texts without secrets, `at` the time of the file in nanoseconds.
CREATE TABLE versions (
    number  INTEGER PRIMARY KEY,
    note_id TEXT NOT NULL,
    at      INTEGER NOT NULL,
    text    TEXT NOT NULL
);

CREATE INDEX versions_of_note ON versions(note_id, at);
