-- Which files of the portable tree changed since a sync last read this table. In index.db from the first sync on.
-- An empty line ends a statement. AUTOINCREMENT gives a file that changes again a number that no sync has seen.

CREATE TABLE unsynced (number INTEGER PRIMARY KEY AUTOINCREMENT, path TEXT NOT NULL UNIQUE);

CREATE TRIGGER unsynced_file_added AFTER INSERT ON files BEGIN
    INSERT OR REPLACE INTO unsynced (path)
    SELECT path || '/' || new.name FROM folders WHERE number = new.folder AND substr(path, 1, 6) = 'memory';
END;

CREATE TRIGGER unsynced_file_changed AFTER UPDATE OF hash ON files BEGIN
    INSERT OR REPLACE INTO unsynced (path)
    SELECT path || '/' || new.name FROM folders WHERE number = new.folder AND substr(path, 1, 6) = 'memory';
END;

CREATE TRIGGER unsynced_file_removed AFTER DELETE ON files BEGIN
    INSERT OR REPLACE INTO unsynced (path)
    SELECT path || '/' || old.name FROM folders WHERE number = old.folder AND substr(path, 1, 6) = 'memory';
END;
