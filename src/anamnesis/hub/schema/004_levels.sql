-- Search with an exact ranking: the index knows how much a word can add to the score of a note.

-- The words of a note, and again with a level for those that weigh more in it: word/1, word/2 and word/3, by how often the word is
-- there for the length of the note. The numbers are in `hub/candidates.py` too. No word contains a slash.
CREATE FUNCTION anamnesis.leveled(tsv tsvector, words integer) RETURNS tsvector
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
    SELECT tsv || array_to_tsvector(coalesce(array_agg(l.lexeme || level.mark), '{}'))
    FROM unnest(tsv) AS l JOIN (VALUES ('/1', 1.5::float8), ('/2', 2.5), ('/3', 4)) AS level (mark, least)
        ON cardinality(l.positions) >= level.least * (0.25 + 0.75 * words::float8 / 200)
$$;

DROP INDEX anamnesis.notes_tsv, anamnesis.notes_heading;
CREATE INDEX notes_levels ON anamnesis.notes USING gin (anamnesis.leveled(tsv, words)) WITH (gin_pending_list_limit = 256);

-- The same as before, planned once per connection: planning takes longer than running.
CREATE OR REPLACE FUNCTION anamnesis.count_terms(terms text[], wanted bigint[])
RETURNS TABLE (number bigint, stems text, notes bigint, total bigint, words bigint)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, anamnesis, pg_temp SET enable_hashjoin = off
SET enable_mergejoin = off SET enable_seqscan = off SET plan_cache_mode = force_generic_plan SET jit = off AS $$
#variable_conflict use_column
DECLARE
    spaces bigint[] := searched(wanted);
BEGIN
    SELECT coalesce(sum(s.notes), 0), coalesce(sum(s.words), 0) INTO total, words FROM spaces s WHERE s.id = ANY (spaces);
    RETURN QUERY
    SELECT given.number, array_to_string(given.stems, ' '), coalesce((
        SELECT min(held.notes) FROM (
            SELECT (SELECT coalesce(sum(t.notes), 0) FROM terms t WHERE t.space = ANY (spaces) AND t.term = stem) AS notes
            FROM unnest(given.stems) AS stem
        ) AS held
    ), 0)::bigint, total, words
    FROM (
        SELECT t.number, ARRAY(
            SELECT l.lexeme FROM unnest(to_tsvector('anamnesis.words', t.term)) l, unnest(l.positions) AS place ORDER BY place
        ) AS stems
        FROM unnest(terms) WITH ORDINALITY AS t (term, number)
    ) AS given
    WHERE given.stems <> '{}' ORDER BY given.number;
END $$;

DROP FUNCTION anamnesis.search_words;

-- The best notes by BM25, the newest first on a tie, without superseded ones; `held` are the places of the terms that each holds.
--
-- `terms` come with their weights. The notes that match one part of `query` are scored, up to `reach` of each space: tsqueries with a ;
-- between them and an @ where the number of a space belongs. Without a query, the newest notes are.
CREATE FUNCTION anamnesis.search_words(
    query text, terms text[], weights float8[], average float8, wanted bigint[], of_projects text[], of_type text,
    most integer, reach integer
) RETURNS TABLE (space bigint, id text, score float8, held bigint[])
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, anamnesis, pg_temp SET enable_seqscan = off
SET plan_cache_mode = force_generic_plan SET jit = off AS $$
#variable_conflict use_column
DECLARE
    spaces bigint[] := searched(wanted);
    places tid[];
BEGIN
    IF query IS NULL THEN
        places := ARRAY(
            SELECT newest.place FROM unnest(spaces) AS s CROSS JOIN LATERAL (
                SELECT n.ctid AS place FROM notes n WHERE n.space = s AND NOT n.deleted AND NOT n.hidden
                    AND (of_projects IS NULL OR n.project = ANY (of_projects)) AND (of_type IS NULL OR n.type = of_type)
                ORDER BY n.updated_at DESC, n.id DESC LIMIT reach
            ) AS newest
        );
    ELSE
        places := ARRAY(
            SELECT matching.place FROM unnest(spaces) AS s CROSS JOIN LATERAL (
                SELECT n.ctid AS place FROM notes n WHERE leveled(n.tsv, n.words) @@ ANY (
                        string_to_array(replace(query, '@', s || ':'), ';')::tsquery[]
                    )
                    AND (of_projects IS NULL OR n.project = ANY (of_projects)) AND (of_type IS NULL OR n.type = of_type)
                LIMIT reach
            ) AS matching
        );
    END IF;
    RETURN QUERY
    WITH weighed AS MATERIALIZED (
        SELECT s AS space, t.place, term_query(s, t.term)::tsquery AS query, t.weight, strpos(t.term, ' ') > 0 AS is_phrase
        FROM unnest(spaces) AS s, unnest(terms, weights) WITH ORDINALITY AS t (term, weight, place)
    )
    SELECT r.space, r.id, r.score, r.held FROM (
        SELECT n.space, n.id, sum.score, sum.held FROM notes n CROSS JOIN LATERAL (
            SELECT array_agg(c.place) AS held,
                sum(c.weight * c.times * 2.2 / (c.times + 1.2 * (0.25 + 0.75 * n.words / average))) AS score
            -- The rank of one word says how often it is there: it is the sum of 1 / n² up to that number, divided by its limit, π² / 6.
            FROM (
                SELECT w.place, w.weight, CASE WHEN w.is_phrase THEN (n.tsv @@ w.query)::int::float8
                    ELSE round(1 / (1.644934066848 * (1 - least(ts_rank('{1,1,1,1}', n.tsv, w.query), 0.999))) - 0.5) END AS times
                FROM weighed w WHERE w.space = n.space OFFSET 0
            ) AS c WHERE c.times > 0
        ) AS sum
        WHERE n.ctid = ANY (places) AND n.space = ANY (spaces) AND sum.held IS NOT NULL
        ORDER BY round(sum.score * 1e6) DESC, n.updated_at DESC, n.id DESC OFFSET 0
    ) AS r
    WHERE (SELECT true FROM supersessions p WHERE p.space = r.space AND p.superseded = r.id LIMIT 1) IS NULL
    LIMIT most;
END $$;

REVOKE ALL ON ALL FUNCTIONS IN SCHEMA anamnesis FROM PUBLIC;
GRANT EXECUTE ON FUNCTION anamnesis.leveled, anamnesis.search_words TO anamnesis_hub;
