//! Rows of responses, as CouchDB writes them. Keys and values are JSON.

use feedsync_formats::json::push_string;

/// Appends a row: `{"id":"a","key":1,"value":null}`.
pub fn push_row(out: &mut String, id: &str, key: &str, value: &str) {
    push_open_row(out, id, key, value);
    out.push('}');
}

/// Appends a row with a document as JSON, or with `null`: `{"id":"a","key":1,"value":null,"doc":{}}`.
pub fn push_row_with_document(out: &mut String, id: &str, key: &str, value: &str, document: &str) {
    push_open_row(out, id, key, value);
    out.push_str(",\"doc\":");
    out.push_str(document);
    out.push('}');
}

/// Appends the row of a group: `{"key":["a"],"value":3}`. The key of the group of all rows is `null`.
pub fn push_group(out: &mut String, key: &str, value: &str) {
    out.push('{');
    push_key_and_value(out, key, value);
    out.push('}');
}

fn push_open_row(out: &mut String, id: &str, key: &str, value: &str) {
    out.push_str("{\"id\":");
    push_string(out, id);
    out.push(',');
    push_key_and_value(out, key, value);
}

fn push_key_and_value(out: &mut String, key: &str, value: &str) {
    for part in ["\"key\":", key, ",\"value\":", value] {
        out.push_str(part);
    }
}
