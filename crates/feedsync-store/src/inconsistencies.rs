//! Inconsistent rows that no sound store has, as far as the same statements find them in every SQL backend.
//!
//! Rows of databases and documents reference each other without foreign keys, since a dropped database is
//! removed piece by piece.

/// Name of each kind of inconsistency, and a statement that finds it.
pub(crate) const INCONSISTENCIES: [(&str, &str); 13] = [
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
    (
        "ended revisions without a database",
        "SELECT 1 FROM ended_revisions t WHERE NOT EXISTS (SELECT 1 FROM databases d WHERE d.id = t.database)",
    ),
    (
        "databases with a wrong count of bytes that only the history keeps",
        "SELECT 1 FROM databases d WHERE name IS NOT NULL AND history_bytes <>
           (SELECT coalesce(sum(t.length + t.attached), 0) FROM ended_revisions t
             WHERE t.database = d.id AND t.held)",
    ),
    (
        "views without a database",
        "SELECT 1 FROM view_sets s
          WHERE database IS NOT NULL AND NOT EXISTS (SELECT 1 FROM databases d WHERE d.id = s.database)",
    ),
    (
        "rows of views without a view",
        "SELECT 1 FROM view_rows r
          WHERE NOT EXISTS (SELECT 1 FROM stored_views v JOIN view_sets s ON s.id = v.view_set
                             WHERE v.view_set = r.view_set AND v.view = r.view)",
    ),
    (
        "views with a wrong count of rows",
        "SELECT 1 FROM stored_views v JOIN view_sets s ON s.id = v.view_set
          WHERE s.database IS NOT NULL AND v.rows <>
           (SELECT count(*) FROM view_rows r WHERE r.view_set = v.view_set AND r.view = v.view)",
    ),
    (
        "nodes of views that no row begins",
        "SELECT 1 FROM view_nodes n JOIN view_sets s ON s.id = n.view_set
          WHERE s.database IS NOT NULL AND NOT EXISTS
           (SELECT 1 FROM view_rows r WHERE r.view_set = n.view_set AND r.view = n.view
                                        AND r.position = n.position AND r.level >= n.level)",
    ),
    (
        "rows of views that begin nodes that are missing",
        "SELECT 1 FROM view_rows r JOIN view_sets s ON s.id = r.view_set
          WHERE s.database IS NOT NULL AND r.level > 0 AND r.level <>
           (SELECT count(*) FROM view_nodes n WHERE n.view_set = r.view_set AND n.view = r.view
               AND n.level IN (1, 2, 3, 4) AND +n.level <= r.level AND n.position = r.position)",
    ),
    (
        "contents of nodes in views that are marked to have none",
        "SELECT 1 FROM stored_views v JOIN view_nodes n ON n.view_set = v.view_set AND n.view = v.view
          WHERE n.rows IS NOT NULL AND NOT v.has_contents",
    ),
];
