-- A note hides those that it supersedes only from those who have accepted it. Whose own it is, it hides them for at once.

-- `digest` is of the text of the note that supersedes, as in `acceptances`.
ALTER TABLE anamnesis.supersessions ADD COLUMN digest text COLLATE "C" NOT NULL DEFAULT '';

-- Whether what a note supersedes is hidden from the caller: the note is the caller's own, or its present text is accepted. Imported and
-- held notes, and those that another member wrote, alone or among others, are not the caller's own.
CREATE FUNCTION anamnesis.hides(p anamnesis.supersessions) RETURNS boolean LANGUAGE sql STABLE AS $$
    SELECT EXISTS (
        SELECT FROM anamnesis.acceptances a
        WHERE a.member = anamnesis.caller() AND a.note = p.id AND a.digest = p.digest AND a.place < 2
    ) OR NOT EXISTS (
        SELECT FROM anamnesis.notes n WHERE n.space = p.space AND n.id = p.id AND (n.source = 'import' OR n.held)
    ) AND (
        EXISTS (SELECT FROM anamnesis.spaces s WHERE s.id = p.space AND s.personal_of = anamnesis.caller())
        OR NOT EXISTS (
            SELECT FROM anamnesis.versions v WHERE v.space = p.space AND v.id = p.id
                AND v.author NOT IN ('', (SELECT u.name FROM anamnesis.users u WHERE u.id = anamnesis.caller()))
        )
    )
$$;

-- The limit keeps the planner from reading the whole table for a few notes.
CREATE OR REPLACE FUNCTION anamnesis.is_superseded(of_space bigint, note text) RETURNS boolean LANGUAGE sql STABLE AS $$
    SELECT (
        SELECT true FROM anamnesis.supersessions p
        WHERE p.space = of_space AND p.superseded = note AND anamnesis.hides(p) LIMIT 1
    ) IS NOT NULL
$$;

-- The search by words asks the same.
DO $$
DECLARE
    before text := pg_get_functiondef('anamnesis.search_words'::regproc);
    after text := replace(
        before, '(SELECT true FROM supersessions p WHERE p.space = r.space AND p.superseded = r.id LIMIT 1) IS NULL',
        'NOT anamnesis.is_superseded(r.space, r.id)'
    );
BEGIN
    ASSERT after <> before, 'The search by words is another one.';
    EXECUTE after;
END $$;

REVOKE ALL ON FUNCTION anamnesis.hides, anamnesis.is_superseded FROM PUBLIC;
GRANT EXECUTE ON FUNCTION anamnesis.hides, anamnesis.is_superseded TO anamnesis_hub;
