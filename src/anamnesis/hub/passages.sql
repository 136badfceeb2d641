-- What a search by meaning needs. It is made where pgvector is installed, now or later. The tables are derived: they are made anew, and
-- every note embedded again, if this part changes or the model. {vector} is the schema of pgvector, {width} the number of a vector's values.

DROP TABLE IF EXISTS anamnesis.passages, anamnesis.embedded CASCADE;

-- The passages of notes as vectors. A note that is erased takes its own with it.
CREATE TABLE anamnesis.passages (
    space  bigint NOT NULL,
    id     text COLLATE "C" NOT NULL,
    number integer NOT NULL,
    vector {vector}.halfvec({width}) NOT NULL,
    PRIMARY KEY (space, id, number),
    FOREIGN KEY (space, id) REFERENCES anamnesis.notes ON DELETE CASCADE
);
ALTER TABLE anamnesis.passages ALTER COLUMN vector SET STORAGE PLAIN;
CREATE INDEX passages_near ON anamnesis.passages USING hnsw (vector {vector}.halfvec_cosine_ops);

-- Up to which version the notes of a space are embedded, by which model, and until when a server is at it.
CREATE TABLE anamnesis.embedded (
    space    bigint PRIMARY KEY REFERENCES anamnesis.spaces ON DELETE CASCADE,
    seq      bigint NOT NULL DEFAULT 0,
    passages bigint NOT NULL DEFAULT 0,
    leased   timestamptz NOT NULL DEFAULT '-infinity'
);
ALTER TABLE anamnesis.passages ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
ALTER TABLE anamnesis.embedded ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY owner ON anamnesis.passages TO CURRENT_USER USING (true) WITH CHECK (true);
CREATE POLICY owner ON anamnesis.embedded TO CURRENT_USER USING (true) WITH CHECK (true);

COMMENT ON TABLE anamnesis.passages IS '{made_by}';
-- Functions: what follows is made anew by every migration.
DROP FUNCTION IF EXISTS anamnesis.near, anamnesis.compare;

-- The next notes of a space to embed, whose turn it is; nobody else gets them for two minutes. Deleted and hidden ones have no text.
CREATE OR REPLACE FUNCTION anamnesis.embed_next(most integer) RETURNS TABLE (space bigint, id text, version bigint, text text)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, anamnesis, pg_temp AS $$
#variable_conflict use_column
DECLARE
    chosen bigint;
    begun bigint;
BEGIN
    INSERT INTO embedded (space) SELECT s.id FROM spaces s WHERE s.seq > 0 ON CONFLICT DO NOTHING;
    SELECT e.space, e.seq INTO chosen, begun FROM embedded e JOIN spaces s ON s.id = e.space
    WHERE s.seq > e.seq AND e.leased < now() ORDER BY e.leased LIMIT 1 FOR UPDATE OF e SKIP LOCKED;
    IF chosen IS NULL THEN
        RETURN;
    END IF;
    UPDATE embedded e SET leased = now() + interval '2 minutes' WHERE e.space = chosen;
    RETURN QUERY SELECT n.space, n.id, n.version, CASE WHEN n.deleted OR n.hidden THEN NULL ELSE v.text END
    FROM notes n JOIN versions v ON v.space = n.space AND v.id = n.id AND v.version = n.version
    WHERE n.space = chosen AND n.version > begun ORDER BY n.version LIMIT most;
    IF NOT FOUND THEN  -- the last change was to a note that has changed again since
        UPDATE embedded e SET leased = '-infinity', seq = s.seq FROM spaces s WHERE s.id = chosen AND e.space = chosen;
    END IF;
END $$;

-- Replace the passages of notes. What has changed since it was read is left to its next turn.
CREATE OR REPLACE FUNCTION anamnesis.embed_done(of_space bigint, upto bigint, notes text[], versions bigint[], ids text[], vectors text[])
RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, anamnesis, {vector}, pg_temp AS $$
DECLARE
    current_ids text[];
    removed bigint;
    added bigint;
BEGIN
    PERFORM FROM embedded WHERE space = of_space FOR UPDATE;
    SELECT coalesce(array_agg(n.id), '{{}}') INTO current_ids
    FROM unnest(notes, versions) AS given (id, version) JOIN anamnesis.notes n USING (id, version) WHERE n.space = of_space;
    DELETE FROM passages WHERE space = of_space AND id = ANY (notes);
    GET DIAGNOSTICS removed = ROW_COUNT;
    INSERT INTO passages (space, id, number, vector)
    SELECT of_space, given.id, given.number, given.vector::halfvec
    FROM unnest(ids, vectors) WITH ORDINALITY AS given (id, vector, number) WHERE given.id = ANY (current_ids);
    GET DIAGNOSTICS added = ROW_COUNT;
    -- About how many there are, for the choice of a plan: those of erased notes are not subtracted.
    UPDATE embedded SET seq = greatest(seq, upto), leased = '-infinity', passages = greatest(0, passages + added - removed)
    WHERE space = of_space;
END $$;

