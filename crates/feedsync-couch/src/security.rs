//! The security object of a database (`_security`), and user names in it.

use feedsync_formats::json::Node;

use crate::json::Json;

/// The security object of a database that has none of its own: only administrators of the server use it.
pub const DEFAULT_SECURITY: &str =
    r#"{"members":{"roles":["_admin"]},"admins":{"roles":["_admin"]}}"#;

/// Members that only the administrators of the server match.
const CLOSED: &str = r#"{"names":[],"roles":["_admin"]}"#;

/// Returns a security object without a user's name, or `None` if it does not name the user.
///
/// An empty list of members would open the database to everybody who signs in. If the user was the last member,
/// only administrators remain.
pub fn without_user(security: &str, user: &str) -> Option<String> {
    let json = Json::read(security.as_bytes().to_vec()).ok()?;
    let root = json.root();
    let mut edits = Vec::new();
    for part in ["admins", "members"] {
        let Some(part_value) = root.member(part).map(|member| member.value) else { continue };
        let Some(names) = part_value.member("names").map(|member| member.value) else { continue };
        let is_user = |node: &Node<'_>| node.string().is_some_and(|name| name == user);
        let (named, others): (Vec<_>, Vec<_>) = names.elements().partition(is_user);
        if named.is_empty() {
            continue;
        }
        let has_roles = part_value
            .member("roles")
            .is_some_and(|member| member.value.elements().next().is_some());
        if part == "members" && others.is_empty() && !has_roles {
            edits.push((part_value.span(), CLOSED.to_owned()));
        } else {
            let others: Vec<&str> = others.into_iter().map(Node::raw).collect();
            edits.push((names.span(), format!("[{}]", others.join(","))));
        }
    }
    if edits.is_empty() {
        return None;
    }
    // The last edit is applied first, so that earlier offsets stay valid.
    edits.sort_by_key(|(span, _)| std::cmp::Reverse(span.start));
    let mut text = security.to_owned();
    for (span, replacement) in edits {
        text.replace_range(span, &replacement);
    }
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn database_stays_closed_when_its_last_member_is_removed() {
        for (before, after) in [
            (
                r#"{"members":{"names":["anna"]}}"#,
                Some(r#"{"members":{"names":[],"roles":["_admin"]}}"#),
            ),
            (
                r#"{"members":{"names":["\u0061nna","otto"]},"admins":{"names":["anna"],"roles":[]},"x":1}"#,
                Some(r#"{"members":{"names":["otto"]},"admins":{"names":[],"roles":[]},"x":1}"#),
            ),
            (
                r#"{"members":{"roles":["_admin"],"names":["anna"]}}"#,
                Some(r#"{"members":{"roles":["_admin"],"names":[]}}"#),
            ),
            (r#"{"members":{"names":["otto"]},"admins":{"names":["annabel"]}}"#, None),
            (r#"{"members":{"names":[]}}"#, None),
            ("not JSON", None),
        ] {
            assert_eq!(without_user(before, "anna").as_deref(), after, "{before}");
        }
    }
}
