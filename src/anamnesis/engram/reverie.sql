-- Reverie's columns, which a database has only if Reverie created it, or if the setting engram_strength is on. Engram
-- ignores them.
ALTER TABLE observations ADD COLUMN strength REAL NOT NULL DEFAULT 1.0;
ALTER TABLE observations ADD COLUMN depth_score INTEGER NOT NULL DEFAULT 1;
ALTER TABLE observations ADD COLUMN session_spread INTEGER NOT NULL DEFAULT 1;
ALTER TABLE observations ADD COLUMN stability REAL NOT NULL DEFAULT 1.0;
ALTER TABLE observations ADD COLUMN signal_score REAL NOT NULL DEFAULT 0.0;
ALTER TABLE observations ADD COLUMN staleness_score REAL NOT NULL DEFAULT 0.0;
ALTER TABLE observations ADD COLUMN consolidation_status TEXT NOT NULL DEFAULT 'Staged';
ALTER TABLE observations ADD COLUMN schema_id TEXT NOT NULL DEFAULT 'reverie.chunk.v1';
ALTER TABLE observations ADD COLUMN version INTEGER NOT NULL DEFAULT 1;
ALTER TABLE observations ADD COLUMN related_to TEXT NOT NULL DEFAULT '[]';
ALTER TABLE observations ADD COLUMN supersedes TEXT;
