-- What a gateway keeps. Times are milliseconds since 1970; a partition is the digest of the credentials of
-- those who share it; lists of relations are separated by spaces; headers are a line each, `name:value`, or
-- `name=value` if the value is a secret.

-- The next place of whatever is counted: one row.
CREATE TABLE counters (
  one INTEGER PRIMARY KEY CHECK (one = 1),
  keeping INTEGER NOT NULL,
  holder INTEGER NOT NULL,
  edit INTEGER NOT NULL,
  error INTEGER NOT NULL,
  shown INTEGER NOT NULL,
  generation INTEGER NOT NULL
) STRICT;

-- Whether the network is used: one row.
CREATE TABLE policy (
  one INTEGER PRIMARY KEY CHECK (one = 1),
  is_offline INTEGER NOT NULL
) STRICT;

-- Subscriptions.
CREATE TABLE keeping (
  id INTEGER PRIMARY KEY,
  feed TEXT NOT NULL,
  registered BLOB NOT NULL,
  interval INTEGER NOT NULL,
  follows TEXT NOT NULL,
  proxy TEXT,
  state INTEGER NOT NULL,
  due INTEGER,
  again INTEGER NOT NULL,
  last_updated INTEGER,
  collection TEXT,
  moved TEXT,
  -- None if nothing was fetched yet.
  followed TEXT
) STRICT;

-- When what a feed links to is asked for again.
CREATE TABLE retry (
  keeping INTEGER NOT NULL,
  location TEXT NOT NULL,
  time INTEGER NOT NULL,
  PRIMARY KEY (keeping, location)
) STRICT, WITHOUT ROWID;

-- What each application asks of a subscription.
CREATE TABLE holder (
  keeping INTEGER NOT NULL,
  id INTEGER NOT NULL,
  interval INTEGER NOT NULL,
  follows TEXT NOT NULL,
  PRIMARY KEY (keeping, id)
) STRICT, WITHOUT ROWID;

-- Edits on their way.
CREATE TABLE edit (
  id INTEGER PRIMARY KEY,
  partition BLOB NOT NULL,
  method TEXT NOT NULL,
  location TEXT NOT NULL,
  feed TEXT NOT NULL,
  resource TEXT NOT NULL,
  line TEXT NOT NULL,
  base TEXT,
  is_conditional INTEGER NOT NULL,
  was_headers BLOB,
  was BLOB,
  was_length INTEGER,
  body_headers BLOB,
  body BLOB,
  body_length INTEGER,
  slug TEXT,
  generation INTEGER NOT NULL,
  key TEXT NOT NULL,
  tries INTEGER NOT NULL,
  progress TEXT NOT NULL,
  -- Of one that waits.
  until INTEGER
) STRICT;

CREATE INDEX edit_by_resource ON edit (resource);

-- Errors that nobody has cleared.
CREATE TABLE error (
  id INTEGER PRIMARY KEY,
  partition BLOB NOT NULL,
  feed TEXT NOT NULL,
  status INTEGER NOT NULL,
  time INTEGER NOT NULL,
  location TEXT NOT NULL,
  method TEXT NOT NULL,
  request_headers BLOB NOT NULL,
  request_body BLOB,
  request_length INTEGER,
  response_headers BLOB NOT NULL,
  response_body BLOB,
  response_length INTEGER,
  was BLOB,
  was_length INTEGER
) STRICT;

-- Edits that were carried out and that their feed does not show yet.
CREATE TABLE shown (
  place INTEGER PRIMARY KEY,
  partition BLOB NOT NULL,
  feed TEXT NOT NULL,
  resource TEXT NOT NULL,
  pending TEXT,
  headers BLOB,
  body BLOB,
  body_length INTEGER,
  generation INTEGER NOT NULL
) STRICT;

-- Where members are that had an address of ours.
CREATE TABLE named (
  partition BLOB NOT NULL,
  pending TEXT NOT NULL,
  member TEXT,
  PRIMARY KEY (partition, pending)
) STRICT, WITHOUT ROWID;

-- What was sent to replace a resource while its application waited, and nobody knows whether it did.
CREATE TABLE attempt (
  partition BLOB NOT NULL,
  location TEXT NOT NULL,
  body BLOB NOT NULL,
  body_length INTEGER NOT NULL,
  UNIQUE (partition, location, body)
) STRICT;

