//! A request to a database resource: its body, its budgets, and the work that it does beside other requests.

use std::sync::{Arc, LazyLock};

use axum::body::{Body, Bytes};
use axum::response::Response;
use feedsync_couch::{DatabaseName, Json, Parameters, Refusal, RefusalKind};
use feedsync_endpoint::documents::show::{AttachmentContents, held};
use feedsync_endpoint::documents::validation::Author;
use feedsync_endpoint::documents::{Edits, NewDocument, Written};
use feedsync_store::{Database, Databases, LoadedDocument};
use http::{HeaderValue, Method, StatusCode, header};
use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::task::block_in_place;

use crate::access::Principal;
use crate::access::call::Call;
use crate::http::body::{self, BodyPermit, Coding, Frames};
use crate::http::media_types;
use crate::http::paths::DATABASES;
use crate::http::problem::Problem;
use crate::http::response_budget::ResponseSlot;
use crate::hub::Hub;

use super::failure::{self, Failure};
use super::users::UserAccess;
use crate::access::databases;

/// Maximum size, in bytes, of a JSON text that is parsed on the current thread.
pub(super) const MAX_INLINE_JSON_BYTES: usize = 256 << 10;

/// Method that copies a document, an extension of CouchDB.
pub(crate) static COPY: LazyLock<Method> =
    LazyLock::new(|| Method::from_bytes(b"COPY").unwrap_or_default());

/// A request to a database resource.
#[derive(Clone)]
pub(super) struct CouchRequest {
    pub(super) hub: Hub,
    pub(super) call: Arc<Call>,
    /// Principal of the request, with current rights.
    pub(super) principal: Principal,
    pub(super) method: Method,
    pub(super) parameters: Parameters,
    pub(super) databases: Arc<dyn Databases>,
    /// Access to one document of the database of users.
    pub(super) user_access: UserAccess,
}

impl CouchRequest {
    /// Writes documents of a database on behalf of the principal.
    pub(super) async fn write_documents(
        &self,
        database: &Database,
        documents: Vec<NewDocument>,
        edits: Edits,
    ) -> Result<Written, Failure> {
        let Self { hub, call, principal, .. } = self;
        Ok(databases::write_documents(hub, call, principal, database, (documents, edits)).await?)
    }

    /// The user of the request, as functions see it.
    pub(super) fn author(&self, may_design: bool) -> Author {
        databases::author(&self.principal, may_design)
    }

