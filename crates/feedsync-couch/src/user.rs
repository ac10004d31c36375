//! Documents of the database of users (`_users`): the form that CouchDB gives them, and who may write them.

mod hashed;

use std::collections::HashSet;

use feedsync_formats::json::{Kind, Node};

use crate::document::Body;
use crate::json::text;
use crate::name::DocumentId;
use crate::query::texts;
use crate::refusal::{Refusal, RefusalKind};

pub use hashed::{HashedPassword, MAX_PASSWORD_ITERATIONS, PasswordDigest};

/// Beginning of the ids of all documents that stand for a user.
pub const USER_ID_PREFIX: &str = "org.couchdb.user:";

/// Maximum size of the body of such a document, in bytes.
pub const MAX_USER_BYTES: usize = 64 << 10;

/// Content of the document of a user.
///
/// ```
/// use feedsync_couch::{Json, UserDocument};
///
/// let json = br#"{"type":"user","name":"anna","roles":["editor"],"password":"correct horse"}"#;
/// let json = Json::read(json.to_vec())?;
/// let user = UserDocument::read(&"org.couchdb.user:anna".parse()?, json.root())?;
/// assert_eq!((&*user.name, &user.roles[..]), ("anna", &["editor".to_owned()][..]));
/// assert_eq!(user.password.as_deref(), Some("correct horse"));
/// # Ok::<(), feedsync_couch::Refusal>(())
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct UserDocument {
    /// Name of the user.
    pub name: String,
    /// Roles of the user, which `_security` of databases can name.
    pub roles: Vec<String>,
    /// The new password, if the document sets one.
    pub password: Option<String>,
    /// The new password in the form in which CouchDB stores it, if the document has that. Only administrators may set it.
    pub hashed: Option<HashedPassword>,
}

impl std::fmt::Debug for UserDocument {
    /// Hides the password.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { name, roles, .. } = self;
        f.debug_struct("UserDocument").field("name", name).field("roles", roles).finish()
    }
}

/// Writer of a document of a user.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UserWriter<'a> {
    /// Name of the writer; `None` without a sign-in.
    pub name: Option<&'a str>,
    /// Whether the writer is an administrator of the server.
    pub is_administrator: bool,
}

/// Returns the id of the document of a user.
pub fn user_document_id(name: &str) -> Result<DocumentId, Refusal> {
    format!("{USER_ID_PREFIX}{name}").parse()
}

/// Returns the name in the id of a document of a user; `None` for other ids.
pub fn user_of_id(id: &DocumentId) -> Option<&str> {
    id.as_str().strip_prefix(USER_ID_PREFIX)
}

impl UserDocument {
    /// Checks the body of a document that is to be written.
    pub fn read(id: &DocumentId, body: Node<'_>) -> Result<Self, Refusal> {
        let refuse = |reason: &str| Err(RefusalKind::Forbidden.with_reason(reason));
        let mut seen = HashSet::new();
        if let Some(repeated) = body.members().find(|it| !seen.insert(it.name.to_string())) {
            return refuse(&format!("{} occurs twice in the document", repeated.name));
        }
        if body.raw().len() > MAX_USER_BYTES {
            return refuse(&format!("a document of a user has at most {MAX_USER_BYTES} bytes"));
        }
        let member = |name: &str| body.member(name).map(|it| it.value);
        if member("type").and_then(text).as_deref() != Some("user") {
            return refuse("type must be \"user\"");
        }
        let Some(name) = member("name").and_then(text) else {
            return refuse("name must be a text");
        };
        if user_of_id(id) != Some(&*name) {
            return refuse(&format!("_id must be {USER_ID_PREFIX} followed by the name"));
        }
        let Some(roles) = member("roles").and_then(|roles| texts(roles).ok()) else {
            return refuse("roles must be a list of texts");
        };
        if let Some(role) = roles.iter().find(|role| role.starts_with('_')) {
            return refuse(&format!("the role {role} is reserved, as all that begin with _"));
        }
        let password = match member("password") {
            None => None,
            Some(sent) if sent.kind() == Kind::Null => None,
            Some(sent) => match text(sent) {
                Some(password) => Some(password.into_owned()),
                None => return refuse("password must be a text"),
            },
        };
        let hashed = HashedPassword::read(body)?;
        if password.is_some() && hashed.is_some() {
            return refuse("password and a hashed password exclude each other");
        }
        Ok(Self { name: name.into_owned(), roles, password, hashed })
    }

