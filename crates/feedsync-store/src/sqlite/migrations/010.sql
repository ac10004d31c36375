-- The bytes of what is stored, for quotas: of the payloads of the versions of a collection's items, and of the local
-- documents of a database.
ALTER TABLE collections ADD COLUMN bytes INTEGER NOT NULL DEFAULT 0;
UPDATE collections SET bytes =
  (SELECT coalesce(sum(octet_length(i.payload) + coalesce(octet_length(i.sync_foreign), 0)), 0)
     FROM items i WHERE i.collection = collections.id)
  + (SELECT coalesce(sum(octet_length(c.payload) + coalesce(octet_length(c.sync_foreign), 0)), 0)
       FROM items i JOIN conflicts c ON c.change_key = i.change_key WHERE i.collection = collections.id);

ALTER TABLE databases ADD COLUMN local_bytes INTEGER NOT NULL DEFAULT 0;
UPDATE databases SET local_bytes =
  (SELECT coalesce(sum(octet_length(l.text)), 0) FROM local_documents l WHERE l.database = databases.id);

-- The users to whom collections are charged, by their ids: who made them. Of collections that exist already it is one of
-- their owners.
CREATE TABLE collection_owners (
  collection INTEGER PRIMARY KEY REFERENCES collections (id) ON DELETE CASCADE,
  owner      TEXT    NOT NULL
) STRICT;
CREATE INDEX collections_by_owner ON collection_owners (owner);
INSERT INTO collection_owners (collection, owner)
  SELECT g.collection, min(u.id) FROM grants g JOIN users u ON u.name = g.user AND u.administrator = 0
   WHERE g.role = 'owner' GROUP BY g.collection;
