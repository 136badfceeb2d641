-- kept.db: replaced versions of notes that this machine has seen. Not derived: a rebuild of the index leaves it alone.

-- Replaced versions of notes as file texts without secrets, `at` the time of the file in nanoseconds.
CREATE TABLE versions (
    number  INTEGER PRIMARY KEY,
    note_id TEXT NOT NULL,
    at      INTEGER NOT NULL,
    text    TEXT NOT NULL
);

CREATE INDEX versions_of_note ON versions(note_id, at);

-- The notes of files without front matter. A renamed file is recognised by its content.
CREATE TABLE bare_files (
    path    TEXT PRIMARY KEY,
    hash    BLOB NOT NULL,
    note_id TEXT NOT NULL
);

CREATE INDEX bare_files_by_hash ON bare_files(hash);
