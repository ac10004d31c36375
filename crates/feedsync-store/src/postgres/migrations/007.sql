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

-- The users to whom collections are charged, by their ids: who made them. Of collections that exist already it is one of
-- their owners.
CREATE TABLE collection_owners (
  collection bigint PRIMARY KEY REFERENCES collections (id) ON DELETE CASCADE,
  owner      text   COLLATE "C" NOT NULL
);
CREATE INDEX collections_by_owner ON collection_owners (owner);
INSERT INTO collection_owners (collection, owner)
  SELECT g.collection, min(u.id) FROM grants g JOIN users u ON u.name = g.user_name AND NOT u.administrator
   WHERE g.role = 'owner' GROUP BY g.collection;
