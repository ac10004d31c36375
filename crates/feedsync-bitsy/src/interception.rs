//! Decisions about the requests of an application (BITSY 3, R-B1, R-B4, R-B29, R-B30, R-B35).
//!
//! Requests for stored resources are answered from the store, with a network too. Other requests are
//! forwarded. Without a network they get 504, never 404, because the resource may exist (R-B6). Edits of a
//! subscribed feed's members are sent to their server at once if there is a network and no edit waits before
//! them. Otherwise they are acknowledged here and sent later.

use http::{Method, StatusCode};

use crate::interceptor::Content;
use crate::outbox::AddOutcome;
use crate::profile::Profile;
use crate::propagation;

/// Role of a resource.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Role {
    /// A subscribed feed, or a page of one.
    Feed,
    /// The collection of a subscribed feed.
    Collection,
    /// A feed that is also its own collection.
    FeedAndCollection,
    /// An entry or media resource that can be edited.
    Synchronizable,
    /// Any other resource that a subscribed feed leads to.
    Subscribable,
    /// A resource without relation to a subscription.
    Unknown,
}

/// State of a resource at the time of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Situation {
    /// Role of the resource.
    pub role: Role,
    /// Method of the last edit that the server has not shown yet.
    pub edited: Option<propagation::Method>,
    /// Whether the media link entry of this media resource was deleted (3.1.3).
    pub entry_is_deleted: bool,
    /// Whether a representation is stored.
    pub is_stored: bool,
    /// Whether there is a network and its use is permitted.
    pub is_online: bool,
    /// Whether edits wait that must be sent before an edit of this resource.
    pub waits: bool,
}

/// Action for a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// The request is forwarded to its server, and the response is returned.
    Forward,
    /// The response is the content that an application put or posted.
    Edited,
    /// The response is the stored representation. A feed includes the edits that do not show in it yet.
    Stored,
    /// The response is 410 (3.1.2, 3.1.3).
    Gone,
    /// The response lists the permitted methods (R-B1).
    Options(&'static str),
    /// The request is accepted as an edit.
    Edit(propagation::Method),
    /// The response is 504: there is no network, and no representation is stored.
    Unreachable,
}

impl Situation {
    /// Returns the action for a request with this method.
    pub fn action(&self, method: &Method) -> Action {
        let elsewhere = if self.is_online { Action::Forward } else { Action::Unreachable };
        let edit = |method| match self.is_online && !self.waits && self.edited.is_none() {
            true => Action::Forward,
            false => Action::Edit(method),
        };
        match *method {
            Method::GET | Method::HEAD | Method::PUT if self.entry_is_deleted => Action::Gone,
            Method::GET | Method::HEAD => match self.edited {
                Some(propagation::Method::Delete) => Action::Gone,
                Some(propagation::Method::Post | propagation::Method::Put) => Action::Edited,
                None if self.is_stored => Action::Stored,
                None => elsewhere,
            },
            Method::OPTIONS if !self.is_online => match self.role {
                Role::Unknown => Action::Unreachable,
                role => Action::Options(role.allow()),
            },
            // The deletion waits here, or was carried out (3.3).
            Method::PUT if !self.is_online && self.edited == Some(propagation::Method::Delete) => {
                Action::Gone
            }
            Method::POST if self.role.is_collection() => edit(propagation::Method::Post),
            Method::PUT if self.role == Role::Synchronizable => edit(propagation::Method::Put),
            Method::DELETE if self.role == Role::Synchronizable => {
                edit(propagation::Method::Delete)
            }
            _ => elsewhere,
        }
    }
}

impl Role {
    /// Whether entries can be posted to the resource.
    pub const fn is_collection(self) -> bool {
        matches!(self, Self::Collection | Self::FeedAndCollection)
    }

    /// Methods of the resource, in the form of `Allow` (RFC 5023 5, RFC 9110 10.2.1).
    pub const fn allow(self) -> &'static str {
        match self {
            Self::Feed | Self::Subscribable | Self::Unknown => "GET, HEAD, OPTIONS",
            Self::Collection => "OPTIONS, POST",
            Self::FeedAndCollection => "GET, HEAD, OPTIONS, POST",
            Self::Synchronizable => "DELETE, GET, HEAD, OPTIONS, PUT",
        }
    }
}

/// The status with which an edit is acknowledged (3.2 to 3.4).
pub const fn acknowledged(method: propagation::Method, added: &AddOutcome) -> StatusCode {
    match (added, method) {
        (AddOutcome::Gone, _) => StatusCode::GONE,
        (_, propagation::Method::Post) => StatusCode::CREATED,
        (_, propagation::Method::Put) => StatusCode::OK,
        (_, propagation::Method::Delete) => StatusCode::NO_CONTENT,
    }
}

/// Whether the acknowledgement of a POST names a temporary address, so that the member can be edited before
/// its server knows of it. The strict profile forbids this (R-B29).
pub fn names_location(profile: Profile) -> bool {
    profile == Profile::Resilient
}

