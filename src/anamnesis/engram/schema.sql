-- engram.db. Each statement runs if its object does not exist, in this order. Engram's objects are defined as Engram
-- defines them, so that its own program can use the file; our additions are named anamnesis_*.

CREATE TABLE sessions (
    id         TEXT PRIMARY KEY,
    project    TEXT NOT NULL,
    directory  TEXT NOT NULL,
    started_at TEXT NOT NULL DEFAULT (datetime('now')),
    ended_at   TEXT,
    summary    TEXT
);

CREATE TABLE observations (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    sync_id    TEXT,
    session_id TEXT    NOT NULL,
    type       TEXT    NOT NULL,
    title      TEXT    NOT NULL,
    content    TEXT    NOT NULL,
    tool_name  TEXT,
    project    TEXT,
    scope      TEXT    NOT NULL DEFAULT 'project',
    topic_key  TEXT,
    normalized_hash TEXT,
    revision_count  INTEGER NOT NULL DEFAULT 1,
    duplicate_count INTEGER NOT NULL DEFAULT 1,
    last_seen_at TEXT,
    created_at TEXT    NOT NULL DEFAULT (datetime('now')),
    updated_at TEXT    NOT NULL DEFAULT (datetime('now')),
    deleted_at TEXT,
    FOREIGN KEY (session_id) REFERENCES sessions(id)
);

CREATE TABLE user_prompts (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    sync_id    TEXT,
    session_id TEXT    NOT NULL,
    content    TEXT    NOT NULL,
    project    TEXT,
    created_at TEXT    NOT NULL DEFAULT (datetime('now')),
    FOREIGN KEY (session_id) REFERENCES sessions(id)
);

CREATE TABLE sync_chunks (
    chunk_id    TEXT PRIMARY KEY,
    imported_at TEXT NOT NULL DEFAULT (datetime('now'))
);

CREATE TABLE sync_state (
    target_key           TEXT PRIMARY KEY,
    lifecycle            TEXT NOT NULL DEFAULT 'idle',
    last_enqueued_seq    INTEGER NOT NULL DEFAULT 0,
    last_acked_seq       INTEGER NOT NULL DEFAULT 0,
    last_pulled_seq      INTEGER NOT NULL DEFAULT 0,
    consecutive_failures INTEGER NOT NULL DEFAULT 0,
    backoff_until        TEXT,
    lease_owner          TEXT,
    lease_until          TEXT,
    last_error           TEXT,
    updated_at           TEXT NOT NULL DEFAULT (datetime('now'))
);

CREATE TABLE sync_mutations (
    seq         INTEGER PRIMARY KEY AUTOINCREMENT,
    target_key  TEXT NOT NULL,
    entity      TEXT NOT NULL,
    entity_key  TEXT NOT NULL,
    op          TEXT NOT NULL,
    payload     TEXT NOT NULL,
    source      TEXT NOT NULL DEFAULT 'local',
    occurred_at TEXT NOT NULL DEFAULT (datetime('now')),
    acked_at    TEXT,
    project     TEXT NOT NULL DEFAULT '',
    FOREIGN KEY (target_key) REFERENCES sync_state(target_key)
);

CREATE TABLE sync_enrolled_projects (
    project     TEXT PRIMARY KEY,
    enrolled_at TEXT NOT NULL DEFAULT (datetime('now'))
);

-- Columns that tables of earlier Engram versions lack.
ALTER TABLE observations ADD COLUMN sync_id TEXT;
ALTER TABLE observations ADD COLUMN scope TEXT NOT NULL DEFAULT 'project';
ALTER TABLE observations ADD COLUMN topic_key TEXT;
ALTER TABLE observations ADD COLUMN normalized_hash TEXT;
ALTER TABLE observations ADD COLUMN revision_count INTEGER NOT NULL DEFAULT 1;
ALTER TABLE observations ADD COLUMN duplicate_count INTEGER NOT NULL DEFAULT 1;
ALTER TABLE observations ADD COLUMN last_seen_at TEXT;
ALTER TABLE observations ADD COLUMN updated_at TEXT NOT NULL DEFAULT '';
ALTER TABLE observations ADD COLUMN deleted_at TEXT;
ALTER TABLE user_prompts ADD COLUMN sync_id TEXT;
ALTER TABLE sync_mutations ADD COLUMN project TEXT NOT NULL DEFAULT '';

