-- gate.db: what the gate decided about agents' notes on this machine. Neither derived nor synced.

-- `at` is in seconds. `note_id` is the note that was written, changed or has the text already. `draft` is the file that
-- the note would have had, "" if it was written as it was; `accepted` is the note that a person made of it.
CREATE TABLE decisions (
    id       INTEGER PRIMARY KEY AUTOINCREMENT,
    at       INTEGER NOT NULL,
    session  TEXT NOT NULL,
    project  TEXT NOT NULL,
    decision TEXT NOT NULL,
    rule     TEXT NOT NULL,
    reason   TEXT NOT NULL,
    note_id  TEXT NOT NULL DEFAULT '',
    draft    TEXT NOT NULL DEFAULT '',
    accepted TEXT NOT NULL DEFAULT ''
);

CREATE INDEX decisions_by_note ON decisions(note_id) WHERE note_id <> '';
CREATE INDEX decisions_by_rule ON decisions(project, rule, decision);
CREATE INDEX decisions_by_time ON decisions(at);