/// Entity tag of content that an application put or posted, until its server has assigned one.
pub fn local_tag(content: Content) -> String {
    format!("\"local-{:.16}\"", content.digest.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outbox::EditId;
    use crate::propagation::Method as Edit;

    const ROLES: [Role; 6] = [
        Role::Feed,
        Role::Collection,
        Role::FeedAndCollection,
        Role::Synchronizable,
        Role::Subscribable,
        Role::Unknown,
    ];

    fn situation(role: Role, is_online: bool) -> Situation {
        Situation {
            role,
            edited: None,
            entry_is_deleted: false,
            is_stored: role != Role::Unknown && role != Role::Collection,
            is_online,
            waits: false,
        }
    }

    #[test]
    fn stored_and_edited_resources_are_answered_locally_with_and_without_network() {
        for method in [Method::GET, Method::HEAD] {
            for is_online in [true, false] {
                let stored = situation(Role::Feed, is_online);
                assert_eq!(stored.action(&method), Action::Stored);
                let missing = Situation { is_stored: false, ..stored };
                let elsewhere = if is_online { Action::Forward } else { Action::Unreachable };
                assert_eq!(missing.action(&method), elsewhere);
                let entry = situation(Role::Synchronizable, is_online);
                for (edited, action) in [
                    (Edit::Post, Action::Edited),
                    (Edit::Put, Action::Edited),
                    (Edit::Delete, Action::Gone),
                ] {
                    let edited = Situation { edited: Some(edited), ..entry };
                    assert_eq!(edited.action(&method), action);
                }
                for edited in [None, Some(Edit::Put), Some(Edit::Delete)] {
                    let media = Situation { entry_is_deleted: true, edited, ..entry };
                    assert_eq!(media.action(&method), Action::Gone);
                    assert_eq!(media.action(&Method::PUT), Action::Gone);
                }
            }
        }
    }

    #[test]
    fn edits_are_queued_without_network_and_behind_other_edits() {
        let cases = [
            (Role::Collection, Method::POST, Edit::Post),
            (Role::FeedAndCollection, Method::POST, Edit::Post),
            (Role::Synchronizable, Method::PUT, Edit::Put),
            (Role::Synchronizable, Method::DELETE, Edit::Delete),
        ];
        for (role, method, edit) in cases {
            assert_eq!(situation(role, false).action(&method), Action::Edit(edit));
            let online = situation(role, true);
            assert_eq!(online.action(&method), Action::Forward);
            let behind = Situation { waits: true, ..online };
            assert_eq!(behind.action(&method), Action::Edit(edit), "nothing is overtaken");
            let again = Situation { edited: Some(Edit::Put), ..online };
            assert_eq!(again.action(&method), Action::Edit(edit));
        }
    }

    #[test]
    fn requests_that_are_not_edits_are_forwarded_or_unreachable() {
        for role in ROLES {
            for method in [Method::POST, Method::PUT, Method::DELETE, Method::PATCH] {
                let is_edit = match method {
                    Method::POST => role.is_collection(),
                    Method::PUT | Method::DELETE => role == Role::Synchronizable,
                    _ => false,
                };
                if !is_edit {
                    assert_eq!(situation(role, true).action(&method), Action::Forward);
                    assert_eq!(situation(role, false).action(&method), Action::Unreachable);
                }
            }
        }
    }

    #[test]
    fn options_are_answered_without_network_and_forwarded_with_one() {
        for role in ROLES {
            assert_eq!(situation(role, true).action(&Method::OPTIONS), Action::Forward);
            let expected = match role {
                Role::Unknown => Action::Unreachable,
                role => Action::Options(role.allow()),
            };
            assert_eq!(situation(role, false).action(&Method::OPTIONS), expected);
        }
        assert_eq!(Role::Synchronizable.allow(), "DELETE, GET, HEAD, OPTIONS, PUT");
        assert!(Role::FeedAndCollection.allow().contains("POST"));
    }

    #[test]
    fn edits_are_acknowledged_with_the_status_of_the_document() {
        let queued = AddOutcome::Queued(EditId(1));
        assert_eq!(acknowledged(Edit::Post, &queued), 201);
        assert_eq!(acknowledged(Edit::Put, &queued), 200);
        assert_eq!(acknowledged(Edit::Put, &AddOutcome::Gone), 410);
        for added in [queued, AddOutcome::Nothing, AddOutcome::Cancelled(EditId(1))] {
            assert_eq!(acknowledged(Edit::Delete, &added), 204);
        }
        assert!(names_location(Profile::Resilient) && !names_location(Profile::Strict));
        let tag = |bytes: &[u8]| local_tag(Content::of(bytes));
        assert_ne!(tag(b"a"), tag(b"b"), "folded");
        assert_eq!(tag(b"a"), tag(b"a"), "what was put twice is the same");
    }
}