    /// Refuses methods that a resource does not support.
    pub(super) fn method_of<'m>(&self, known: &'m [Method]) -> Result<&'m Method, Failure> {
        match known.iter().find(|method| **method == self.method) {
            Some(method) => Ok(method),
            None => Err(failure::not_allowed(known)),
        }
    }

    /// Adds the location of the created resource to a response.
    pub(super) fn located(&self, mut response: Response, path: &str) -> Response {
        let prefix = if self.call.is_for_databases { "" } else { DATABASES };
        let location = self.call.base.url(&format!("{prefix}{path}"));
        if let Ok(location) = HeaderValue::from_str(&location) {
            response.headers_mut().insert(header::LOCATION, location);
        }
        response
    }

    /// Parses the body, which must be declared as JSON.
    pub(super) async fn json(&self, body: Body) -> Result<(BodyPermit, Json), Failure> {
        self.parse_json_with(body, Json::read).await
    }

    /// The same for a body that contains documents.
    pub(super) async fn json_with_documents(
        &self,
        body: Body,
    ) -> Result<(BodyPermit, Json), Failure> {
        self.parse_json_with(body, Json::read_envelope).await
    }

    pub(super) async fn parse_json_with(
        &self,
        body: Body,
        read: fn(Vec<u8>) -> Result<Json, Refusal>,
    ) -> Result<(BodyPermit, Json), Failure> {
        let said = media_types::media_type(&self.call.headers).unwrap_or_default();
        if !media_types::essence(said).eq_ignore_ascii_case("application/json") {
            let reason = "Content-Type must be application/json";
            return Err(RefusalKind::BadContentType.with_reason(reason).into());
        }
        let (permit, bytes) = self.bytes(body).await?;
        // An empty body counts as an empty object.
        let bytes = if bytes.is_empty() { b"{}".to_vec() } else { bytes };
        Ok((permit, parsed(bytes, read).await?))
    }

    /// Parses the body as JSON, whatever its declared type.
    pub(super) async fn any_json(&self, body: Body) -> Result<(BodyPermit, Json), Failure> {
        let (permit, bytes) = self.bytes(body).await?;
        Ok((permit, parsed(bytes, Json::read).await?))
    }

    /// Returns the unpacked body. A body of unusual size waits for the budget for such bodies, either by its
    /// declared length or when it exceeds the usual size.
    pub(super) async fn bytes(&self, body: Body) -> Result<(BodyPermit, Vec<u8>), Failure> {
        let (hub, headers) = (&self.hub, &self.call.headers);
        let limits = &hub.config.limits;
        let most = self.most_body_bytes();
        let coding = body::coding(headers)?;
        let mut frames = Frames::of(hub, headers, body, most)?;
        let declared = body::declared(headers).and_then(|length| usize::try_from(length).ok());
        let large = match declared.filter(|length| *length > limits.body_bytes) {
            // The unpacked size of a compressed body is unknown.
            Some(length) if coding == Coding::Identity => Some(hub.large.take(length).await?),
            Some(_) => Some(hub.large.take(most).await?),
            None => None,
        };
        let mut permit = body::acquire_permit(hub, &hub.uploads).await?.with(large);
        let mut bytes = Vec::new();
        while let Some(frame) = frames.next().await? {
            bytes.extend_from_slice(&frame);
            if bytes.len() > limits.body_bytes && !permit.is_large() {
                permit = permit.with(Some(hub.large.take(most).await?));
            }
        }
        let (permit, bytes) = match coding {
            Coding::Identity => (permit, bytes),
            Coding::Gzip => self.unpacked(permit, bytes, most).await?,
        };
        self.call.recheck_if_slow(hub).await?;
        Ok((permit, bytes))
    }

    /// Waits for a slot for a large response.
    pub(super) async fn place(&self) -> Result<ResponseSlot, Problem> {
        let person = self.principal.user();
        self.hub.database_response_budget.place(person.map(|person| person.as_str())).await
    }

    /// Returns a slot for attachments of so many bytes. Attachments of unusual size also take budget by their
    /// size.
    pub(super) async fn slot_for_attachments(
        &self,
        place: ResponseSlot,
        bytes: u64,
    ) -> Result<ResponseSlot, Problem> {
        let bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
        match bytes > self.hub.config.limits.body_bytes {
            true => Ok(place.with(self.hub.large_attachments.take(bytes).await?)),
            false => Ok(place),
        }
    }

    /// Returns the contents of a document's attachments, to be sent with it.
    pub(super) async fn held(
        &self,
        name: &DatabaseName,
        document: &LoadedDocument,
    ) -> Result<AttachmentContents, Failure> {
        let most = self.hub.config.limits.database_body_bytes as u64;
        Ok(held(&*self.databases, name, document, most).await?)
    }

    /// Unpacks data of at most so many bytes under the permit of the request. If it exceeds the usual size,
    /// it waits for the budget for large bodies.
    pub(super) async fn unpacked(
        &self,
        permit: BodyPermit,
        packed: Vec<u8>,
        most: usize,
    ) -> Result<(BodyPermit, Vec<u8>), Failure> {
        let limits = &self.hub.config.limits;
        let packed = Bytes::from(packed);
        let unpack = async |most: usize| {
            let packed = packed.clone();
            run_blocking(move || body::unpack_any(&packed, most)).await?
        };
        let permit = match permit.is_large() {
            true => permit,
            false => match unpack(limits.body_bytes.min(most)).await {
                Err(problem)
                    if problem.status() == StatusCode::PAYLOAD_TOO_LARGE
                        && most > limits.body_bytes =>
                {
                    permit.with(Some(self.hub.large.take(most).await?))
                }
                unpacked => return Ok((permit, unpacked?)),
            },
        };
        Ok((permit, unpack(most).await?))
    }
}

/// Parses received JSON.
pub(super) async fn parsed(
    bytes: Vec<u8>,
    read: fn(Vec<u8>) -> Result<Json, Refusal>,
) -> Result<Json, Failure> {
    match bytes.len() < MAX_INLINE_JSON_BYTES {
        true => Ok(read(bytes)?),
        // Other requests need this thread.
        false => Ok(run_blocking(move || read(bytes)).await??),
    }
}

/// Runs lengthy work on a blocking thread.
pub(super) async fn run_blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Problem> {
    tokio::task::spawn_blocking(work).await.map_err(|_| Problem::internal())
}

/// Runs work that borrows, without delaying other requests if it handles so many bytes of documents.
pub(super) fn run_inline<T>(bytes: usize, work: impl FnOnce() -> T) -> T {
    let is_shared = || Handle::current().runtime_flavor() == RuntimeFlavor::MultiThread;
    if bytes > MAX_INLINE_JSON_BYTES && is_shared() { block_in_place(work) } else { work() }
}
