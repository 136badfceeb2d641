-- Search within what a caller may see.
--
-- An index on words is not used under a policy, so these functions run as the schema's owner. They take the spaces from the
-- transaction's settings and name them in the query: as the beginning of each lexeme, and as a condition.

-- The words of a note stay in its row, uncompressed, up to the size of a page: a search reads them of hundreds of notes.
ALTER TABLE anamnesis.notes SET (toast_tuple_target = 8160);
-- Notes that have a common word in their title or tags.
CREATE INDEX notes_heading ON anamnesis.notes USING gin (ts_filter(tsv, '{a}')) WITH (gin_pending_list_limit = 256);

-- Notes that a merge has made of what two machines wrote, for the review.
CREATE INDEX notes_conflicts ON anamnesis.notes (space, updated_at DESC, id DESC)
    WHERE 'conflict' = ANY (tags) AND NOT deleted AND NOT hidden;

-- The number of a user, for whoever manages the members of a space.
CREATE FUNCTION anamnesis.user_named(user_name text) RETURNS bigint
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, anamnesis, pg_temp AS $$
    SELECT id FROM users WHERE name = user_name AND left_at IS NULL AND cardinality(anamnesis.held('keeps')) > 0
$$;

-- The caller's spaces; of those in `wanted`, if that is not NULL.
CREATE FUNCTION anamnesis.searched(wanted bigint[]) RETURNS bigint[] LANGUAGE sql STABLE AS $$
    SELECT coalesce(array_agg(space), '{}') FROM unnest(anamnesis.held('spaces')) AS space
    WHERE wanted IS NULL OR space = ANY (wanted)
$$;

-- The stems of each term, which is a word or the words of a phrase, and how many notes of the spaces hold it: of a phrase, as many
-- as hold its rarest word. `total` and `words` count the notes of the spaces and the words in them.
CREATE FUNCTION anamnesis.count_terms(terms text[], wanted bigint[])
RETURNS TABLE (number bigint, stems text, notes bigint, total bigint, words bigint)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, anamnesis, pg_temp SET enable_hashjoin = off
SET enable_mergejoin = off SET enable_seqscan = off AS $$
    WITH spaces AS MATERIALIZED (SELECT id, notes, words FROM spaces WHERE id = ANY (searched(wanted))),
    stemmed AS MATERIALIZED (
        SELECT t.number, ARRAY(
            SELECT l.lexeme FROM unnest(to_tsvector('anamnesis.words', t.term)) l, unnest(l.positions) AS place ORDER BY place
        ) AS stems
        FROM unnest(terms) WITH ORDINALITY AS t (term, number)
    ),
    held AS (
        SELECT s.number, stem, sum(coalesce(t.notes, 0)) AS notes
        FROM stemmed s CROSS JOIN LATERAL unnest(s.stems) AS stem CROSS JOIN spaces p
        LEFT JOIN terms t ON t.space = p.id AND t.term = stem GROUP BY 1, 2
    )
    SELECT s.number, array_to_string(s.stems, ' '), coalesce((SELECT min(h.notes) FROM held h WHERE h.number = s.number), 0)::bigint,
        (SELECT coalesce(sum(p.notes), 0) FROM spaces p)::bigint, (SELECT coalesce(sum(p.words), 0) FROM spaces p)::bigint
    FROM stemmed s WHERE s.stems <> '{}' ORDER BY s.number
$$;

