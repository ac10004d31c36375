//! Rows of the views of design documents: their updates, reads, and the contents of their nodes.
//!
//! A transaction that changes rows or contents holds the lock of their set. It is taken after the lock of the database,
//! and before anything is read that the change depends on.

mod columns;
mod nodes;
mod pages;
mod sets;
mod update;

pub(super) use self::nodes::{nodes, put_nodes};
pub(super) use self::pages::{ranges, rows};
pub(super) use self::sets::{begin, drop_others, find};
pub(super) use self::update::{remove_documents, update};

/// The statements whose plans are tested, with the types and values of their parameters.
#[cfg(test)]
pub(super) const STATEMENTS: [(&str, &str, &str); 14] = [
    (sets::FIND, "text, bytea", "'notes', 'a'"),
    (sets::VIEWS, "bigint", "1"),
    (sets::STATE, "text, bigint, bigint", "'notes', 1, 2"),
    (pages::ASCENDING, PAGE, "1, 2, 'a', 'b', 3, 4"),
    (pages::DESCENDING, PAGE, "1, 2, 'a', 'b', 3, 4"),
    (pages::RANGES_ASCENDING, RANGES, "1, 2, '{a}', '{b}', 3"),
    (pages::RANGES_DESCENDING, RANGES, "1, 2, '{a}', '{b}', 3"),
    (nodes::NODES, "bigint, bigint, bigint, bytea, bytea, bigint", "1, 2, 3, 'a', 'b', 4"),
    (
        nodes::PUT,
        "bigint, bigint, bigint, bytea[], bigint[], bytea[]",
        "1, 2, 3, '{a}', '{4}', '{b}'",
    ),
    (nodes::FORGET, "bigint, bigint, bigint[], bytea[]", "1, 2, '{3}', '{a}'"),
    (update::OF_DOCUMENTS, "bigint, bytea[], bytea[], boolean", "1, '{a}', '{b}', true"),
    (update::PRESENT, "bigint, bytea[], bytea[]", "1, '{a}', '{b}'"),
    (columns::REMOVE_ROWS, "bigint, bigint, bytea[]", "1, 2, '{a}'"),
    (columns::REMOVE_NODES, "bigint, bigint, bigint[], bytea[]", "1, 2, '{3}', '{a}'"),
];

#[cfg(test)]
const RANGES: &str = "bigint, bigint, bytea[], bytea[], bigint";

#[cfg(test)]
const PAGE: &str = "bigint, bigint, bytea, bytea, bigint, bigint";
