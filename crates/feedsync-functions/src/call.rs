//! Calls of functions, and their results.

use feedsync_formats::json::{Node, push_string};

use crate::error::CallError;

/// A call of a function of a design document. All values are JSON texts.
#[derive(Debug, Clone, Copy)]
pub enum Call<'a> {
    /// The names of all views with a map function, in the order in which [`Map`](Self::Map) returns their rows.
    Views,
    /// All map functions. The result has an element for each document, with an element for each view, which is a list of
    /// rows `[key, value]`. A view has no rows of a document for which its function throws an exception.
    Map {
        /// The documents, with `_id` and `_rev`.
        documents: &'a [&'a str],
    },
    /// A reduce function of several lists of rows. The result has its value for each list, `null` if it throws an exception.
    Reduce {
        /// Name of the view.
        view: &'a str,
        /// The lists.
        lists: &'a [ReduceList],
        /// Whether the values are results of the function.
        is_again: bool,
    },
    /// A filter function. The result has a Boolean value for each document.
    Filter {
        /// Name of the filter.
        name: &'a str,
        /// The documents.
        documents: &'a [&'a str],
        /// The request, as CouchDB describes it.
        request: &'a str,
    },
    /// A map function as a filter: whether the view has a row for each document.
    FilterByView {
        /// Name of the view.
        view: &'a str,
        /// The documents.
        documents: &'a [&'a str],
    },
    /// `validate_doc_update`. The result has an element for each update: `null`, or an object with `forbidden` or
    /// `unauthorized`, or with `thrown` for another exception.
    Validate {
        /// The new revisions, each with the revision on which it is based.
        updates: &'a [(&'a str, Option<&'a str>)],
        /// The user, as CouchDB describes it: name, roles and database.
        user: &'a str,
        /// The access rules of the database (`_security`).
        security: &'a str,
    },
}

/// The rows that a reduce function gets, as JSON.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReduceList {
    /// Pairs of the key of a row and the id of its document; `null` if the values are results of the function.
    pub keys: String,
    /// The values of these rows, or earlier results of the function.
    pub values: String,
}

impl Call<'_> {
    /// The call as JSON.
    pub(crate) fn to_text(self) -> String {
        let mut out = String::from("[\"");
        out.push_str(self.name());
        out.push('"');
        match self {
            Self::Views => {}
            Self::Map { documents } => push_list(&mut out, documents),
            Self::Reduce { view, lists, is_again } => {
                push_text(&mut out, view);
                let pair = |list: &ReduceList| format!("[{},{}]", list.keys, list.values);
                let pairs: Vec<String> = lists.iter().map(pair).collect();
                push_list(&mut out, &pairs);
                push_each(&mut out, &[if is_again { "true" } else { "false" }]);
            }
            Self::Filter { name, documents, request } => {
                push_text(&mut out, name);
                push_list(&mut out, documents);
                push_each(&mut out, &[request]);
            }
            Self::FilterByView { view, documents } => {
                push_text(&mut out, view);
                push_list(&mut out, documents);
            }
            Self::Validate { updates, user, security } => {
                let pair = |(document, before): &(&str, Option<&str>)| {
                    format!("[{document},{}]", before.unwrap_or("null"))
                };
                let pairs: Vec<String> = updates.iter().map(pair).collect();
                push_list(&mut out, &pairs);
                push_each(&mut out, &[user, security]);
            }
        }
        out.push(']');
        out
    }

    fn name(self) -> &'static str {
        match self {
            Self::Views => "views",
            Self::Map { .. } => "map",
            Self::Reduce { .. } => "reduce",
            Self::Filter { .. } => "filter",
            Self::FilterByView { .. } => "filter_by_view",
            Self::Validate { .. } => "validate",
        }
    }
}

fn push_text(out: &mut String, text: &str) {
    out.push(',');
    push_string(out, text);
}

fn push_each(out: &mut String, values: &[&str]) {
    for value in values {
        out.push(',');
        out.push_str(value);
    }
}

fn push_list(out: &mut String, values: &[impl AsRef<str>]) {
    out.push_str(",[");
    for (at, value) in values.iter().enumerate() {
        out.push_str(if at > 0 { "," } else { "" });
        out.push_str(value.as_ref());
    }
    out.push(']');
}

/// The result in the response of a sandbox.
pub(crate) fn result_of(response: &str) -> Result<String, CallError> {
    let response = Node::root(response);
    let text = |name: &str| {
        response.member(name).and_then(|member| member.value.string()).map(String::from)
    };
    if let Some(ok) = response.member("ok") {
        return Ok(ok.value.raw().to_owned());
    }
    let reason = text("reason").unwrap_or_default();
    Err(match text("refused").as_deref() {
        Some("missing") => CallError::Missing(reason),
        Some("compilation") => CallError::Compilation(reason),
        Some("output") => CallError::OutputLimit,
        Some("time") => CallError::TimeLimit,
        Some("memory") => CallError::MemoryLimit,
        _ => match text("thrown") {
            Some(thrown) => CallError::Thrown(thrown),
            None => CallError::Process("a response without a result".to_owned()),
        },
    })
}
