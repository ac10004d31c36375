-- Append-only logs, at most one of a collection; whoever changes one holds the collection's row. A log that
-- was removed remembers its generation.
CREATE TABLE logs (
  collection bigint  PRIMARY KEY,
  generation text    COLLATE "C" NOT NULL, -- a number that grows, '.', 8 random digits
  length     bigint  NOT NULL,
  media_type text    NOT NULL,
  removed    boolean NOT NULL,
  began      bigint  NOT NULL,             -- the current generation
  changed    bigint  NOT NULL
) WITH (fillfactor = 50);

-- The greatest number of a generation of logs that were dropped with their collections: a log begins later.
ALTER TABLE endpoint ADD COLUMN last_dropped_generation bigint NOT NULL DEFAULT 0;

-- Earlier generations whose bytes are still here.
CREATE TABLE log_generations (
  collection bigint NOT NULL,
  generation text   COLLATE "C" NOT NULL,
  length     bigint NOT NULL,
  ended      bigint NOT NULL,
  PRIMARY KEY (collection, generation)
);

-- The bytes of all generations, in rows of at most 64 KiB: where in its generation each begins. An append
-- makes a row of its own, and rows of short appends become one as soon as they are so many bytes. Bytes of a
-- generation that stands in none of the other tables are nobody's, and go when logs are swept.
CREATE TABLE log_bytes (
  collection bigint NOT NULL,
  generation text   COLLATE "C" NOT NULL,
  start      bigint NOT NULL,
  bytes      bytea  NOT NULL,
  PRIMARY KEY (collection, generation, start)
);
-- So that a part of a long row is read without the rest.
ALTER TABLE log_bytes ALTER COLUMN bytes SET STORAGE EXTERNAL;

-- The last appends that had a key, in their order: what was appended, and where it ended.
CREATE TABLE log_keys (
  collection bigint NOT NULL,
  ordinal    bigint GENERATED ALWAYS AS IDENTITY,
  key        text   COLLATE "C" NOT NULL,
  digest     bytea  NOT NULL,
  length     bigint NOT NULL,
  generation text   COLLATE "C" NOT NULL,
  ends       bigint NOT NULL,
  PRIMARY KEY (collection, ordinal),
  UNIQUE (collection, key)
);

-- The snapshot that stands beside a log, and how much of which generation it stands for.
CREATE TABLE log_snapshots (
  collection bigint PRIMARY KEY,
  generation text   COLLATE "C" NOT NULL,
  covers     bigint NOT NULL,
  media_type text   NOT NULL,
  digest     bytea  NOT NULL,
  stored     bigint NOT NULL,
  content    bytea  NOT NULL
);
ALTER TABLE log_snapshots ALTER COLUMN content SET STORAGE EXTERNAL;
