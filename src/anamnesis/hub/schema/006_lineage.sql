-- Which token let a machine in: the machine's own allows no more and does not live longer, and can be revoked together with it.

ALTER TABLE anamnesis.tokens ADD COLUMN parent bigint REFERENCES anamnesis.tokens ON DELETE SET NULL;
CREATE INDEX tokens_parent ON anamnesis.tokens (parent) WHERE parent IS NOT NULL;
GRANT SELECT (parent) ON anamnesis.tokens TO anamnesis_hub;
ALTER TABLE anamnesis.devices ADD COLUMN parent bigint REFERENCES anamnesis.tokens ON DELETE CASCADE;

-- As before, and records the token for `approve_device`.
CREATE OR REPLACE FUNCTION anamnesis.enter(token bytea) RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, anamnesis, pg_temp AS $$
DECLARE
    given record;
BEGIN
    SELECT t.id, t.scopes, t.used, u.name INTO given FROM tokens t JOIN users u ON u.id = t.owner
    WHERE t.hash = token AND t.revoked IS NULL AND (t.expires IS NULL OR t.expires > now());
    IF given.id IS NULL THEN
        RETURN NULL;
    END IF;
    IF given.used IS NULL OR given.used < now() - interval '1 minute' THEN
        -- A request that finds the row locked leaves it to the one that holds it.
        UPDATE tokens SET used = date_trunc('minute', now())
        WHERE id = (SELECT t.id FROM tokens t WHERE t.id = given.id FOR UPDATE SKIP LOCKED);
    END IF;
    PERFORM set_config('anamnesis.token', given.id::text, true);
    RETURN enter_user(given.name, given.scopes) || jsonb_build_object('token', given.id);
END $$;

-- As before, with the token by which the caller entered; an administrator has none.
CREATE OR REPLACE FUNCTION anamnesis.approve_device(given text) RETURNS text
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, anamnesis, pg_temp AS $$
    UPDATE devices SET approved_by = anamnesis.caller(), parent = nullif(current_setting('anamnesis.token', true), '')::bigint
    WHERE user_code = given AND approved_by IS NULL AND expires > now() AND anamnesis.caller() IS NOT NULL RETURNING machine
$$;

-- As before; 'expired' also if the token that confirmed the login has ended. The new token ends when that one does, and has no scope
-- that it lacks.
CREATE OR REPLACE FUNCTION anamnesis.redeem_device(given bytea, token bytea, OUT state text, OUT user_name text, OUT machine text)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, anamnesis, pg_temp AS $$
DECLARE
    device devices;
BEGIN
    SELECT * INTO device FROM devices WHERE code = given FOR UPDATE;
    IF device.code IS NULL OR device.expires <= now() THEN
        state := 'expired';
    ELSIF device.approved_by IS NULL THEN
        state := 'pending';
    ELSE
        DELETE FROM devices WHERE code = given;
        machine := device.machine;
        SELECT u.name INTO user_name FROM users u LEFT JOIN tokens p ON p.id = device.parent
        WHERE u.id = device.approved_by AND u.left_at IS NULL AND p.revoked IS NULL AND (p.expires IS NULL OR p.expires > now());
        state := CASE WHEN user_name IS NULL THEN 'expired' ELSE 'redeemed' END;
        INSERT INTO tokens (owner, name, hash, scopes, expires, parent)
        SELECT u.id, device.machine, token, CASE WHEN p.id IS NULL THEN '{read,write}'
            ELSE ARRAY(SELECT scope FROM unnest('{read,write}'::text[]) AS scope WHERE scope = ANY (p.scopes)) END, p.expires, p.id
        FROM users u LEFT JOIN tokens p ON p.id = device.parent WHERE u.id = device.approved_by AND user_name IS NOT NULL;
    END IF;
END $$;
