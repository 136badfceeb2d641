-- index.db: derived from the note files, rebuilt whenever it is missing, damaged or of another version.

-- `number` joins a note with its row in memories_fts; an implicit rowid would not survive a VACUUM.
-- A note with `deleted_at` is hidden: it has a row here, but no tags, supersessions, marks and words.
-- `rest` is JSON with the fields that have no column: Engram's, foreign front matter and line ends.
CREATE TABLE memories (
    number       INTEGER PRIMARY KEY,
    id           TEXT NOT NULL UNIQUE,
    type         TEXT NOT NULL CHECK (type IN ('procedural','semantic','episodic')),
    title        TEXT NOT NULL,
    body_path    TEXT NOT NULL,
    project      TEXT NOT NULL DEFAULT 'global',
    machine_id   TEXT NOT NULL,
    scope        TEXT NOT NULL DEFAULT 'portable' CHECK (scope IN ('portable','machine-local')),
    created_at   TEXT NOT NULL,
    updated_at   TEXT NOT NULL,
    prov_source  TEXT NOT NULL DEFAULT 'human'
                 CHECK (prov_source IN ('human','session-end','reflection','import')),
    prov_model   TEXT,
    prov_session TEXT,
    confidence   REAL NOT NULL DEFAULT 1.0,
    supersedes   TEXT,
    deleted_at   TEXT,
    rest         TEXT
);

CREATE TABLE memory_tags (
    memory_id TEXT NOT NULL REFERENCES memories(id) ON DELETE CASCADE,
    tag       TEXT NOT NULL,
    PRIMARY KEY (memory_id, tag)
);

-- One row for each id that a note supersedes; memories.supersedes holds the same ids, separated by blanks. The columns are
-- in the order of the key: in another order, `quick_check` of some versions of SQLite reports damage where there is none.
CREATE TABLE supersessions (
    superseded_id TEXT NOT NULL,
    memory_id     TEXT NOT NULL,
    PRIMARY KEY (superseded_id, memory_id)
) WITHOUT ROWID;

-- The marks that dreams and reflection gave to notes (`notes/marks.py`): one row for each id that a mark names, or one with
-- its text. The named notes may be missing.
CREATE TABLE marks (
    memory_id TEXT NOT NULL,
    name      TEXT NOT NULL,
    value     TEXT NOT NULL,
    PRIMARY KEY (memory_id, name, value)
) WITHOUT ROWID;

CREATE VIRTUAL TABLE memories_fts USING fts5(
    id UNINDEXED, title, body, tags, tokenize='porter unicode61'
);

-- The parts of identifiers that are one word in memories_fts, such as getUserById. In a separate table, so that the scores
-- of whole words do not depend on them.
CREATE VIRTUAL TABLE memory_parts USING fts5(parts, tokenize='porter unicode61', columnsize=0);

-- Merging eight segments at a time instead of four makes a write of one note a quarter faster, and searches no slower.
INSERT INTO memories_fts (memories_fts, rank) VALUES ('automerge', 8);
INSERT INTO memory_parts (memory_parts, rank) VALUES ('automerge', 8);

-- The state of the disk when it was last indexed. Paths are relative to the store's root.
CREATE TABLE folders (
    number   INTEGER PRIMARY KEY,
    path     TEXT NOT NULL UNIQUE,
    mtime_ns INTEGER NOT NULL
);

-- Every *.md file, also those that are not notes (`problem` says why) and duplicates of an id.
-- An empty hash marks a file to read again: its note has lost its standing file.
CREATE TABLE files (
    folder    INTEGER NOT NULL,
    name      TEXT NOT NULL,
    size      INTEGER NOT NULL,
    mtime_ns  INTEGER NOT NULL,
    hash      BLOB NOT NULL,
    memory_id TEXT,
    problem   TEXT,
    line      INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (folder, name)
) WITHOUT ROWID;

-- The standing file of each note.
CREATE VIEW standing_files AS
SELECT m.number, m.id AS memory_id, folders.path || '/' || files.name AS path, files.size, files.mtime_ns, files.hash
FROM memories AS m
JOIN files ON files.memory_id = m.id
JOIN folders ON folders.number = files.folder
WHERE folders.path || '/' || files.name = CASE m.scope WHEN 'portable' THEN 'memory/' ELSE 'local/' END || m.body_path;

-- The change log: the last change of each note, in the order of the changes, and how far each follower has read it.
-- `identity` names what a follower derives from the notes; with a new identity it starts again. `start` is random, and new
-- at each start.
CREATE TABLE changes (
    seq       INTEGER PRIMARY KEY AUTOINCREMENT,
    memory_id TEXT NOT NULL UNIQUE
);

CREATE TABLE followers (
    name     TEXT PRIMARY KEY,
    identity TEXT NOT NULL,
    start    BLOB NOT NULL,
    cursor   INTEGER NOT NULL
) WITHOUT ROWID;

-- Indexes: a rebuild makes them when the tables are filled, which is faster.
-- `deleted_at` is in those that counts use, so that SQLite need not read it from the table. Times ascend: a new note is
-- then the last entry, which SQLite adds without splitting pages, and reads in either order cost the same.
CREATE INDEX idx_mem_scope ON memories(project, type, scope, machine_id, prov_source, deleted_at) WHERE deleted_at IS NULL;
CREATE INDEX idx_mem_recency ON memories(updated_at, id) WHERE deleted_at IS NULL;
CREATE INDEX idx_mem_created ON memories(created_at, id, deleted_at) WHERE deleted_at IS NULL;
CREATE INDEX idx_mem_prov ON memories(prov_source, deleted_at) WHERE deleted_at IS NULL;
CREATE INDEX idx_mem_project_recency ON memories(project, updated_at, id) WHERE deleted_at IS NULL;
CREATE INDEX idx_tags_tag ON memory_tags(tag, memory_id);
CREATE INDEX idx_supersessions_memory ON supersessions(memory_id);
CREATE INDEX idx_marks_value ON marks(value, name);
CREATE INDEX idx_files_memory ON files(memory_id);
CREATE INDEX idx_files_problem ON files(problem) WHERE problem IS NOT NULL;
CREATE INDEX idx_files_unread ON files(folder) WHERE hash = x'';

-- The newest notes come first for a follower that starts from all notes.
INSERT INTO changes (memory_id) SELECT id FROM memories ORDER BY id DESC;

CREATE TRIGGER file_added AFTER INSERT ON files WHEN new.memory_id IS NOT NULL BEGIN
    INSERT OR REPLACE INTO changes (memory_id) VALUES (new.memory_id);
END;

CREATE TRIGGER file_changed AFTER UPDATE OF hash, memory_id ON files BEGIN
    INSERT OR REPLACE INTO changes (memory_id)
    SELECT memory_id FROM (SELECT old.memory_id UNION SELECT new.memory_id) WHERE memory_id IS NOT NULL;
END;

CREATE TRIGGER file_removed AFTER DELETE ON files WHEN old.memory_id IS NOT NULL BEGIN
    INSERT OR REPLACE INTO changes (memory_id) VALUES (old.memory_id);
END;