-- The sync_id of the observation that supersedes another, in Reverie's column. Engram ignores it.
ALTER TABLE observations ADD COLUMN superseded_by TEXT;

CREATE INDEX idx_obs_session ON observations(session_id);
CREATE INDEX idx_obs_type ON observations(type);
CREATE INDEX idx_obs_project ON observations(project);
CREATE INDEX idx_obs_created ON observations(created_at DESC);
CREATE INDEX idx_obs_scope ON observations(scope);
CREATE INDEX idx_obs_sync_id ON observations(sync_id);
CREATE INDEX idx_obs_topic ON observations(topic_key, project, scope, updated_at DESC);
CREATE INDEX idx_obs_deleted ON observations(deleted_at);
CREATE INDEX idx_obs_dedupe ON observations(normalized_hash, project, scope, type, title, created_at DESC);
CREATE INDEX idx_prompts_session ON user_prompts(session_id);
CREATE INDEX idx_prompts_project ON user_prompts(project);
CREATE INDEX idx_prompts_created ON user_prompts(created_at DESC);
CREATE INDEX idx_prompts_sync_id ON user_prompts(sync_id);
CREATE INDEX idx_sync_mutations_target_seq ON sync_mutations(target_key, seq);
CREATE INDEX idx_sync_mutations_pending ON sync_mutations(target_key, acked_at, seq);
CREATE INDEX idx_sync_mutations_project ON sync_mutations(project);

CREATE VIRTUAL TABLE observations_fts USING fts5(
    title, content, tool_name, type, project, topic_key,
    content='observations', content_rowid='id'
);

CREATE VIRTUAL TABLE prompts_fts USING fts5(
    content, project,
    content='user_prompts', content_rowid='id'
);

CREATE TRIGGER obs_fts_insert AFTER INSERT ON observations BEGIN
    INSERT INTO observations_fts(rowid, title, content, tool_name, type, project, topic_key)
    VALUES (new.id, new.title, new.content, new.tool_name, new.type, new.project, new.topic_key);
END;

CREATE TRIGGER obs_fts_delete AFTER DELETE ON observations BEGIN
    INSERT INTO observations_fts(observations_fts, rowid, title, content, tool_name, type, project, topic_key)
    VALUES ('delete', old.id, old.title, old.content, old.tool_name, old.type, old.project, old.topic_key);
END;

CREATE TRIGGER obs_fts_update AFTER UPDATE ON observations BEGIN
    INSERT INTO observations_fts(observations_fts, rowid, title, content, tool_name, type, project, topic_key)
    VALUES ('delete', old.id, old.title, old.content, old.tool_name, old.type, old.project, old.topic_key);
    INSERT INTO observations_fts(rowid, title, content, tool_name, type, project, topic_key)
    VALUES (new.id, new.title, new.content, new.tool_name, new.type, new.project, new.topic_key);
END;

CREATE TRIGGER prompt_fts_insert AFTER INSERT ON user_prompts BEGIN
    INSERT INTO prompts_fts(rowid, content, project)
    VALUES (new.id, new.content, new.project);
END;

CREATE TRIGGER prompt_fts_delete AFTER DELETE ON user_prompts BEGIN
    INSERT INTO prompts_fts(prompts_fts, rowid, content, project)
    VALUES ('delete', old.id, old.content, old.project);
END;

CREATE TRIGGER prompt_fts_update AFTER UPDATE ON user_prompts BEGIN
    INSERT INTO prompts_fts(prompts_fts, rowid, content, project)
    VALUES ('delete', old.id, old.content, old.project);
    INSERT INTO prompts_fts(rowid, content, project)
    VALUES (new.id, new.content, new.project);
END;

