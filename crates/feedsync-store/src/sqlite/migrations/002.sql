-- A nonce that the file `feedsync.life` beside the database holds too. Both are renewed as the store
-- is written to, so that an older copy of the database, put back, differs from the file.
ALTER TABLE endpoint ADD COLUMN life TEXT;
