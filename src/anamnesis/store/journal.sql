-- Which notes changed since somebody last said that he has dealt with them. In index.db once it is asked for.
-- An empty line ends a statement.

CREATE TABLE journal (consumer TEXT NOT NULL);

CREATE TABLE changed_notes (memory_id TEXT PRIMARY KEY) WITHOUT ROWID;

CREATE TRIGGER note_file_entered AFTER INSERT ON files WHEN new.memory_id IS NOT NULL BEGIN
    INSERT OR IGNORE INTO changed_notes VALUES (new.memory_id);
END;

CREATE TRIGGER note_file_changed AFTER UPDATE OF hash, memory_id ON files BEGIN
    INSERT OR IGNORE INTO changed_notes
    SELECT memory_id FROM (SELECT old.memory_id UNION SELECT new.memory_id) WHERE memory_id IS NOT NULL;
END;

CREATE TRIGGER note_file_forgotten AFTER DELETE ON files WHEN old.memory_id IS NOT NULL BEGIN
    INSERT OR IGNORE INTO changed_notes VALUES (old.memory_id);
END;
