//! A hub with users of every role, and their credentials.

use std::path::Path;
use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use feedsync_core::{Creation, Format, ItemId, Payload};
use feedsync_endpoint::{Endpoint, NewToken, NewUser, Password, Settings};
use feedsync_server::{Config, router};
use feedsync_store::{
    CollectionName, Digest, EndpointName, Grant, Moment, NewCollection, Role, Scope, SqliteStore,
    SystemEnvironment, TokenKind, UserName,
};
use http::{Method, Response};
use tower::ServiceExt as _;

use crate::hub::request;

pub(crate) struct World {
    pub(crate) endpoint: Endpoint,
    pub(crate) router: Router,
    /// A blob that only an item of `notes` names.
    pub(crate) blob: Digest,
}

pub(crate) fn user(name: &str) -> UserName {
    UserName::new(name).unwrap()
}

pub(crate) fn collection(name: &str) -> CollectionName {
    CollectionName::new(name).unwrap()
}

pub(crate) fn bearer(token: &str) -> String {
    format!("Bearer {token}")
}

/// `Basic` credentials of a user and a password.
pub(crate) fn basic(user: &str, password: &str) -> String {
    use base64::Engine as _;
    let pair = base64::engine::general_purpose::STANDARD.encode(format!("{user}:{password}"));
    format!("Basic {pair}")
}

impl World {
    pub(crate) async fn in_memory() -> Self {
        Self::over(crate::hub::endpoint("hub")).await
    }

    pub(crate) async fn in_database(directory: &Path) -> Self {
        let environment = Arc::new(SystemEnvironment);
        let name = EndpointName::new("hub").unwrap();
        let store = SqliteStore::init(directory, &name, environment.clone()).unwrap();
        Self::over(Endpoint::new(Arc::new(store), environment)).await
    }

    /// Collections `notes` (private), `drafty` (private, with drafts), `open` (public) and `news`
    /// (public, with drafts), in each the users `rita` (reader), `eddy` (editor) and `owen` (owner);
    /// `root` administers, `nora` has no role, `data` may use databases alone.
    async fn over(endpoint: Endpoint) -> Self {
        let blob = endpoint.store().put_blob(b"picture".to_vec()).await.unwrap();
        let names = ["root", "rita", "eddy", "owen", "nora", "gone", "data"];
        for name in names {
            let administrator = name == "root";
            let new = NewUser {
                name: user(name),
                password: None,
                administrator,
                databases_only: name == "data",
            };
            endpoint.add_user(new).await.unwrap();
        }
        for (name, public, drafts) in [
            ("notes", false, false),
            ("drafty", false, true),
            ("open", true, false),
            ("news", true, true),
        ] {
            let mut settings = Default::default();
            Settings { public, drafts, ..Settings::default() }.write(&mut settings);
            let (title, format) = (format!("All {name}"), Format::Atom);
            let new = NewCollection { name: collection(name), title, format, settings };
            endpoint.store().create_collection(new).await.unwrap();
            for (name_of_user, role) in
                [("rita", Role::Reader), ("eddy", Role::Editor), ("owen", Role::Owner)]
            {
                let grant = Grant { user: user(name_of_user), collection: collection(name), role };
                endpoint.grant(grant).await.unwrap();
            }
        }
        let entry = format!(
            "<entry xmlns=\"http://www.w3.org/2005/Atom\"><id>urn:x:a</id><title>a</title>\
             <updated>2026-11-20T10:00:00Z</updated><fs:blob xmlns:fs=\"urn:feedsync:1\" name=\"n\" \
             type=\"image/png\" length=\"7\" sha-256=\"{blob}\"/></entry>"
        );
        let (id, payload) = (ItemId::new("a").unwrap(), Payload::from_parsed(Format::Atom, entry));
        endpoint.add(&collection("notes"), id, Creation::default(), payload).await.unwrap();
        let router = router(endpoint.clone(), Config::default());
        Self { endpoint, router, blob }
    }

    /// Restarts the hub, which clears its caches of rights and credentials.
    pub(crate) fn restarted(&mut self) {
        self.router = router(self.endpoint.clone(), Config::default());
    }

    pub(crate) async fn token(&self, name: &str, kind: TokenKind, scope: Scope) -> String {
        let (user, label) = (user(name), String::new());
        let new = NewToken { user, kind, label, scope, expires: None };
        self.endpoint.issue_token(new).await.unwrap().0.as_str().to_owned()
    }

    /// An access token with all rights of a user.
    pub(crate) async fn access(&self, name: &str) -> String {
        self.token(name, TokenKind::Access, Scope::default()).await
    }

    pub(crate) async fn expired(&self, name: &str) -> String {
        let new = NewToken {
            user: user(name),
            kind: TokenKind::Access,
            label: String::new(),
            scope: Scope::default(),
            expires: Some(Moment::from_micros(1)),
        };
        self.endpoint.issue_token(new).await.unwrap().0.as_str().to_owned()
    }

    pub(crate) async fn password(&self, name: &str, password: &str) {
        let password = Password::new(password).unwrap();
        self.endpoint.set_password(&user(name), Some(password)).await.unwrap();
    }

    pub(crate) async fn ask(
        &self,
        method: Method,
        path: &str,
        headers: &[(&str, &str)],
    ) -> Response<Body> {
        let request = request(method, path, headers, Body::empty());
        self.router.clone().oneshot(request).await.unwrap()
    }

    /// Status of a `GET` with an `Authorization`.
    pub(crate) async fn get(&self, path: &str, authorization: &str) -> u16 {
        let headers = [("authorization", authorization)];
        self.ask(Method::GET, path, &headers).await.status().as_u16()
    }
}
