-- shared.db: the notes here that are of shared spaces of a hub, and the members besides the user who have written them. Not derived,
-- and kept by the exchange with the hub.

-- `author` is the last other member who has written the note, empty if none has, and a question mark if that is not known. Earlier
-- releases set `is_accepted` when the user had accepted what that member wrote.
CREATE TABLE IF NOT EXISTS shared (
    note        TEXT NOT NULL PRIMARY KEY,
    space       TEXT NOT NULL,
    author      TEXT NOT NULL,
    is_accepted INTEGER NOT NULL DEFAULT 0
) WITHOUT ROWID;

-- Who wrote a text of a note, as the hub says: the digest is of its title and body, as in accepted.txt.
CREATE TABLE IF NOT EXISTS writers (
    note   TEXT NOT NULL,
    digest TEXT NOT NULL,
    author TEXT NOT NULL,
    PRIMARY KEY (note, digest)
) WITHOUT ROWID;

-- The shared spaces that the user may only read, or was removed from.
CREATE TABLE IF NOT EXISTS closed (
    space TEXT NOT NULL PRIMARY KEY
) WITHOUT ROWID;

-- The projects that belong to the spaces, as of the last exchange.
CREATE TABLE IF NOT EXISTS projects (
    space   TEXT NOT NULL,
    project TEXT NOT NULL,
    PRIMARY KEY (space, project)
) WITHOUT ROWID;