    /// Whether a writer may write this document over the stored one, whose roles are given.
    pub fn check_writer(
        &self,
        writer: UserWriter<'_>,
        stored_roles: Option<&[String]>,
    ) -> Result<(), Refusal> {
        if writer.is_administrator {
            return Ok(());
        }
        if stored_roles.is_some() && writer.name != Some(&self.name) {
            let reason = "You may only update your own user document.";
            return Err(RefusalKind::Forbidden.with_reason(reason));
        }
        if self.hashed.is_some() {
            let reason = "Only administrators may set a hashed password. Set `password` instead.";
            return Err(RefusalKind::Forbidden.with_reason(reason));
        }
        if self.roles != stored_roles.unwrap_or_default() {
            let reason = "Only administrators may set roles.";
            return Err(RefusalKind::Forbidden.with_reason(reason));
        }
        Ok(())
    }

    /// Returns a body without its password and hashes, as it is stored.
    pub fn without_password(body: &Body) -> Body {
        Body::with_members(
            body.root(),
            |name| name == "password" || hashed::MEMBERS.contains(&name),
            &[],
        )
    }
}

/// The roles in a stored document of a user.
pub fn roles_of_user(body: Node<'_>) -> Vec<String> {
    let roles = body.member("roles").and_then(|roles| texts(roles.value).ok());
    roles.unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::Json;

    fn read(id: &str, json: &str) -> Result<UserDocument, Refusal> {
        let json = Json::read(json.as_bytes().to_vec()).unwrap();
        UserDocument::read(&id.parse().unwrap(), json.root())
    }

    #[test]
    fn documents_of_users_have_the_form_of_couchdb() {
        let anna = "org.couchdb.user:anna";
        let user = read(anna, r#"{"name":"anna","type":"user","roles":["a","b"],"password":null}"#);
        let user = user.unwrap();
        assert_eq!(user.roles, ["a", "b"]);
        assert_eq!(user.password, None);
        for (id, json, part) in [
            ("anna", r#"{"name":"anna","type":"user","roles":[]}"#, "_id"),
            (anna, r#"{"name":"otto","type":"user","roles":[]}"#, "_id"),
            (anna, r#"{"type":"user","roles":[]}"#, "name"),
            (anna, r#"{"name":"anna","roles":[]}"#, "type"),
            (anna, r#"{"name":"anna","type":"x","roles":[]}"#, "type"),
            (anna, r#"{"name":"anna","type":"user"}"#, "roles"),
            (anna, r#"{"name":"anna","type":"user","roles":[1]}"#, "roles"),
            (anna, r#"{"name":"anna","type":"user","roles":["_admin"]}"#, "_admin"),
            (anna, r#"{"name":"anna","type":"user","roles":[],"roles":["a"]}"#, "roles"),
            (anna, r#"{"name":"anna","type":"user","roles":[],"password":1}"#, "password"),
            (anna, r#"{"name":"anna","type":"user","roles":[],"derived_key":"x"}"#, "derived_key"),
        ] {
            let refusal = read(id, json).unwrap_err();
            assert_eq!(refusal.kind, RefusalKind::Forbidden, "{json}");
            assert!(refusal.to_string().contains(part), "{json}: {refusal}");
        }
        let large = format!(
            r#"{{"name":"anna","type":"user","roles":[],"x":{:?}}}"#,
            "x".repeat(MAX_USER_BYTES)
        );
        assert!(read(anna, &large).unwrap_err().to_string().contains("bytes"));
    }

    /// The example of CouchDB's documentation.
    const JAN: &str = r#"{"derived_key":"e579375db0e0c6a6fc79cd9e36a36859f71575c3","iterations":10,"name":"jan",
        "password_scheme":"pbkdf2","roles":[],"salt":"1112283cf988a34f124200a050d308a1","type":"user"}"#;

    #[test]
    fn password_that_couchdb_hashed_is_for_administrators() {
        let jan = "org.couchdb.user:jan";
        let user = read(jan, JAN).unwrap();
        let hashed = user.hashed.clone().unwrap();
        assert_eq!((hashed.digest, hashed.iterations), (PasswordDigest::Sha1, 10));
        assert!(!format!("{user:?} {hashed:?}").contains(&hashed.derived_key));
        for (is_administrator, name) in [(true, None), (false, None), (false, Some("jan"))] {
            let allowed = user.check_writer(UserWriter { name, is_administrator }, None);
            assert_eq!(allowed.is_ok(), is_administrator, "{name:?}");
        }
        let key = "0".repeat(64);
        let newer = JAN
            .replace("e579375db0e0c6a6fc79cd9e36a36859f71575c3", &key)
            .replace("\"iterations\"", "\"pbkdf2_prf\":\"sha256\",\"iterations\"");
        assert_eq!(read(jan, &newer).unwrap().hashed.unwrap().digest, PasswordDigest::Sha256);
        for (from, to) in [
            ("\"pbkdf2\"", "\"simple\""),
            ("\"password_scheme\":\"pbkdf2\",", ""),
            (":10,", ":0,"),
            (":10,", ":1000001,"),
            (":10,", ":1.5,"),
            (":10,", ":\"10\","),
            ("1112283cf988a34f124200a050d308a1", ""),
            ("1112283cf988a34f124200a050d308a1", "a$b"),
            ("e579375db0e0c6a6fc79cd9e36a36859f71575c3", "e579"),
            (
                "e579375db0e0c6a6fc79cd9e36a36859f71575c3",
                "x579375db0e0c6a6fc79cd9e36a36859f71575c3",
            ),
            ("\"iterations\"", "\"pbkdf2_prf\":\"md5\",\"iterations\""),
            ("\"iterations\"", "\"password\":\"a\",\"iterations\""),
        ] {
            let changed = JAN.replace(from, to);
            assert_ne!(changed, JAN);
            let refusal = read(jan, &changed).unwrap_err();
            assert_eq!(refusal.kind, RefusalKind::Forbidden, "{to}: {refusal}");
        }
        let stored = UserDocument::without_password(&Body::kept(JAN.to_owned()));
        assert_eq!(stored.as_str(), r#"{"name":"jan","roles":[],"type":"user"}"#);
    }

    #[test]
    fn password_is_removed_and_nothing_else() {
        for (before, after) in [
            (r#"{"password":"a","name":"x"}"#, r#"{"name":"x"}"#),
            (
                r#"{"name":"x","pass\u0077ord":"a","y":{"password":1}}"#,
                r#"{"name":"x","y":{"password":1}}"#,
            ),
            (r#"{"password":"a"}"#, "{}"),
            (r#"{"name":1.0}"#, r#"{"name":1.0}"#),
        ] {
            let body = UserDocument::without_password(&Body::kept(before.to_owned()));
            assert_eq!(body.as_str(), after);
        }
        let user = read(
            "org.couchdb.user:a",
            r#"{"name":"a","type":"user","roles":[],"password":"secret"}"#,
        );
        assert!(!format!("{:?}", user.unwrap()).contains("secret"));
    }

    #[test]
    fn users_write_their_own_document_and_no_roles() {
        let document = |roles: &[&str]| UserDocument {
            name: "anna".to_owned(),
            roles: roles.iter().map(ToString::to_string).collect(),
            password: None,
            hashed: None,
        };
        let editor = ["editor".to_owned()];
        for (writer, administers, stored, roles, is_allowed) in [
            (Some("root"), true, None, &["editor"][..], true),
            (None, true, Some(&editor[..]), &[], true),
            (None, false, None, &[], true),
            (None, false, None, &["editor"], false),
            (None, false, Some(&[]), &[], false),
            (Some("otto"), false, None, &[], true),
            (Some("otto"), false, Some(&[]), &[], false),
            (Some("anna"), false, Some(&[]), &[], true),
            (Some("anna"), false, Some(&editor), &["editor"], true),
            (Some("anna"), false, Some(&editor), &[], false),
            (Some("anna"), false, Some(&editor), &["editor", "owner"], false),
        ] {
            let writer = UserWriter { name: writer, is_administrator: administers };
            let said = document(roles).check_writer(writer, stored);
            assert_eq!(said.is_ok(), is_allowed, "{writer:?} {stored:?} {roles:?}");
        }
    }
}
