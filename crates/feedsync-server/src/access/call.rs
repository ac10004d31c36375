//! Request data that resources need.

use std::collections::HashMap;
use std::net::IpAddr;

use axum::extract::{FromRequestParts, Path};
use feedsync_core::Format;
use feedsync_endpoint::{Actor, Endpoint, PeopleError, TokenSecret};
use feedsync_store::{Collection, CollectionName, StoreError, UserName};
use http::request::Parts;
use http::{HeaderMap, Uri};
use tokio::time::Instant;

use crate::access::browser::Browser;
use crate::access::{
    self, CheckedCollection, Principal, Right, collection_for, collection_name, quotas,
};
use crate::http::address::{PublicBase, View};
use crate::http::negotiation::{Representation, negotiate, suffixes};
use crate::http::paths;
use crate::http::problem::Problem;
use crate::http::query::Query;
use crate::hub::Hub;

/// A request without its body.
pub(crate) struct Call {
    pub(crate) base: PublicBase,
    /// Principal that makes the request.
    pub(crate) principal: Principal,
    /// Right that the route requires.
    right: Right,
    /// Collection that the access check read.
    found: Option<CheckedCollection>,
    /// Time of the access check.
    admitted: Instant,
    pub(crate) uri: Uri,
    pub(crate) query: Query,
    pub(crate) headers: HeaderMap,
    /// Whether the request came to an address that serves databases only.
    pub(crate) is_for_databases: bool,
    /// Properties of the browser that requests a page.
    pub(crate) browser: Browser,
    /// Address of the client, if it is known.
    pub(crate) from: Option<IpAddr>,
    /// Named segments of the path.
    segments: HashMap<String, String>,
}

impl Call {
    /// A named segment of the path.
    pub(crate) fn segment(&self, name: &str) -> &str {
        self.segments.get(name).map_or("", String::as_str)
    }

    /// The name of the collection that the path names; as the last segment it may have a suffix.
    pub(crate) fn collection_name(&self) -> Result<CollectionName, Problem> {
        collection_name(self.segment("collection"), &self.uri)
    }

    /// The collection that the path names.
    pub(crate) async fn collection(&self, hub: &Hub) -> Result<Collection, Problem> {
        let name = self.collection_name()?;
        match self.found.as_ref().and_then(CheckedCollection::take) {
            Some(found) if found.name == name => Ok(found),
            _ => Ok(hub.endpoint.collection(&name).await?),
        }
    }

    /// Refuses a request before it changes anything if its body took so long that the principal may have lost
    /// the right.
    pub(crate) async fn recheck_if_slow(&self, hub: &Hub) -> Result<(), Problem> {
        match self.admitted.elapsed() < access::RIGHTS_CACHE_TIME {
            true => Ok(()),
            false => self.recheck(hub).await,
        }
    }

    /// Refuses a request that the principal may not make at this moment.
    pub(crate) async fn recheck(&self, hub: &Hub) -> Result<(), Problem> {
        let name = collection_for(self.right, self.segment("collection"), &self.uri);
        hub.access.recheck(&self.principal, self.right, name.as_ref()).await
    }

    /// Token of the browser's session.
    pub(crate) fn session(&self) -> Option<TokenSecret> {
        access::session::read(&self.headers, self.base.is_secure())
    }

    /// Ends a session of the principal.
    pub(crate) async fn end_session(
        &self,
        hub: &Hub,
        user: &UserName,
        secret: &TokenSecret,
    ) -> Result<(), Problem> {
        match self.endpoint(hub).revoke_token(user, secret.digest()).await {
            Ok(()) | Err(PeopleError::Store(StoreError::NoToken)) => hub.access.forget(),
            Err(error) => return Err(error.into()),
        }
        Ok(())
    }

    /// Endpoint that acts for the principal, for changes that enlarge nothing. Changes are recorded under the
    /// principal's name.
    pub(crate) fn endpoint(&self, hub: &Hub) -> Endpoint {
        let endpoint = self.endpoint_of(hub, self.principal.user().cloned());
        if self.right == Right::Edit { endpoint.with_growth_limit(0) } else { endpoint }
    }

