-- Rows as a server of step 2 wrote them.
INSERT INTO anamnesis.users (name) VALUES ('you');
INSERT INTO anamnesis.spaces (name, personal_of) SELECT '~you', id FROM anamnesis.users;
INSERT INTO anamnesis.spaces (name, seq) VALUES ('core', 4);
INSERT INTO anamnesis.members SELECT s.id, u.id, 'writer' FROM anamnesis.spaces s, anamnesis.users u WHERE s.name = 'core';
INSERT INTO anamnesis.projects SELECT id, 'github.com/you/core' FROM anamnesis.spaces WHERE name = 'core';
INSERT INTO anamnesis.versions (space, id, version, text, author, machine)
SELECT s.id, v.note, v.version, v.text, 'you', 'desk' FROM anamnesis.spaces s, (VALUES
    ('N1', 1, E'---\nid: N1\ntype: semantic\ntitle: Use WAL\n---\nFirst.\n'),
    ('N1', 2, E'---\nid: N1\ntype: semantic\ntitle: Use WAL\n---\nSet busy_timeout.\n'),
    ('N2', 3, E'---\nid: N2\ntype: semantic\ntitle: Gone\n---\nGone.\n'),
    ('N2', 4, NULL)
) AS v (note, version, text) WHERE s.name = 'core';
INSERT INTO anamnesis.notes (space, id, version, type, title, project, machine_id, source, words, tsv)
SELECT id, 'N1', 2, 'semantic', 'Use WAL', 'global', 'unknown', 'human', 5, anamnesis.document(id, 'use wal', 'set busy timeout')
FROM anamnesis.spaces WHERE name = 'core';
INSERT INTO anamnesis.notes (space, id, version, deleted) SELECT id, 'N2', 4, true FROM anamnesis.spaces WHERE name = 'core';
INSERT INTO anamnesis.audit (actor, action, target) VALUES ('(administrator)', 'user add', 'you');
