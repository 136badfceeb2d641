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