    /// Endpoint for changes of items that keep a collection within its limits of items and bytes. Call it
    /// once the body has arrived, because it looks up what may still be added.
    pub(crate) async fn growing_endpoint(&self, hub: &Hub) -> Result<Endpoint, Problem> {
        let endpoint = self.endpoint_of(hub, self.principal.user().cloned());
        Ok(match quotas::growth(hub, &self.collection_name()?).await? {
            Some(bytes) => endpoint.with_growth_limit(bytes),
            None => endpoint,
        })
    }

    /// Endpoint that acts for a user whose credentials are in the body.
    pub(crate) fn endpoint_of(&self, hub: &Hub, user: Option<UserName>) -> Endpoint {
        let address = self.from.map(|address| address.to_string());
        let most = hub.config.limits.collection_items as u64;
        hub.endpoint.on_behalf_of(Actor { user, address }).with_item_limit(most)
    }

    /// Representation that the suffix of the path names, if it has one.
    pub(crate) fn suffix(&self) -> Result<Option<Representation>, Problem> {
        let last = self.uri.path().rsplit('/').next().unwrap_or_default();
        let Some((_, suffix)) = last.split_once('.') else { return Ok(None) };
        match Representation::of_suffix(suffix) {
            Some(known) => Ok(Some(known)),
            None => Err(Problem::not_found(format!(
                "unknown format {suffix:?}; available are {}",
                suffixes(Representation::of(View::Listing))
            ))),
        }
    }

    /// Representation of the response: by suffix, else by `Accept`.
    pub(crate) fn representation(
        &self,
        view: View,
        native: Format,
    ) -> Result<Representation, Problem> {
        match self.suffix()? {
            Some(known) => Ok(known),
            None => negotiate(&self.headers, Representation::of(view), native),
        }
    }

    /// Collections that the principal may read.
    pub(crate) async fn readable_collections(&self, hub: &Hub) -> Result<Vec<Collection>, Problem> {
        let mut readable = Vec::new();
        for collection in hub.endpoint.collections().await? {
            if access::may_read(&self.principal, &collection)? {
                readable.push(collection);
            }
        }
        Ok(readable)
    }

    /// Name of the collection in the path, without a suffix: a collection has no single format.
    pub(crate) fn bare_collection_name(&self) -> Result<CollectionName, Problem> {
        CollectionName::new(self.segment("collection"))
            .map_err(|error| Problem::not_found(error.to_string()))
    }

    /// Requested address.
    pub(crate) fn address(&self) -> String {
        self.base.url(self.uri.path_and_query().map_or("/", |path| path.as_str()))
    }
}

impl FromRequestParts<Hub> for Call {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, hub: &Hub) -> Result<Self, Problem> {
        let Path(segments) = Path::<HashMap<String, String>>::from_request_parts(parts, hub)
            .await
            .map_err(|_| Problem::not_found("the path is not valid UTF-8"))?;
        let base = parts.extensions.get().cloned();
        let principal = parts.extensions.get().cloned();
        let right = parts.extensions.get().copied().ok_or_else(Problem::internal)?;
        Ok(Self {
            base: base.ok_or_else(Problem::internal)?,
            principal: principal.ok_or_else(Problem::internal)?,
            right,
            found: parts.extensions.get().cloned(),
            admitted: Instant::now(),
            is_for_databases: paths::serves_databases_only(&parts.extensions),
            browser: parts.extensions.get().cloned().unwrap_or_default(),
            from: access::address(&parts.extensions),
            query: Query::parse(parts.uri.query().filter(|_| {
                !paths::is_for_newsreaders(parts.uri.path())
                    && !paths::is_for_databases(parts.uri.path())
            }))?,
            uri: parts.uri.clone(),
            headers: parts.headers.clone(),
            segments,
        })
    }
}
