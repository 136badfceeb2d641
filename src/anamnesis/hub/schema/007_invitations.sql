-- Invitations: what an owner or a keeper of a space offers. It becomes a row of `members` when the invited user accepts it, and not
-- before, so that no query has to ask whether a member has agreed.

-- By name, whether there is such a user or not: nobody learns from an invitation which names exist. `declined` is for the invited
-- user alone, as a name that declines exists.
CREATE TABLE anamnesis.invitations (
    space    bigint NOT NULL REFERENCES anamnesis.spaces ON DELETE CASCADE,
    invited  text COLLATE "C" NOT NULL,
    role     anamnesis.role NOT NULL,
    inviter  text NOT NULL,
    at       timestamptz NOT NULL DEFAULT now(),
    declined timestamptz,
    PRIMARY KEY (space, invited)
);
CREATE INDEX invitations_invited ON anamnesis.invitations (invited);
CREATE TRIGGER keep_personal BEFORE INSERT ON anamnesis.invitations
FOR EACH ROW EXECUTE FUNCTION anamnesis.keep_personal();

-- The caller's invitations that wait, with what tells whether to accept one.
CREATE FUNCTION anamnesis.invitations_of_caller() RETURNS TABLE (space text, role anamnesis.role, inviter text, projects text[])
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, anamnesis, pg_temp AS $$
    SELECT s.name, i.role, i.inviter, ARRAY(SELECT p.project FROM projects p WHERE p.space = s.id ORDER BY 1)
    FROM users u JOIN invitations i ON i.invited = u.name JOIN spaces s ON s.id = i.space
    WHERE u.id = anamnesis.caller() AND i.declined IS NULL ORDER BY s.name
$$;

-- Accepts or declines an invitation of the caller, whose token must allow writing. Returns the role, or NULL if none waits. That it was
-- declined is recorded for the caller alone.
CREATE FUNCTION anamnesis.answer_invitation(space_name text, accepts boolean) RETURNS anamnesis.role
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, anamnesis, pg_temp AS $$
DECLARE
    given record;
BEGIN
    SELECT i.space, i.role, u.id AS member, u.name INTO given
    FROM users u JOIN invitations i ON i.invited = u.name JOIN spaces s ON s.id = i.space
    WHERE u.id = anamnesis.caller() AND s.name = space_name AND i.declined IS NULL
        AND cardinality(anamnesis.held('writes')) > 0
    FOR UPDATE OF i;
    IF given.space IS NULL THEN
        RETURN NULL;
    ELSIF accepts THEN
        DELETE FROM invitations WHERE space = given.space AND invited = given.name;
        INSERT INTO members VALUES (given.space, given.member, given.role) ON CONFLICT DO NOTHING;
        INSERT INTO audit (actor, action, space, space_name, target, facts) VALUES
            (given.name, 'space accept', given.space, space_name, given.name, jsonb_build_object('role', given.role));
    ELSE
        UPDATE invitations SET declined = now() WHERE space = given.space AND invited = given.name;
        INSERT INTO audit (actor, action, target) VALUES (given.name, 'space decline', space_name);
    END IF;
    RETURN given.role;
END $$;

REVOKE ALL ON FUNCTION anamnesis.invitations_of_caller, anamnesis.answer_invitation FROM PUBLIC;
GRANT EXECUTE ON FUNCTION anamnesis.invitations_of_caller, anamnesis.answer_invitation TO anamnesis_hub;

ALTER TABLE anamnesis.invitations ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY owner ON anamnesis.invitations TO CURRENT_USER USING (true) WITH CHECK (true);
CREATE POLICY seen ON anamnesis.invitations FOR SELECT TO anamnesis_hub USING (space = ANY ((SELECT anamnesis.held('keeps'))::bigint[]));
CREATE POLICY managed ON anamnesis.invitations TO anamnesis_hub USING (
    space = ANY ((SELECT anamnesis.held('keeps'))::bigint[])
    AND (role < 'keeper' OR space = ANY ((SELECT anamnesis.held('owns'))::bigint[]))
);
GRANT SELECT (space, invited, role, inviter, at), INSERT (space, invited, role, inviter), UPDATE (role, inviter), DELETE
    ON anamnesis.invitations TO anamnesis_hub;

-- The server makes nobody a member any more, and needs to know of nobody whether there is such a user.
REVOKE INSERT, UPDATE ON anamnesis.members FROM anamnesis_hub;
GRANT UPDATE (role) ON anamnesis.members TO anamnesis_hub;
DROP FUNCTION anamnesis.user_named;