-- For lists of recent rows, read backwards. The id breaks ties; the scope can be filtered without reading the row.
CREATE INDEX anamnesis_obs_recent ON observations(created_at, id, scope) WHERE deleted_at IS NULL;
CREATE INDEX anamnesis_obs_project ON observations(project, created_at, id, scope) WHERE deleted_at IS NULL;
CREATE INDEX anamnesis_obs_session ON observations(session_id, created_at) WHERE deleted_at IS NULL;
CREATE INDEX anamnesis_prompts_recent ON user_prompts(created_at);
CREATE INDEX anamnesis_prompts_project ON user_prompts(project, created_at);
CREATE INDEX anamnesis_sessions_started ON sessions(started_at DESC, id);

-- The superseded observations, usually none: recall skips them.
CREATE INDEX anamnesis_obs_superseded ON observations(id) WHERE superseded_by IS NOT NULL;

-- The number of a session's live observations and the time of the newest: counting fifty thousand takes longer than the
-- rest of a context. Triggers maintain it for every writer. They have no conflict clause, because that of the firing
-- statement would override it.
CREATE TABLE anamnesis_sessions (
    session_id   TEXT PRIMARY KEY,
    observations INTEGER NOT NULL,
    newest       TEXT
) WITHOUT ROWID;

CREATE INDEX anamnesis_sessions_newest ON anamnesis_sessions(newest DESC);

CREATE TRIGGER anamnesis_sessions_insert AFTER INSERT ON observations WHEN new.deleted_at IS NULL BEGIN
    INSERT INTO anamnesis_sessions SELECT new.session_id, 0, NULL
    WHERE NOT EXISTS (SELECT 1 FROM anamnesis_sessions WHERE session_id = new.session_id);
    UPDATE anamnesis_sessions
    SET observations = observations + 1, newest = max(ifnull(newest, new.created_at), new.created_at)
    WHERE session_id = new.session_id;
END;

CREATE TRIGGER anamnesis_sessions_delete AFTER DELETE ON observations WHEN old.deleted_at IS NULL BEGIN
    UPDATE anamnesis_sessions
    SET observations = observations - 1, newest = (
        SELECT max(created_at) FROM observations WHERE session_id = old.session_id AND deleted_at IS NULL
    )
    WHERE session_id = old.session_id;
END;

CREATE TRIGGER anamnesis_sessions_update AFTER UPDATE OF session_id, created_at, deleted_at ON observations BEGIN
    INSERT INTO anamnesis_sessions SELECT new.session_id, 0, NULL
    WHERE NOT EXISTS (SELECT 1 FROM anamnesis_sessions WHERE session_id = new.session_id);
    UPDATE anamnesis_sessions SET observations = observations - (old.deleted_at IS NULL)
    WHERE session_id = old.session_id;
    UPDATE anamnesis_sessions SET observations = observations + (new.deleted_at IS NULL)
    WHERE session_id = new.session_id;
    UPDATE anamnesis_sessions SET newest = (
        SELECT max(created_at) FROM observations
        WHERE session_id = anamnesis_sessions.session_id AND deleted_at IS NULL
    )
    WHERE session_id IN (old.session_id, new.session_id);
END;

-- The origin of observations that an import added or changed, and their time then: an observation with another time was
-- changed here since.
CREATE TABLE anamnesis_imported (
    observation_id INTEGER PRIMARY KEY,
    origin         TEXT NOT NULL,
    updated_at     TEXT NOT NULL
);

CREATE TRIGGER anamnesis_imported_delete AFTER DELETE ON observations BEGIN
    DELETE FROM anamnesis_imported WHERE observation_id = old.id;
END;

-- The rows that a backfill has to complete, usually none: checking for them at every open is free.
CREATE INDEX anamnesis_obs_unfinished ON observations(id)
WHERE scope IS NULL OR scope = '' OR topic_key = '' OR revision_count IS NULL OR revision_count < 1
    OR duplicate_count IS NULL OR duplicate_count < 1 OR updated_at IS NULL OR updated_at = ''
    OR sync_id IS NULL OR sync_id = '';
