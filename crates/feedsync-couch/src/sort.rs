//! Orders of documents: fields with one direction.

use feedsync_formats::json::{Kind, Node, push_string};

use crate::json::text;
use crate::refusal::{Refusal, RefusalKind};
use crate::selector::path;

/// Maximum number of fields.
pub const MAX_SORT_FIELDS: usize = 100;

/// The fields of a sort order or of an index, all in the same direction, which CouchDB demands.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Sort {
    /// The fields, the most significant one first.
    pub fields: Vec<SortField>,
    /// Whether the order is descending.
    pub is_descending: bool,
}

/// A field of a sort order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SortField {
    /// The field as written in the request: names with dots between them.
    pub name: String,
    pub(crate) path: Vec<String>,
}

impl Sort {
    /// Parses an array, whose elements are a field or an object of a field and its direction:
    /// `["a", {"b.c": "asc"}]`.
    pub fn read(sent: Node<'_>) -> Result<Self, Refusal> {
        if sent.kind() != Kind::Array {
            return Err(RefusalKind::InvalidSort.with_reason(format_args!(
                "Sort must be an array of sort specs, not: {}",
                sent.raw()
            )));
        }
        let field = |element: Node<'_>| {
            if let Some(name) = text(element) {
                return SortField::of(&name).map(|field| (field, false));
            }
            let mut members = element.members();
            let (member, None) = (members.next()?, members.next()) else { return None };
            directed(&member.name, member.value)
        };
        Self::of(sent.elements().map(|element| {
            field(element).ok_or_else(|| {
                let reason = format!("Invalid sort field: {}", element.raw());
                RefusalKind::InvalidSortField.with_reason(reason)
            })
        }))
    }

    /// Parses an object of fields and their directions, which design documents contain.
    pub(crate) fn read_stored(stored: Node<'_>) -> Result<Self, Refusal> {
        Self::of(stored.members().map(|member| {
            directed(&member.name, member.value).ok_or_else(|| {
                let reason = format!("Invalid sort field: {}", member.raw());
                RefusalKind::InvalidSortField.with_reason(reason)
            })
        }))
    }

    fn of(
        fields: impl Iterator<Item = Result<(SortField, bool), Refusal>>,
    ) -> Result<Self, Refusal> {
        let mut sort = Self::default();
        for (at, field) in fields.enumerate() {
            let (field, is_descending) = field?;
            if at == MAX_SORT_FIELDS {
                let reason = format!("There can be at most {MAX_SORT_FIELDS} sort fields.");
                return Err(RefusalKind::InvalidSort.with_reason(reason));
            }
            if at > 0 && is_descending != sort.is_descending {
                let reason = "Sorts currently only support a single direction for all fields.";
                return Err(RefusalKind::MixedSort.with_reason(reason));
            }
            sort.is_descending = is_descending;
            sort.fields.push(field);
        }
        Ok(sort)
    }

    /// Appends the members of an object: each field with its direction.
    pub(crate) fn push_members(&self, out: &mut String, between: &str) {
        for (at, field) in self.fields.iter().enumerate() {
            out.push_str(if at > 0 { between } else { "" });
            push_string(out, &field.name);
            out.push_str(if self.is_descending { ":\"desc\"" } else { ":\"asc\"" });
        }
    }
}

fn directed(name: &str, direction: Node<'_>) -> Option<(SortField, bool)> {
    let is_descending = match direction.raw() {
        "\"asc\"" => false,
        "\"desc\"" => true,
        _ => return None,
    };
    SortField::of(name).map(|field| (field, is_descending))
}

impl SortField {
    pub(crate) fn of(name: &str) -> Option<Self> {
        path(name).map(|path| Self { name: name.to_owned(), path })
    }
}
