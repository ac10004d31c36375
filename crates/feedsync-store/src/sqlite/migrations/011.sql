-- The last refusal of a push by a hub: when, the last change of the collection then, and the response.
ALTER TABLE remotes ADD COLUMN refused_at INTEGER;
ALTER TABLE remotes ADD COLUMN refused_up_to INTEGER;
ALTER TABLE remotes ADD COLUMN refusal TEXT;
