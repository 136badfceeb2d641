-- The bridge's tables in engram.db, beside Engram's own. Triggers fill the journals on every write. They have no
-- conflict clause, because that of the statement which fires them would override it.

-- The observations that changed since both sides last agreed, in the order of the changes.
CREATE TABLE anamnesis_changes (
    seq            INTEGER PRIMARY KEY AUTOINCREMENT,
    observation_id INTEGER NOT NULL
);

CREATE INDEX anamnesis_changes_of ON anamnesis_changes(observation_id);

-- Every version of an observation that an update replaced. Those of a removed observation are kept while its removal
-- is pending: a note that was written without saving its twin is found by them.
CREATE TABLE anamnesis_revisions (
    number          INTEGER PRIMARY KEY AUTOINCREMENT,
    observation_id  INTEGER NOT NULL,
    replaced_at     TEXT NOT NULL,
    sync_id         TEXT,
    session_id      TEXT,
    type            TEXT,
    title           TEXT,
    content         TEXT,
    tool_name       TEXT,
    project         TEXT,
    scope           TEXT,
    topic_key       TEXT,
    revision_count  INTEGER,
    duplicate_count INTEGER,
    last_seen_at    TEXT,
    created_at      TEXT,
    updated_at      TEXT,
    deleted_at      TEXT
);

CREATE INDEX anamnesis_revisions_of ON anamnesis_revisions(observation_id);

-- Pairs of an observation and a note, as they were when they last agreed: hashes, the front matter of the note, and
-- the last revision at that time. Without a note_hash, the note had no file.
CREATE TABLE anamnesis_twins (
    observation_id INTEGER PRIMARY KEY,
    note_id        TEXT NOT NULL UNIQUE,
    row_hash       BLOB NOT NULL,
    note_hash      BLOB,
    front          TEXT NOT NULL,
    revision       INTEGER NOT NULL
);

-- The last change when a bridge between these observations and a home was last opened or closed; the home records the
-- same.
CREATE TABLE anamnesis_met (
    seen INTEGER NOT NULL
);

-- The identity of the pairing with a home, under which the bridge follows the change log of the notes.
CREATE TABLE anamnesis_bridge (
    identity TEXT NOT NULL
);

CREATE TRIGGER anamnesis_changes_insert AFTER INSERT ON observations BEGIN
    INSERT INTO anamnesis_changes (observation_id) VALUES (new.id);
END;

CREATE TRIGGER anamnesis_changes_update AFTER UPDATE OF sync_id, session_id, type, title, content, tool_name, project,
    scope, topic_key, revision_count, duplicate_count, last_seen_at, created_at, updated_at, deleted_at
ON observations BEGIN
    INSERT INTO anamnesis_changes (observation_id) VALUES (new.id);
END;

CREATE TRIGGER anamnesis_changes_delete AFTER DELETE ON observations BEGIN
    INSERT INTO anamnesis_changes (observation_id) VALUES (old.id);
END;

CREATE TRIGGER anamnesis_revisions_update AFTER UPDATE OF session_id, type, title, content, tool_name, project, scope,
    topic_key, deleted_at ON observations
WHEN old.session_id IS NOT new.session_id OR old.type IS NOT new.type OR old.title IS NOT new.title
    OR old.content IS NOT new.content OR old.tool_name IS NOT new.tool_name OR old.project IS NOT new.project
    OR old.scope IS NOT new.scope OR old.topic_key IS NOT new.topic_key OR old.deleted_at IS NOT new.deleted_at
BEGIN
    INSERT INTO anamnesis_revisions (observation_id, replaced_at, sync_id, session_id, type, title, content, tool_name,
        project, scope, topic_key, revision_count, duplicate_count, last_seen_at, created_at, updated_at, deleted_at)
    VALUES (old.id, strftime('%Y-%m-%d %H:%M:%S', 'now'), old.sync_id, old.session_id, old.type, old.title,
        old.content, old.tool_name, old.project, old.scope, old.topic_key, old.revision_count, old.duplicate_count,
        old.last_seen_at, old.created_at, old.updated_at, old.deleted_at);
END;

CREATE TRIGGER anamnesis_revisions_delete AFTER DELETE ON observations BEGIN
    INSERT INTO anamnesis_revisions (observation_id, replaced_at, sync_id, session_id, type, title, content, tool_name,
        project, scope, topic_key, revision_count, duplicate_count, last_seen_at, created_at, updated_at, deleted_at)
    VALUES (old.id, strftime('%Y-%m-%d %H:%M:%S', 'now'), old.sync_id, old.session_id, old.type, old.title,
        old.content, old.tool_name, old.project, old.scope, old.topic_key, old.revision_count, old.duplicate_count,
        old.last_seen_at, old.created_at, old.updated_at, old.deleted_at);
END;
