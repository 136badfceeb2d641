-- The projects that belong to the spaces in shared.db, as of the last exchange; also in a file that an earlier release made.
CREATE TABLE IF NOT EXISTS projects (
    space   TEXT NOT NULL,
    project TEXT NOT NULL,
    PRIMARY KEY (space, project)
) WITHOUT ROWID
