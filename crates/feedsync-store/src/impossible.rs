//! Rows that there are none of in a sound store, as far as they are asked for alike wherever rows are kept.
//!
//! Rows of databases and documents refer to one another without foreign keys, since what was dropped goes piece by piece.

/// Each kind with its name, and a statement that finds them.
pub(crate) const IMPOSSIBLE: [(&str, &str); 5] = [
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
