-- gate.db: what the gate decided about agents' notes on this machine. Neither derived nor synced.

-- `at` is in seconds. `note_id` is the note that was written or changed, or that has the text already. `draft` is the file
-- of the refused or changed note, "" if it was written as it is; `accepted` is the note that a person made of the draft.
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
