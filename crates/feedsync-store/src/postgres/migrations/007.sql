-- The bytes of what is stored, for quotas: of the payloads of the versions of a collection's items, and of the local
-- documents of a database. Those have a table of their own, since local documents are written beside other documents,
-- which change the row of the database.
ALTER TABLE collections ADD COLUMN bytes bigint NOT NULL DEFAULT 0;
UPDATE collections SET bytes =
  (SELECT coalesce(sum(octet_length(i.payload) + coalesce(octet_length(i.sync_foreign), 0)), 0)
     FROM items i WHERE i.collection = collections.id)
  + (SELECT coalesce(sum(octet_length(c.payload) + coalesce(octet_length(c.sync_foreign), 0)), 0)
       FROM conflicts c WHERE c.collection = collections.id);

CREATE TABLE local_bytes (
  database bigint PRIMARY KEY REFERENCES databases (id) ON DELETE CASCADE,
  bytes    bigint NOT NULL
);
INSERT INTO local_bytes (database, bytes)
  SELECT database, sum(octet_length(text)) FROM local_documents GROUP BY database;
