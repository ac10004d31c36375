//! Revising a JSON object.

use super::{Edits, ReviseError, Revision};
use crate::entry::{CONTENTS, ContentType, TITLES, named_member};
use crate::json::{Kind, Node, check, push_string, push_with};
use crate::options::Limits;

pub(super) fn revise(text: &str, revision: &Revision) -> Result<String, ReviseError> {
    check(text, Limits::default().depth)
        .map_err(|malformed| ReviseError::Payload(malformed.message))?;
    let object = Node::root(text);
    if object.kind() != Kind::Object {
        return Err(ReviseError::Payload("it is not a JSON object".into()));
    }
    let mut edits = Edits::default();
    let mut added: Vec<(&str, String)> = Vec::new();
    let mut set = |names: &[&'static str], value: String| match named_member(object, names) {
        Some(member) => edits.replace(member.value.span(), quoted(&value)),
        None => added.push((names[0], value)),
    };
    if let Some(title) = &revision.title {
        set(&TITLES, title.clone());
    }
    if let Some(content) = &revision.content {
        set(&CONTENTS, content.clone());
        if revision.content_type != ContentType::Text || object.member("content_type").is_some() {
            set(&["content_type"], revision.content_type.name().to_owned());
        }
    }
    if let Some(updated) = revision.updated
        && named_member(object, &["updated", "modified"]).is_some()
    {
        set(&["updated", "modified"], updated.to_string());
    }
    let mut revised = edits.apply(text);
    for (name, value) in added {
        let mut longer = String::new();
        push_with(&mut longer, &revised, name, |out| push_string(out, &value));
        revised = longer;
    }
    Ok(revised)
}

fn quoted(text: &str) -> String {
    let mut out = String::new();
    push_string(&mut out, text);
    out
}
