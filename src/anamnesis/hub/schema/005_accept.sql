-- What each user has accepted of texts that others wrote: the user's machines exchange it, and nobody else sees it. And which notes wait
-- for a review because of a mark in their text, not of tags, which any tool can write.

-- `digest` is of a note's title and body: another text waits again. Of several decisions about a text the one with the highest `number`
-- counts, and of those the one with the highest `place`: own, accepted, withdrawn. The sum of `mark` says whether two sides are equal.
CREATE TABLE anamnesis.acceptances (
    member bigint NOT NULL REFERENCES anamnesis.users ON DELETE CASCADE,
    note   text COLLATE "C" NOT NULL,
    digest text COLLATE "C" NOT NULL,
    number integer NOT NULL,
    place  smallint NOT NULL,
    mark   bigint NOT NULL,
    PRIMARY KEY (member, note, digest)
);

ALTER TABLE anamnesis.acceptances ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY owner ON anamnesis.acceptances TO CURRENT_USER USING (true) WITH CHECK (true);
CREATE POLICY own ON anamnesis.acceptances TO anamnesis_hub
    USING (member = (SELECT anamnesis.caller())) WITH CHECK (member = (SELECT anamnesis.caller()));
GRANT SELECT, INSERT, UPDATE (number, place, mark) ON anamnesis.acceptances TO anamnesis_hub;

ALTER TABLE anamnesis.notes ADD COLUMN held boolean NOT NULL DEFAULT false;
DROP INDEX anamnesis.notes_waiting;
CREATE INDEX notes_waiting ON anamnesis.notes (space, updated_at DESC, id DESC)
    WHERE (source = 'import' OR held) AND NOT deleted AND NOT hidden;

-- As in step 1, with what members of the space accepted of the note.
CREATE OR REPLACE FUNCTION anamnesis.erase_note(of_space bigint, note text) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, anamnesis, pg_temp AS $$
DECLARE
    tombstone bigint;
BEGIN
    IF NOT of_space = ANY (anamnesis.held('owns')) THEN
        RAISE insufficient_privilege USING MESSAGE = 'Only an owner of the space can erase its notes.';
    END IF;
    PERFORM FROM spaces WHERE id = of_space FOR UPDATE;
    IF NOT EXISTS (SELECT FROM notes WHERE space = of_space AND id = note) THEN
        RETURN NULL;
    END IF;
    UPDATE spaces SET seq = seq + 1 WHERE id = of_space RETURNING seq INTO tombstone;
    DELETE FROM versions WHERE space = of_space AND id = note;
    DELETE FROM supersessions WHERE space = of_space AND id = note;
    DELETE FROM notes WHERE space = of_space AND id = note;
    DELETE FROM acceptances a WHERE a.note = erase_note.note AND (
        a.member IN (SELECT m.member FROM members m WHERE m.space = of_space)
        OR a.member = (SELECT s.personal_of FROM spaces s WHERE s.id = of_space)
    );
    INSERT INTO notes (space, id, version, deleted) VALUES (of_space, note, tombstone, true);
    INSERT INTO versions (space, id, version, erased) VALUES (of_space, note, tombstone, true);
    RETURN tombstone;
END $$;
