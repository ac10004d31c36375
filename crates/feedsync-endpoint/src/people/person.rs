//! Rights of a person who signed in: those of the user, limited by the scope of the token.

use std::collections::BTreeMap;

use feedsync_store::{
    CollectionName, Digest, Grant, Moment, Role, Scope, Token, User, UserId, UserName,
};

use crate::readings::ReadingOwner;

/// A person who signed in, with the rights at that moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Person {
    user: UserName,
    id: UserId,
    administrator: bool,
    databases_only: bool,
    roles: BTreeMap<CollectionName, Role>,
    database_roles: Vec<String>,
    scope: Scope,
    proof: Credential,
}

/// Credential with which a person signed in, by which the person is looked up again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Credential {
    /// An assertion of another system.
    Assertion(Asserted),
    /// A token of this digest.
    Token(Digest),
    /// The digest of the hash of the password; `None` if the user has no password.
    Password(Option<Digest>),
}

/// An assertion of another system about a user, besides the name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asserted {
    /// Roles of the user in databases, besides those of the user's document.
    pub roles: Vec<String>,
    /// When the assertion ends.
    pub expires: Option<Moment>,
}

impl Credential {
    /// Returns the proof for the current password of a user.
    pub(super) fn password(user: &User) -> Self {
        Self::Password(user.password.as_ref().map(|hash| Digest::of(hash.as_bytes())))
    }
}

impl Person {
    pub(super) fn new(user: User, grants: Vec<Grant>, token: Option<Token>) -> Self {
        let roles = grants.into_iter().map(|grant| (grant.collection, grant.role)).collect();
        let (proof, scope) = match token {
            Some(token) => (Credential::Token(token.digest), token.scope),
            None => (Credential::password(&user), Scope::default()),
        };
        Self {
            user: user.name,
            id: user.id,
            administrator: user.administrator,
            databases_only: user.databases_only,
            roles,
            database_roles: Vec::new(),
            scope,
            proof,
        }
    }

    /// Returns the same person with these roles in databases.
    pub(super) fn with_database_roles(self, database_roles: Vec<String>) -> Self {
        Self { database_roles, ..self }
    }

    /// Returns the same person, signed in by an assertion of another system.
    pub(super) fn asserted(mut self, asserted: Asserted) -> Self {
        let more = asserted.roles.iter().filter(|role| !self.database_roles.contains(role));
        let more: Vec<String> = more.cloned().collect();
        self.database_roles.extend(more);
        self.proof = Credential::Assertion(asserted);
        self
    }

    /// Returns the user's name and id, by which the reading collection is found.
    pub fn reader(&self) -> ReadingOwner {
        ReadingOwner { name: self.user.clone(), id: self.id.clone() }
    }

    /// Returns the name of the user.
    pub fn user(&self) -> &UserName {
        &self.user
    }

    /// Returns the id of the user.
    pub fn id(&self) -> &UserId {
        &self.id
    }

    /// Returns the digest of the token that was used; `None` if there was none.
    pub fn token(&self) -> Option<Digest> {
        match self.proof {
            Credential::Token(digest) => Some(digest),
            Credential::Password(_) | Credential::Assertion(_) => None,
        }
    }

    pub(super) fn proof(&self) -> &Credential {
        &self.proof
    }

    /// Whether the person is an administrator who signed in by password, or by a token without limits.
    pub fn administers(&self) -> bool {
        self.administrator && self.is_unbounded()
    }

    /// Whether the person may use databases alone: no collections, no newsreaders and no pages.
    pub fn uses_databases_only(&self) -> bool {
        self.databases_only && !self.administrator
    }

    /// Returns the roles that `_security` of databases can name.
    pub fn database_roles(&self) -> &[String] {
        &self.database_roles
    }

    /// Whether the person has all rights of the user.
    pub fn is_unbounded(&self) -> bool {
        self.scope == Scope::default()
    }

    /// Returns the role in a collection; an administrator has the highest role in each.
    pub fn role(&self, collection: &CollectionName) -> Option<Role> {
        if self.scope.collection.as_ref().is_some_and(|only| only != collection) {
            return None;
        }
        let role = if self.administrator {
            Some(Role::Owner)
        } else {
            self.roles.get(collection).copied()
        }?;
        Some(self.scope.role.map_or(role, |most| role.min(most)))
    }

    /// Whether the person may create collections and databases. A token for one collection, or for a role below
    /// owner, does not allow it, and users of databases alone may not.
    pub fn may_create(&self) -> bool {
        !self.uses_databases_only()
            && self.scope.collection.is_none()
            && self.scope.role.is_none_or(|most| most == Role::Owner)
    }
}

#[cfg(test)]
mod tests {
    use feedsync_store::TokenKind;

    use super::*;

    fn name(text: &str) -> CollectionName {
        CollectionName::new(text).unwrap()
    }

    fn person(administrator: bool, role: Option<Role>, only: Option<&str>) -> Person {
        let anna = UserName::new("anna").unwrap();
        let created = Moment::default();
        let user = User {
            id: UserId::new("a1").unwrap(),
            name: anna.clone(),
            password: None,
            administrator,
            disabled: false,
            databases_only: false,
            created,
        };
        let grant = |collection, role| Grant { user: anna.clone(), collection, role };
        let token = Token {
            digest: Digest::of(b""),
            user: anna.clone(),
            kind: TokenKind::Access,
            label: String::new(),
            scope: Scope { role, collection: only.map(name) },
            created,
            expires: None,
        };
        let grants = vec![grant(name("read"), Role::Reader), grant(name("edit"), Role::Editor)];
        Person::new(user, grants, Some(token))
    }

    #[test]
    fn a_token_allows_no_more_than_its_scope_and_its_user() {
        use Role::{Editor, Owner, Reader};
        let roles = |person: &Person| ["read", "edit", "none"].map(|text| person.role(&name(text)));
        for (administrator, role, only, expected) in [
            (false, None, None, [Some(Reader), Some(Editor), None]),
            (false, Some(Reader), None, [Some(Reader), Some(Reader), None]),
            (false, Some(Owner), None, [Some(Reader), Some(Editor), None]),
            (false, None, Some("edit"), [None, Some(Editor), None]),
            (false, Some(Reader), Some("edit"), [None, Some(Reader), None]),
            (true, None, None, [Some(Owner); 3]),
            (true, Some(Editor), None, [Some(Editor); 3]),
            (true, None, Some("none"), [None, None, Some(Owner)]),
        ] {
            let person = person(administrator, role, only);
            assert_eq!(roles(&person), expected, "{administrator} {role:?} {only:?}");
            let bounded = role.is_some() || only.is_some();
            assert_eq!(person.administers(), administrator && !bounded);
            assert_eq!(person.may_create(), only.is_none() && role.is_none_or(|r| r == Owner));
        }
    }
}
