-- An id for each user: a later user of the same name has another one. Collections that are private to a user say so
-- in their setting `private_to`.
ALTER TABLE users ADD COLUMN id text COLLATE "C";
UPDATE users SET id = md5(name || random()::text || clock_timestamp()::text);
ALTER TABLE users ALTER COLUMN id SET NOT NULL;
CREATE UNIQUE INDEX users_by_id ON users (id);

-- The users to whom databases are charged, by their ids.
CREATE TABLE database_owners (
  database bigint PRIMARY KEY REFERENCES databases (id) ON DELETE CASCADE,
  owner    text   COLLATE "C" NOT NULL
);
CREATE INDEX databases_by_owner ON database_owners (owner);
