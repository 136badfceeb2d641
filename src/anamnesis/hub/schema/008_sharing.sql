-- What a space may take of its members' notes, and what a keeper may make of a member.

-- `global` is the project of every note that belongs to none, such as a diary.
DELETE FROM anamnesis.projects WHERE project = 'global';
ALTER TABLE anamnesis.projects ADD CONSTRAINT not_global CHECK (project <> 'global');

-- A keeper gives nobody a higher role: the new notes of a writer go to the space, and who reads may not want that. An owner may.
ALTER POLICY managed ON anamnesis.members WITH CHECK (
    space = ANY ((SELECT anamnesis.held('keeps'))::bigint[])
    AND (role = 'reader' OR space = ANY ((SELECT anamnesis.held('owns'))::bigint[]))
);
