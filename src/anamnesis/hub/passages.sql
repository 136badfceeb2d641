-- What a search by meaning needs. It is made where pgvector is installed, now or later, and made anew for another model: all of it is
-- derived. {vector} is the schema of pgvector, {width} the number of a vector's values.

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
BEGIN
    PERFORM FROM embedded WHERE space = of_space FOR UPDATE;
    SELECT coalesce(array_agg(n.id), '{{}}') INTO current_ids
    FROM unnest(notes, versions) AS given (id, version) JOIN anamnesis.notes n USING (id, version) WHERE n.space = of_space;
    DELETE FROM passages WHERE space = of_space AND id = ANY (notes);
    INSERT INTO passages (space, id, number, vector)
    SELECT of_space, given.id, given.number, given.vector::halfvec
    FROM unnest(ids, vectors) WITH ORDINALITY AS given (id, vector, number) WHERE given.id = ANY (current_ids);
    UPDATE embedded SET seq = greatest(seq, upto), leased = '-infinity',
        passages = (SELECT count(*) FROM passages p WHERE p.space = of_space) WHERE space = of_space;
END $$;

-- The notes with the closest passages, the closest first: exactly among up to `exact` passages, or by the index, which reads on until it
-- has found enough of the spaces' own. If filters leave too few of those, it compares all.
CREATE OR REPLACE FUNCTION anamnesis.near(
    query text, wanted bigint[], of_projects text[], of_type text, most integer, exact integer
) RETURNS TABLE (space bigint, id text)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, anamnesis, {vector}, pg_temp
SET hnsw.iterative_scan = strict_order SET hnsw.ef_search = 100 SET jit = off AS $$
#variable_conflict use_column
DECLARE
    spaces bigint[] := searched(wanted);
    given halfvec({width}) := query::halfvec;
    found integer := 0;
BEGIN
    IF (SELECT coalesce(sum(e.passages), 0) FROM embedded e WHERE e.space = ANY (spaces)) > exact THEN
        RETURN QUERY SELECT c.space, c.id FROM (
            SELECT p.space, p.id, p.vector <=> given AS distance FROM passages p WHERE p.space = ANY (spaces)
            ORDER BY p.vector <=> given LIMIT 4 * most
        ) AS c JOIN notes n ON n.space = c.space AND n.id = c.id
        WHERE (of_projects IS NULL OR n.project = ANY (of_projects)) AND (of_type IS NULL OR n.type = of_type)
            AND NOT EXISTS (SELECT FROM supersessions s WHERE s.space = c.space AND s.superseded = c.id)
        GROUP BY c.space, c.id ORDER BY min(c.distance) LIMIT most;
        GET DIAGNOSTICS found = ROW_COUNT;
    END IF;
    IF found < most THEN
        RETURN QUERY SELECT c.space, c.id FROM (
            SELECT p.space, p.id, min((p.vector <=> given) + 0) AS distance FROM passages p WHERE p.space = ANY (spaces)
            GROUP BY p.space, p.id
        ) AS c JOIN notes n ON n.space = c.space AND n.id = c.id
        WHERE (of_projects IS NULL OR n.project = ANY (of_projects)) AND (of_type IS NULL OR n.type = of_type)
            AND NOT EXISTS (SELECT FROM supersessions s WHERE s.space = c.space AND s.superseded = c.id)
        ORDER BY c.distance LIMIT most;
    END IF;
END $$;

-- How close the best passage of each of these notes is, and how many passages it has. Without notes, of some passages of the spaces:
-- what is usual there.
CREATE OR REPLACE FUNCTION anamnesis.compare(query text, wanted bigint[], in_spaces bigint[], ids text[])
RETURNS TABLE (space bigint, id text, cosine float8, passages bigint)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, anamnesis, {vector}, pg_temp SET enable_seqscan = off
SET jit = off AS $$
    SELECT p.space, p.id, max(1 - ((p.vector <=> query::halfvec({width})) + 0)), count(*)
    FROM unnest(in_spaces, ids) AS given (space, id) JOIN passages p ON p.space = given.space AND p.id = given.id
    WHERE p.space = ANY (searched(wanted)) GROUP BY p.space, p.id
    UNION ALL
    SELECT NULL, NULL, 1 - ((part.vector <=> query::halfvec({width})) + 0), 0
    FROM unnest(searched(wanted)) AS one CROSS JOIN LATERAL (
        SELECT p.vector FROM passages p WHERE p.space = one LIMIT greatest(10, 300 / cardinality(searched(wanted)))
    ) AS part
$$;

-- The passages of a note, as vectors of their own.
CREATE OR REPLACE FUNCTION anamnesis.vectors_of(of_space bigint, note text) RETURNS SETOF text
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, anamnesis, {vector}, pg_temp AS $$
    SELECT vector::text FROM passages WHERE space = of_space AND id = note AND space = ANY (searched(NULL)) ORDER BY number
$$;

REVOKE ALL ON ALL FUNCTIONS IN SCHEMA anamnesis FROM PUBLIC;
GRANT EXECUTE ON FUNCTION anamnesis.embed_next, anamnesis.embed_done, anamnesis.near, anamnesis.compare, anamnesis.vectors_of
    TO anamnesis_hub;
COMMENT ON TABLE anamnesis.passages IS '{made_by}';
