//! The security object of a database (`_security`): who may use it and who administers it.

use feedsync_formats::json::{Kind, Node};

use crate::json::{Json, quoted};
use crate::query::texts;
use crate::refusal::{Refusal, RefusalKind};

/// The security object of a database that has none of its own: only administrators of the server use it.
pub const DEFAULT_SECURITY: &str =
    r#"{"members":{"roles":["_admin"]},"admins":{"roles":["_admin"]}}"#;

/// Members that only the administrators of the server match.
const CLOSED: &str = r#"{"names":[],"roles":["_admin"]}"#;

/// A security object that names one user, as member and as administrator.
pub fn security_of(user: &str) -> String {
    let names = quoted(user);
    let group = format!("{{\"names\":[{names}],\"roles\":[]}}");
    format!("{{\"members\":{group},\"admins\":{group}}}")
}

/// The users and roles that a security object names.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Security {
    admins: Group,
    members: Group,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Group {
    names: Vec<String>,
    roles: Vec<String>,
}

impl Security {
    /// Reads a security object. An invalid one is refused, since it would name nobody or everybody.
    ///
    /// ```
    /// use feedsync_couch::{Json, Security};
    ///
    /// let json = br#"{"admins":{"names":["anna"]},"members":{"roles":["staff"]}}"#;
    /// let security = Security::read(Json::read(json.to_vec())?.root())?;
    /// assert!(security.is_administrator("anna", &[]));
    /// assert!(security.is_member("otto", &["staff".to_owned()]));
    /// assert!(!security.is_member("otto", &[]));
    /// # Ok::<(), feedsync_couch::Refusal>(())
    /// ```
    pub fn read(security: Node<'_>) -> Result<Self, Refusal> {
        Ok(Self {
            admins: Group::read(security, "admins")?,
            members: Group::read(security, "members")?,
        })
    }

    /// Whether a user with these roles administers the database.
    pub fn is_administrator(&self, user: &str, roles: &[String]) -> bool {
        self.admins.contains(user, roles)
    }

    /// Whether a user with these roles may read and write. Without any members, everybody may who signs in.
    pub fn is_member(&self, user: &str, roles: &[String]) -> bool {
        let is_open = self.members == Group::default();
        is_open || self.members.contains(user, roles) || self.is_administrator(user, roles)
    }
}

impl Group {
    fn read(security: Node<'_>, part: &str) -> Result<Self, Refusal> {
        let refuse = |reason: String| RefusalKind::BadRequest.with_reason(reason);
        let Some(member) = security.member(part) else { return Ok(Self::default()) };
        if member.value.kind() != Kind::Object {
            return Err(refuse(format!("{part} must be a JSON object")));
        }
        let list = |name: &str| match member.value.member(name) {
            None => Ok(Vec::new()),
            Some(list) => texts(list.value)
                .map_err(|_| refuse(format!("{part}.{name} must be a JSON list of strings"))),
        };
        Ok(Self { names: list("names")?, roles: list("roles")? })
    }

    fn contains(&self, user: &str, roles: &[String]) -> bool {
        self.names.iter().any(|name| name == user)
            || self.roles.iter().any(|role| roles.contains(role))
    }
}

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

    fn access(security: &str, user: &str, roles: &[&str]) -> (bool, bool) {
        let json = Json::read(security.as_bytes().to_vec()).unwrap();
        let security = Security::read(json.root()).unwrap();
        let roles: Vec<String> = roles.iter().map(ToString::to_string).collect();
        (security.is_administrator(user, &roles), security.is_member(user, &roles))
    }

    #[test]
    fn names_and_roles_give_access() {
        let by_name = r#"{"admins":{"names":["anna"]},"members":{"names":["otto"]}}"#;
        let by_role = r#"{"admins":{"roles":["chiefs"]},"members":{"roles":["staff"]}}"#;
        for (security, user, roles, expected) in [
            (by_name, "anna", &[][..], (true, true)),
            (by_name, "otto", &[], (false, true)),
            (by_name, "nora", &["anna", "otto"], (false, false)),
            (by_role, "nora", &["chiefs"], (true, true)),
            (by_role, "nora", &["other", "staff"], (false, true)),
            (by_role, "staff", &[], (false, false)),
            (r#"{"admins":{"names":["anna"]}}"#, "nora", &[], (false, true)),
            (r#"{"members":{"names":[],"roles":[]}}"#, "nora", &[], (false, true)),
            (DEFAULT_SECURITY, "nora", &["staff"], (false, false)),
            ("{}", "nora", &[], (false, true)),
        ] {
            assert_eq!(access(security, user, roles), expected, "{security} {user} {roles:?}");
        }
        for invalid in
            [r#"{"admins":[]}"#, r#"{"members":{"names":"otto"}}"#, r#"{"members":{"roles":[1]}}"#]
        {
            let json = Json::read(invalid.as_bytes().to_vec()).unwrap();
            assert!(Security::read(json.root()).is_err(), "{invalid}");
        }
    }

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