-- Feeds of which something is stored.
CREATE TABLE feed (
  id INTEGER PRIMARY KEY,
  partition BLOB NOT NULL,
  location TEXT NOT NULL,
  UNIQUE (partition, location)
) STRICT;

-- What belongs to them.
CREATE TABLE belonging (
  location TEXT NOT NULL,
  feed INTEGER NOT NULL,
  role INTEGER NOT NULL,
  entry TEXT,
  -- The generation in which it was first seen.
  seen INTEGER NOT NULL,
  PRIMARY KEY (location, feed)
) STRICT, WITHOUT ROWID;

CREATE INDEX belonging_by_feed ON belonging (feed);

-- What is stored of addresses.
CREATE TABLE representation (
  partition BLOB NOT NULL,
  location TEXT NOT NULL,
  status INTEGER NOT NULL,
  headers BLOB NOT NULL,
  content BLOB NOT NULL,
  length INTEGER NOT NULL,
  fetched INTEGER NOT NULL,
  also TEXT,
  UNIQUE (partition, location)
) STRICT;

CREATE INDEX representation_by_content ON representation (content);

-- Bytes by their SHA-256. Those without any here are in a file.
CREATE TABLE content (
  digest BLOB NOT NULL UNIQUE,
  length INTEGER NOT NULL,
  bytes BLOB
) STRICT;

-- Bytes that were let go of, and may be needed elsewhere all the same.
CREATE TABLE loose (
  digest BLOB PRIMARY KEY
) STRICT, WITHOUT ROWID;

-- None says OR IGNORE: what a statement says of conflicts counts for its triggers, too.
CREATE TRIGGER representation_gone AFTER DELETE ON representation BEGIN
  INSERT INTO loose SELECT old.content
  WHERE old.content IS NOT NULL AND old.content NOT IN (SELECT digest FROM loose);
END;
CREATE TRIGGER representation_changed AFTER UPDATE OF content ON representation
WHEN old.content <> new.content BEGIN
  INSERT INTO loose SELECT old.content
  WHERE old.content IS NOT NULL AND old.content NOT IN (SELECT digest FROM loose);
END;

CREATE TRIGGER edit_gone AFTER DELETE ON edit BEGIN
  INSERT INTO loose SELECT old.was
  WHERE old.was IS NOT NULL AND old.was NOT IN (SELECT digest FROM loose);
  INSERT INTO loose SELECT old.body
  WHERE old.body IS NOT NULL AND old.body NOT IN (SELECT digest FROM loose);
END;
CREATE TRIGGER edit_changed AFTER UPDATE OF was, body ON edit
WHEN old.was IS NOT new.was OR old.body IS NOT new.body BEGIN
  INSERT INTO loose SELECT old.was
  WHERE old.was IS NOT NULL AND old.was NOT IN (SELECT digest FROM loose);
  INSERT INTO loose SELECT old.body
  WHERE old.body IS NOT NULL AND old.body NOT IN (SELECT digest FROM loose);
END;

CREATE TRIGGER attempt_gone AFTER DELETE ON attempt BEGIN
  INSERT INTO loose SELECT old.body
  WHERE old.body NOT IN (SELECT digest FROM loose);
END;

CREATE TRIGGER error_gone AFTER DELETE ON error BEGIN
  INSERT INTO loose SELECT old.request_body
  WHERE old.request_body IS NOT NULL AND old.request_body NOT IN (SELECT digest FROM loose);
  INSERT INTO loose SELECT old.response_body
  WHERE old.response_body IS NOT NULL AND old.response_body NOT IN (SELECT digest FROM loose);
  INSERT INTO loose SELECT old.was
  WHERE old.was IS NOT NULL AND old.was NOT IN (SELECT digest FROM loose);
END;

CREATE TRIGGER shown_gone AFTER DELETE ON shown BEGIN
  INSERT INTO loose SELECT old.body
  WHERE old.body IS NOT NULL AND old.body NOT IN (SELECT digest FROM loose);
END;
CREATE TRIGGER shown_changed AFTER UPDATE OF body ON shown WHEN old.body IS NOT new.body BEGIN
  INSERT INTO loose SELECT old.body
  WHERE old.body IS NOT NULL AND old.body NOT IN (SELECT digest FROM loose);
END;

INSERT INTO counters VALUES (1, 1, 1, 1, 1, 1, 1);
INSERT INTO policy VALUES (1, 0);