-- The notes of the closest passages, the closest first, superseded ones left out: of `reach` passages, or of all without it. Where the
-- spaces have more than `exact` passages, the index is read until it has found enough of their own that the filters leave, which may be
-- fewer than there are. Otherwise, and without `exact`, all are compared. `is_all` says that there are no others.
CREATE FUNCTION anamnesis.near(
    query text, wanted bigint[], of_projects text[], of_type text, reach integer, exact bigint
) RETURNS TABLE (space bigint, id text, is_all boolean)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, anamnesis, {vector}, pg_temp
SET hnsw.iterative_scan = strict_order SET hnsw.ef_search = 100 SET enable_sort = off SET plan_cache_mode = auto SET jit = off AS $$
#variable_conflict use_column
DECLARE
    spaces bigint[] := searched(wanted);
    given halfvec({width}) := query::halfvec;
    is_filtered boolean := of_projects IS NOT NULL OR of_type IS NOT NULL;
BEGIN
    IF (SELECT sum(e.passages) FROM embedded e WHERE e.space = ANY (spaces)) > exact THEN
        RETURN QUERY SELECT c.space, c.id, false FROM (
            SELECT p.space, p.id, p.vector <=> given AS distance FROM passages p
            WHERE p.space = ANY (spaces) AND (NOT is_filtered OR (
                SELECT (of_projects IS NULL OR n.project = ANY (of_projects)) AND (of_type IS NULL OR n.type = of_type)
                FROM notes n WHERE n.space = p.space AND n.id = p.id
            )) ORDER BY p.vector <=> given LIMIT reach
        ) AS c WHERE NOT anamnesis.is_superseded(c.space, c.id) ORDER BY c.distance;
    ELSIF is_filtered THEN
        RETURN QUERY SELECT c.space, c.id, coalesce(c.reached < reach, true) FROM (SELECT *, count(*) OVER () AS reached FROM (
            SELECT p.space, p.id, (p.vector <=> given) + 0 AS distance
            FROM notes n JOIN passages p ON p.space = n.space AND p.id = n.id
            WHERE n.space = ANY (spaces) AND (of_projects IS NULL OR n.project = ANY (of_projects))
                AND (of_type IS NULL OR n.type = of_type) AND NOT n.deleted AND NOT n.hidden
            ORDER BY 3 LIMIT reach
        ) AS closest) AS c WHERE NOT anamnesis.is_superseded(c.space, c.id) ORDER BY c.distance;
    ELSE
        RETURN QUERY SELECT c.space, c.id, coalesce(c.reached < reach, true) FROM (SELECT *, count(*) OVER () AS reached FROM (
            SELECT p.space, p.id, (p.vector <=> given) + 0 AS distance FROM passages p WHERE p.space = ANY (spaces)
            ORDER BY 3 LIMIT reach
        ) AS closest) AS c WHERE NOT anamnesis.is_superseded(c.space, c.id) ORDER BY c.distance;
    END IF;
END $$;

-- How close the best passage of each of these notes is, and how many passages it has. In a row without a note, how close some passages
-- of the spaces are: what is usual there.
CREATE FUNCTION anamnesis.compare(query text, wanted bigint[], in_spaces bigint[], ids text[])
RETURNS TABLE (space bigint, id text, cosine float8, passages bigint, usual float8[])
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, anamnesis, {vector}, pg_temp SET enable_seqscan = off
SET plan_cache_mode = force_generic_plan SET jit = off AS $$
#variable_conflict use_column
DECLARE
    spaces bigint[] := searched(wanted);
    given halfvec({width}) := query::halfvec;
BEGIN
    RETURN QUERY SELECT NULL::bigint, NULL::text, NULL::float8, NULL::bigint, ARRAY(
        SELECT 1 - ((part.vector <=> given) + 0) FROM unnest(spaces) AS one CROSS JOIN LATERAL (
            SELECT p.vector FROM passages p WHERE p.space = one LIMIT greatest(10, 300 / cardinality(spaces))
        ) AS part
    );
    RETURN QUERY SELECT p.space, p.id, max(1 - ((p.vector <=> given) + 0)), count(*), NULL::float8[]
    FROM unnest(in_spaces, ids) AS sought (space, id)
    JOIN passages p ON p.space = sought.space AND p.id = sought.id
    WHERE p.space = ANY (spaces) GROUP BY p.space, p.id;
END $$;

-- The passages of a note, as vectors of their own.
CREATE OR REPLACE FUNCTION anamnesis.vectors_of(of_space bigint, note text) RETURNS SETOF text
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, anamnesis, {vector}, pg_temp AS $$
    SELECT vector::text FROM passages WHERE space = of_space AND id = note AND space = ANY (searched(NULL)) ORDER BY number
$$;

REVOKE ALL ON ALL FUNCTIONS IN SCHEMA anamnesis FROM PUBLIC;
GRANT EXECUTE ON FUNCTION anamnesis.embed_next, anamnesis.embed_done, anamnesis.near, anamnesis.compare, anamnesis.vectors_of
    TO anamnesis_hub;
