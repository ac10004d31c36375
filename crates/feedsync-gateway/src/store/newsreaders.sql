-- What newsreaders ask and change.

-- Who was answered by a server of newsreaders. What they sign in with and their sessions are JSON.
CREATE TABLE account (
  partition BLOB PRIMARY KEY,
  interface TEXT NOT NULL,
  base TEXT NOT NULL,
  sign_in TEXT NOT NULL,
  sessions TEXT NOT NULL,
  seen INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Answers, by what was asked, and what each says of articles in short. The stamp is the place of the last change
-- that is in it.
CREATE TABLE kept (
  partition BLOB NOT NULL,
  key BLOB NOT NULL,
  kind INTEGER NOT NULL,
  stamp INTEGER NOT NULL,
  fetched INTEGER NOT NULL,
  media_type TEXT NOT NULL,
  content BLOB NOT NULL,
  length INTEGER NOT NULL,
  facts BLOB NOT NULL,
  UNIQUE (partition, key)
) STRICT;

-- Changes in their order: what is asked of the server, if it does not have them yet, and what becomes of which
-- article, as JSON.
CREATE TABLE written (
  id INTEGER PRIMARY KEY,
  partition BLOB NOT NULL,
  is_sent INTEGER NOT NULL,
  change TEXT NOT NULL
) STRICT;

CREATE TRIGGER kept_gone AFTER DELETE ON kept BEGIN
  INSERT INTO loose SELECT old.content
  WHERE old.content NOT IN (SELECT digest FROM loose);
END;
CREATE TRIGGER kept_changed AFTER UPDATE OF content ON kept WHEN old.content <> new.content BEGIN
  INSERT INTO loose SELECT old.content
  WHERE old.content NOT IN (SELECT digest FROM loose);
END;
