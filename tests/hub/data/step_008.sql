-- Rows as a server of step 8 wrote them.
INSERT INTO anamnesis.users (id, name, created, left_at) VALUES
    ('1', 'you', '2026-11-18 16:26:42.894116+00', NULL);
SELECT setval(pg_get_serial_sequence('anamnesis.users', 'id'), (SELECT max(id) FROM anamnesis.users));
INSERT INTO anamnesis.spaces (id, name, personal_of, seq, created) VALUES
    ('1', '~you', '1', '0', '2026-11-18 16:26:42.894116+00'),
    ('2', 'core', NULL, '4', '2026-11-18 16:26:42.894116+00');
SELECT setval(pg_get_serial_sequence('anamnesis.spaces', 'id'), (SELECT max(id) FROM anamnesis.spaces));
INSERT INTO anamnesis.members (space, member, role) VALUES
    ('2', '1', 'writer');
INSERT INTO anamnesis.projects (space, project) VALUES
    ('2', 'github.com/you/core');
INSERT INTO anamnesis.tokens (id, owner, name, hash, scopes, created, expires, used, revoked) VALUES
    ('1', '1', 'test', E'\\x1bea5db00080b982f2d5bf35ab27c10bea01c293af9ff2b3d185c8167b1bf3bf', '{read,write}', '2026-11-18 16:26:42.894116+00', NULL, '2026-11-18 16:26:00+00', NULL);
SELECT setval(pg_get_serial_sequence('anamnesis.tokens', 'id'), (SELECT max(id) FROM anamnesis.tokens));
INSERT INTO anamnesis.notes (space, id, version, deleted, hidden, type, title, project, machine_id, source, tags, created_at, updated_at, words, tsv) VALUES
    ('2', 'N1', '2', 'false', 'false', 'semantic', 'Use WAL', 'global', 'unknown', 'human', '{}', '', '', '5', '''2:busi'':4 ''2:set'':3 ''2:timeout'':5 ''2:use'':1A ''2:wal'':2A'),
    ('2', 'N2', '4', 'true', 'false', '', '', '', '', '', '{}', '', '', '0', '');
INSERT INTO anamnesis.versions (space, id, version, text, author, machine, at, redacted, erased) VALUES
    ('2', 'N1', '1', E'---\nid: N1\ntype: semantic\ntitle: Use WAL\n---\nFirst.\n', 'you', 'desk', '2026-11-18 16:26:43.099187+00', 'false', 'false'),
    ('2', 'N1', '2', E'---\nid: N1\ntype: semantic\ntitle: Use WAL\n---\nSet busy_timeout.\n', 'you', 'desk', '2026-11-18 16:26:43.155943+00', 'false', 'false'),
    ('2', 'N2', '3', E'---\nid: N2\ntype: semantic\ntitle: Gone\n---\nGone.\n', 'you', 'desk', '2026-11-18 16:26:43.162918+00', 'false', 'false'),
    ('2', 'N2', '4', NULL, 'you', 'desk', '2026-11-18 16:26:43.182941+00', 'false', 'false');
INSERT INTO anamnesis.audit (id, at, actor, action, space, space_name, target, facts) VALUES
    ('2', '2026-11-18 16:26:42.894116+00', '(administrator)', 'user add', NULL, '', 'you', '{}'),
    ('3', '2026-11-18 16:26:42.894116+00', '(administrator)', 'space add', '2', 'core', '', '{}'),
    ('4', '2026-11-18 16:26:42.894116+00', '(administrator)', 'space member', '2', 'core', 'you', '{"role": "writer"}'),
    ('5', '2026-11-18 16:26:42.894116+00', '(administrator)', 'token create', NULL, '', 'you', '{"token": 1, "scopes": ["read", "write"]}'),
    ('6', '2026-11-18 16:26:42.911408+00', '(administrator)', 'space project', '2', 'core', 'github.com/you/core', '{}');
SELECT setval(pg_get_serial_sequence('anamnesis.audit', 'id'), (SELECT max(id) FROM anamnesis.audit));
INSERT INTO anamnesis.invitations (space, invited, role, inviter, at, declined) VALUES
    ('2', 'mate', 'reader', 'you', '2026-11-18 16:26:43.190000+00', NULL);
