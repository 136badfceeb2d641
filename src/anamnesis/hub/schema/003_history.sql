-- The history of a hub, which clients compare, and indexes for the review and for reflection.

-- PostgreSQL counts a new timeline when a server is recovered to an earlier moment or a replica is promoted: versions that clients
-- have may be gone then. NULL where the service does not say (a PostgreSQL without WAL files). While a server recovers, its next
-- timeline is not known yet, so nobody can be let in.
CREATE FUNCTION anamnesis.timeline() RETURNS text
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, anamnesis, pg_temp AS $$
BEGIN
    IF pg_is_in_recovery() THEN
        RAISE cannot_connect_now USING MESSAGE = 'the database is recovering';
    END IF;
    BEGIN
        RETURN ltrim(left(pg_walfile_name(pg_current_wal_lsn()), 8), '0');
    EXCEPTION WHEN OTHERS THEN
        RETURN NULL;
    END;
END $$;

-- What names the history of this database: the hub's id, and beyond the first timeline its number.
CREATE FUNCTION anamnesis.history() RETURNS text
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, anamnesis, pg_temp AS
$$ SELECT id || coalesce('.' || nullif(anamnesis.timeline(), '1'), '') FROM hub $$;

-- As in step 1, with the history instead of the hub's id.
CREATE OR REPLACE FUNCTION anamnesis.enter_user(user_name text, scopes text[]) RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, anamnesis, pg_temp AS $$
DECLARE
    entered bigint;
    held jsonb;
BEGIN
    SELECT u.id INTO entered FROM users u WHERE u.name = user_name AND u.left_at IS NULL;
    IF entered IS NULL THEN
        RETURN NULL;
    END IF;
    SELECT coalesce(jsonb_agg(to_jsonb(visible) ORDER BY visible.name), '[]') INTO held FROM (
        SELECT s.id, s.name, s.seq, mine.role, ARRAY(SELECT project FROM projects WHERE space = s.id ORDER BY 1) AS projects
        FROM (
            SELECT p.id AS space, 'owner'::anamnesis.role AS role FROM spaces p WHERE p.personal_of = entered
            UNION ALL SELECT m.space, m.role FROM members m WHERE m.member = entered
        ) AS mine JOIN spaces s ON s.id = mine.space
        WHERE 'read' = ANY (scopes)
    ) AS visible;
    PERFORM set_config('anamnesis.user', entered::text, true), set_config('anamnesis.' || level.name, (
        SELECT coalesce(string_agg(each->>'id', ','), '') FROM jsonb_array_elements(held) AS each
        WHERE (each->>'role')::anamnesis.role >= level.least AND level.scope = ANY (scopes)
    ), true)
    FROM (VALUES
        ('spaces', 'reader'::anamnesis.role, 'read'), ('writes', 'writer', 'write'), ('keeps', 'keeper', 'admin'),
        ('owns', 'owner', 'admin')
    ) AS level (name, least, scope);
    RETURN jsonb_build_object('hub', history(), 'id', entered, 'user', user_name, 'scopes', to_jsonb(scopes), 'spaces', held);
END $$;

-- Notes that a person has to review: imported ones, and those that the gate sent there.
CREATE INDEX notes_waiting ON anamnesis.notes (space, updated_at DESC, id DESC)
    WHERE (source = 'import' OR 'to-review' = ANY (tags)) AND NOT 'reviewed' = ANY (tags) AND NOT deleted AND NOT hidden;
-- Episodes that were not folded into durable notes.
CREATE INDEX notes_unreflected ON anamnesis.notes (space, updated_at DESC, id DESC)
    WHERE type = 'episodic' AND NOT 'reflected' = ANY (tags) AND NOT deleted AND NOT hidden;

REVOKE ALL ON FUNCTION anamnesis.timeline, anamnesis.history FROM PUBLIC;