-- A term of a space as a query: its word, or its words one after the other.
CREATE FUNCTION anamnesis.term_query(space bigint, stems text) RETURNS text LANGUAGE sql IMMUTABLE AS $$
    SELECT string_agg('''' || space || ':' || replace(replace(stem, '\', '\\'), '''', '''''') || '''', ' <-> ' ORDER BY place)
    FROM unnest(string_to_array(stems, ' ')) WITH ORDINALITY AS s (stem, place)
$$;

-- The best notes by BM25, the newest first on a tie, without superseded ones; `held` are the places of the terms that each holds.
--
-- `terms` come with the rarest first, with their weights. Notes that hold one of the first `rare` terms are scored, and up to
-- `reach` notes each that hold all or two of the next `common` terms or have one in the title or the tags. If that leaves fewer than are
-- asked for, the newest that hold any of the first terms are, which is fast for words that are in every tenth note.
CREATE FUNCTION anamnesis.search_words(
    terms text[], weights float8[], rare integer, common integer, reach integer, average float8, wanted bigint[],
    of_projects text[], of_type text, most integer
) RETURNS TABLE (space bigint, id text, score float8, held bigint[])
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, anamnesis, pg_temp SET enable_seqscan = off
SET plan_cache_mode = force_generic_plan SET jit = off AS $$
#variable_conflict use_column
DECLARE
    spaces bigint[] := searched(wanted);
    any_rare tsquery;
    all_common tsquery;
    two_common tsquery;
    any_common tsquery;
    any_first tsquery;
BEGIN
    SELECT string_agg(q.query, ' | ') FILTER (WHERE q.place <= rare)::tsquery,
        string_agg(q.query, ' | ') FILTER (WHERE q.place > rare AND q.place <= rare + common)::tsquery,
        string_agg(q.query, ' | ') FILTER (WHERE q.place <= 3)::tsquery
    INTO any_rare, any_common, any_first
    FROM (
        SELECT t.place, term_query(s, t.term) AS query FROM unnest(spaces) AS s, unnest(terms) WITH ORDINALITY AS t (term, place)
    ) AS q;
    IF common > 1 THEN
        SELECT string_agg('(' || every.query || ')', ' | ')::tsquery INTO all_common FROM (
            SELECT string_agg(term_query(s, t.term), ' & ') AS query
            FROM unnest(spaces) AS s, unnest(terms) WITH ORDINALITY AS t (term, place)
            WHERE t.place > rare AND t.place <= rare + common GROUP BY s
        ) AS every;
        SELECT string_agg('(' || one.query || ') & (' || one.others || ')', ' | ')::tsquery INTO two_common FROM (
            SELECT term_query(s, a.term) AS query, string_agg(term_query(s, b.term), ' | ') AS others
            FROM unnest(spaces) AS s, unnest(terms) WITH ORDINALITY AS a (term, place),
                unnest(terms) WITH ORDINALITY AS b (term, place)
            WHERE a.place > rare AND a.place < b.place AND b.place <= rare + common GROUP BY s, a.place, a.term
        ) AS one;
    END IF;
    RETURN QUERY
    WITH candidates AS MATERIALIZED (
        (SELECT n.ctid AS place FROM notes n WHERE n.tsv @@ any_rare
            AND (of_projects IS NULL OR n.project = ANY (of_projects)) AND (of_type IS NULL OR n.type = of_type))
        UNION
        (SELECT n.ctid FROM notes n WHERE n.tsv @@ all_common
            AND (of_projects IS NULL OR n.project = ANY (of_projects)) AND (of_type IS NULL OR n.type = of_type) LIMIT reach)
        UNION
        (SELECT n.ctid FROM notes n WHERE n.tsv @@ two_common
            AND (of_projects IS NULL OR n.project = ANY (of_projects)) AND (of_type IS NULL OR n.type = of_type) LIMIT reach)
        UNION
        (SELECT n.ctid FROM notes n WHERE ts_filter(n.tsv, '{a}') @@ any_common
            AND (of_projects IS NULL OR n.project = ANY (of_projects)) AND (of_type IS NULL OR n.type = of_type) LIMIT reach)
    ),
    enough AS MATERIALIZED (
        SELECT place FROM candidates
        UNION
        SELECT newest.place FROM unnest(spaces) AS s CROSS JOIN LATERAL (
            SELECT n.ctid AS place FROM notes n WHERE n.space = s AND NOT n.deleted AND NOT n.hidden
                AND ts_rank('{1,1,1,1}', n.tsv, any_first) > 0
                AND (of_projects IS NULL OR n.project = ANY (of_projects)) AND (of_type IS NULL OR n.type = of_type)
            ORDER BY n.updated_at DESC, n.id DESC LIMIT reach
        ) AS newest WHERE (SELECT count(*) < most FROM candidates)
    ),
    weighed AS MATERIALIZED (
        SELECT s AS space, t.place, term_query(s, t.term)::tsquery AS query, t.weight, strpos(t.term, ' ') > 0 AS is_phrase
        FROM unnest(spaces) AS s, unnest(terms, weights) WITH ORDINALITY AS t (term, weight, place)
    ),
    -- The rank of one word says how often it is there: it is the sum of 1 / n² up to that number, divided by its limit, π² / 6.
    counted AS (
        SELECT n.space, n.id, n.updated_at, n.words, w.place, w.weight,
            CASE WHEN w.is_phrase THEN (n.tsv @@ w.query)::int::float8
                ELSE round(1 / (1.644934066848 * (1 - least(found.rank, 0.999))) - 0.5) END AS times
        FROM notes n JOIN weighed w ON w.space = n.space
        CROSS JOIN LATERAL (SELECT ts_rank('{1,1,1,1}', n.tsv, w.query)::float8 AS rank OFFSET 0) AS found
        WHERE n.ctid = ANY (ARRAY(SELECT place FROM enough)) AND n.space = ANY (spaces) AND found.rank > 0
    ),
    scored AS (
        SELECT c.space, c.id, c.updated_at, array_agg(c.place ORDER BY c.place) AS held,
            sum(c.weight * c.times * 2.2 / (c.times + 1.2 * (0.25 + 0.75 * c.words / average))) AS score
        FROM counted c WHERE c.times > 0 GROUP BY c.space, c.id, c.updated_at
    )
    SELECT r.space, r.id, r.score, r.held FROM (
        SELECT * FROM scored s ORDER BY round(s.score::numeric, 6) DESC, s.updated_at DESC, s.id DESC OFFSET 0
    ) AS r
    WHERE (SELECT true FROM supersessions p WHERE p.space = r.space AND p.superseded = r.id LIMIT 1) IS NULL
    LIMIT most;
END $$;

REVOKE ALL ON ALL FUNCTIONS IN SCHEMA anamnesis FROM PUBLIC;
GRANT EXECUTE ON FUNCTION anamnesis.count_terms, anamnesis.search_words, anamnesis.user_named TO anamnesis_hub;
