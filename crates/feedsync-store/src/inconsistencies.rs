//! Inconsistent rows that no sound store has, as far as the same statements find them in every SQL backend.
//!
//! Rows of databases and documents reference each other without foreign keys, since a dropped database is
//! removed piece by piece.

/// Name of each kind of inconsistency, and a statement that finds it.
pub(crate) const INCONSISTENCIES: [(&str, &str); 5] = [
    (
        "documents of no database",
        "SELECT 1 FROM documents t WHERE NOT EXISTS (SELECT 1 FROM databases d WHERE d.id = t.database)",
    ),
    (
        "documents with a number that their database has not reached",
        "SELECT 1 FROM documents t JOIN databases d ON d.id = t.database WHERE t.number > d.last",
    ),
    (
        "databases whose count of documents is wrong",
        "SELECT 1 FROM databases d WHERE name IS NOT NULL AND (documents, deleted) <>
           (SELECT count(*) FILTER (WHERE NOT t.deleted), count(*) FILTER (WHERE t.deleted)
              FROM documents t WHERE t.database = d.id)",
    ),
    (
        "local documents of no database",
        "SELECT 1 FROM local_documents t WHERE NOT EXISTS (SELECT 1 FROM databases d WHERE d.id = t.database)",
    ),
    (
        "attachments of no database",
        "SELECT 1 FROM attachments t WHERE NOT EXISTS (SELECT 1 FROM databases d WHERE d.id = t.database)",
    ),
];
