//! Inconsistent rows that no sound store has, as far as the same statements find them in every SQL backend.
//!
//! Rows of databases and documents reference each other without foreign keys, since a dropped database is
//! removed piece by piece.

/// Name of each kind of inconsistency, and a statement that finds it.
pub(crate) const INCONSISTENCIES: [(&str, &str); 5] = [
    (
        "documents without a database",
        "SELECT 1 FROM documents t WHERE NOT EXISTS (SELECT 1 FROM databases d WHERE d.id = t.database)",
    ),
    (
        "documents with a change number that their database has not reached",
        "SELECT 1 FROM documents t JOIN databases d ON d.id = t.database WHERE t.number > d.last",
    ),
    (
        "databases with a wrong count of documents",
        "SELECT 1 FROM databases d WHERE name IS NOT NULL AND (documents, deleted) <>
           (SELECT count(*) FILTER (WHERE NOT t.deleted), count(*) FILTER (WHERE t.deleted)
              FROM documents t WHERE t.database = d.id)",
    ),
    (
        "local documents without a database",
        "SELECT 1 FROM local_documents t WHERE NOT EXISTS (SELECT 1 FROM databases d WHERE d.id = t.database)",
    ),
    (
        "attachments without a database",
        "SELECT 1 FROM attachments t WHERE NOT EXISTS (SELECT 1 FROM databases d WHERE d.id = t.database)",
    ),
];
