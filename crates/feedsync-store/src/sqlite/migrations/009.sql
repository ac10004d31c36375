-- An id for each user: a later user of the same name has another one. Collections that are private to a user say so
-- in their setting `private_to`.
ALTER TABLE users ADD COLUMN id TEXT NOT NULL DEFAULT '';
UPDATE users SET id = lower(hex(randomblob(16)));
CREATE UNIQUE INDEX users_by_id ON users (id);

-- The users to whom databases are charged, by their ids.
CREATE TABLE database_owners (
  database INTEGER PRIMARY KEY REFERENCES databases (id) ON DELETE CASCADE,
  owner    TEXT    NOT NULL
) STRICT;
CREATE INDEX databases_by_owner ON database_owners (owner);
