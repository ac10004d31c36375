-- Hosts whose servers asked to be left alone (429 or 503 with Retry-After).
CREATE TABLE holds (
  host  TEXT    PRIMARY KEY, -- host and port of an address, in lower case
  until INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
