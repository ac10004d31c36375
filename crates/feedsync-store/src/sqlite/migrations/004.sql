-- Remotes that are subscriptions: whoever serves the store reads them each time they are due. `every` is
-- in seconds, and NULL for all other remotes; `plain` says that entries without sync information are
-- imported, `reaches_private` that the address may lead into this network.
ALTER TABLE remotes ADD COLUMN every INTEGER;
ALTER TABLE remotes ADD COLUMN plain INTEGER NOT NULL DEFAULT 0;
ALTER TABLE remotes ADD COLUMN reaches_private INTEGER NOT NULL DEFAULT 0;
ALTER TABLE remotes ADD COLUMN due INTEGER;
