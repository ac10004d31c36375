-- Feeds whose times a clock that was ahead has written are found without reading all of them.
CREATE INDEX checked ON feeds (checked) WHERE readers > 0;
CREATE INDEX claimed ON feeds (claimed) WHERE claimed IS NOT NULL;
