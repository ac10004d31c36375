//! `/couch/`: CouchDB's replication protocol, for replicators and applications that speak it.
//!
//! `feedsync_couch` parses addresses and requests; each file here handles one kind of resource. Errors are
//! sent in CouchDB's form, with `error` and `reason`, since clients depend on these members.

mod all_dbs;
mod all_docs;
mod attachments;
mod bulk;
mod bulk_get;
mod changes;
mod compacting;
mod copy;
mod database;
mod design;
mod document;
pub(crate) mod failure;
mod find;
mod known;
mod local;
mod node;
mod parts;
mod pieces;
mod rights;
pub(crate) mod root;
mod server;
mod session;

pub(crate) use compacting::Compacting;
pub(crate) use known::KnownRevisions;

use std::sync::{Arc, LazyLock};

use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::response::{IntoResponse as _, Response};
use feedsync_couch::{DatabaseName, Json, Parameters, Refusal, RefusalKind, Resource};
use feedsync_endpoint::documents::DocumentsError;
use feedsync_endpoint::documents::show::{Held, held};
use feedsync_store::{Databases, ReadDocument, StoreError};
use http::{HeaderValue, Method, StatusCode, Uri, header};
use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::task::block_in_place;

use crate::access::{Principal, sign_in};
use crate::answers::Place;
use crate::body::{self, Coding, Frames, Turn};
use crate::call::Call;
use crate::hub::Hub;
use crate::problem::Problem;
use crate::submissions;

/// Maximum size, in bytes, of a JSON text that is parsed on the current thread.
const AT_ONCE: usize = 256 << 10;

/// Method that copies a document, an extension of CouchDB.
pub(crate) static COPY: LazyLock<Method> =
    LazyLock::new(|| Method::from_bytes(b"COPY").unwrap_or_default());

/// Path prefix of databases.
const PREFIX: &str = "/couch";

/// Whether an address belongs to databases, which interpret its query themselves.
pub(crate) fn are_at(uri: &Uri) -> bool {
    is_below(uri.path())
}

/// Whether a path belongs to databases.
pub(crate) fn is_below(path: &str) -> bool {
    path.strip_prefix(PREFIX).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// A request to a database resource.
#[derive(Clone)]
struct Asked {
    hub: Hub,
    call: Arc<Call>,
    /// Principal of the request, with current rights.
    principal: Principal,
    method: Method,
    parameters: Parameters,
    databases: Arc<dyn Databases>,
}

/// Reason for refusing a request.
#[derive(Debug)]
pub(crate) enum Failure {
    /// A refusal in CouchDB's terms.
    Refused(Refusal),
    /// A problem of this hub.
    Problem(Problem),
    /// The resource supports only these methods.
    NotAllowed(Vec<String>),
}

impl From<Refusal> for Failure {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

impl From<Problem> for Failure {
    fn from(problem: Problem) -> Self {
        Self::Problem(problem)
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::NoDatabase(_) => no_database().into(),
            error => Self::Problem(error.into()),
        }
    }
}

impl From<DocumentsError> for Failure {
    fn from(error: DocumentsError) -> Self {
        match error {
            DocumentsError::Refused(refusal) => refusal.into(),
            DocumentsError::Store(error) => error.into(),
        }
    }
}

fn no_database() -> Refusal {
    RefusalKind::NotFound.because("Database does not exist.")
}

pub(crate) async fn answer(
    State(hub): State<Hub>,
    method: Method,
    call: Call,
    body: Body,
) -> Response {
    carry_out(hub, method, call, body).await.unwrap_or_else(failure::told)
}

async fn carry_out(hub: Hub, method: Method, call: Call, body: Body) -> Result<Response, Failure> {
    let path = call.uri.path().strip_prefix(PREFIX).unwrap_or_default();
    let resource = Resource::read(path)?;
    let is_for_all =
        matches!(&resource, Resource::Special(name, _) if name == "_up" || name == "_session");
    if matches!(call.principal, Principal::Anonymous) && !is_for_all {
        return Err(sign_in().into());
    }
    let databases = hub.endpoint.databases();
    let parameters = Parameters::read(call.uri.query().unwrap_or_default());
    // The response to HEAD is that to GET without its body.
    let method = if method == Method::HEAD { Method::GET } else { method };
    let principal = call.principal.clone();
    let asked = Asked { hub, call: Arc::new(call), principal, method, parameters, databases };
    match resource {
        Resource::Server => server::welcome(&asked).await,
        Resource::Special(name, rest) => server::special(&asked, &name, &rest, body).await,
        Resource::Database(name) => database::answer(&asked, name, body).await,
        Resource::Of(name, part, rest) => of(asked, name, &part, &rest, body).await,
        Resource::Local(name, id) => local::answer(&asked, &name, &id, body).await,
        Resource::Document(name, id) => document::answer(&asked, &name, id, body).await,
        Resource::Attachment(name, id, attachment) => {
            attachments::answer(&asked, &name, id, &attachment, body).await
        }
    }
}

/// Handles a request to a resource of a database.
async fn of(
    asked: Asked,
    name: DatabaseName,
    part: &str,
    rest: &[String],
    body: Body,
) -> Result<Response, Failure> {
    let is_there = rest.is_empty();
    match part {
        "_changes" if is_there => changes::answer(asked, name, body).await,
        "_all_docs" | "_design_docs" | "_local_docs" if is_there || rest == ["queries"] => {
            let listed = match part {
                "_all_docs" => all_docs::Listed::All,
                "_design_docs" => all_docs::Listed::Design,
                _ => all_docs::Listed::Local,
            };
            match is_there {
                true => all_docs::answer(&asked, &name, listed, body).await,
                false => all_docs::answer_queries(&asked, &name, listed, body).await,
            }
        }
        "_bulk_docs" if is_there => bulk::write(&asked, &name, body).await,
        "_bulk_get" if is_there => bulk_get::read(&asked, &name, body).await,
        "_revs_diff" if is_there => bulk::differences(&asked, &name, body).await,
        "_missing_revs" if is_there => bulk::missing(&asked, &name, body).await,
        "_find" if is_there => find::answer(&asked, &name, body).await,
        _ => database::part(&asked, &name, part, rest, body).await,
    }
}

impl Asked {
    /// Refuses methods that a resource does not support.
    fn method_of<'m>(&self, known: &'m [Method]) -> Result<&'m Method, Failure> {
        match known.iter().find(|method| **method == self.method) {
            Some(method) => Ok(method),
            None => Err(failure::not_allowed(known)),
        }
    }

    /// Adds the location of the created resource to a response.
    fn located(&self, mut response: Response, path: &str) -> Response {
        let prefix = if self.call.is_of_databases { "" } else { PREFIX };
        let location = self.call.base.url(&format!("{prefix}{path}"));
        if let Ok(location) = HeaderValue::from_str(&location) {
            response.headers_mut().insert(header::LOCATION, location);
        }
        response
    }

    /// Parses the body, which must be declared as JSON.
    async fn json(&self, body: Body) -> Result<(Turn, Json), Failure> {
        self.json_by(body, Json::read).await
    }

    /// The same for a body that contains documents.
    async fn json_around(&self, body: Body) -> Result<(Turn, Json), Failure> {
        self.json_by(body, Json::read_around).await
    }

    async fn json_by(
        &self,
        body: Body,
        read: fn(Vec<u8>) -> Result<Json, Refusal>,
    ) -> Result<(Turn, Json), Failure> {
        let said = submissions::media_type(&self.call.headers).unwrap_or_default();
        if !submissions::essence(said).eq_ignore_ascii_case("application/json") {
            let reason = "Content-Type must be application/json";
            return Err(RefusalKind::BadContentType.because(reason).into());
        }
        let (turn, bytes) = self.bytes(body).await?;
        // An empty body counts as an empty object.
        let bytes = if bytes.is_empty() { b"{}".to_vec() } else { bytes };
        Ok((turn, parsed(bytes, read).await?))
    }

    /// Parses the body as JSON, whatever its declared type.
    async fn any_json(&self, body: Body) -> Result<(Turn, Json), Failure> {
        let (turn, bytes) = self.bytes(body).await?;
        Ok((turn, parsed(bytes, Json::read).await?))
    }

    /// Returns the unpacked body. A body of unusual size waits for the budget for such bodies, either by its
    /// declared length or when it exceeds the usual size.
    async fn bytes(&self, body: Body) -> Result<(Turn, Vec<u8>), Failure> {
        let (hub, headers) = (&self.hub, &self.call.headers);
        let limits = &hub.config.limits;
        let most = limits.database_body_bytes;
        let coding = body::coding(headers)?;
        let mut frames = Frames::of(hub, headers, body, most)?;
        let declared = body::declared(headers).and_then(|length| usize::try_from(length).ok());
        let large = match declared.filter(|length| *length > limits.body_bytes) {
            // The unpacked size of a compressed body is unknown.
            Some(length) if coding == Coding::Identity => Some(hub.large.take(length).await?),
            Some(_) => Some(hub.large.take(most).await?),
            None => None,
        };
        let mut turn = body::turn(hub, &hub.uploads).await?.with(large);
        let mut bytes = Vec::new();
        while let Some(frame) = frames.next().await? {
            bytes.extend_from_slice(&frame);
            if bytes.len() > limits.body_bytes && !turn.is_large() {
                turn = turn.with(Some(hub.large.take(most).await?));
            }
        }
        let (turn, bytes) = match coding {
            Coding::Identity => (turn, bytes),
            Coding::Gzip => self.unpacked(turn, bytes, most).await?,
        };
        self.call.still_may(hub).await?;
        Ok((turn, bytes))
    }

    /// Waits for a slot for a large response.
    async fn place(&self) -> Result<Place, Problem> {
        let person = self.principal.user();
        self.hub.database_answers.place(person.map(|person| person.as_str())).await
    }

    /// Returns a slot for attachments of so many bytes. Attachments of unusual size also take budget by their
    /// size.
    async fn room_for(&self, place: Place, bytes: u64) -> Result<Place, Problem> {
        let bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
        match bytes > self.hub.config.limits.body_bytes {
            true => Ok(place.with(self.hub.large_attachments.take(bytes).await?)),
            false => Ok(place),
        }
    }

    /// Returns the contents of a document's attachments, to be sent with it.
    async fn held(&self, name: &DatabaseName, document: &ReadDocument) -> Result<Held, Failure> {
        let most = self.hub.config.limits.database_body_bytes as u64;
        Ok(held(&*self.databases, name, document, most).await?)
    }

    /// Unpacks data of at most so many bytes under the permit of the request. If it exceeds the usual size,
    /// it waits for the budget for large bodies.
    async fn unpacked(
        &self,
        turn: Turn,
        packed: Vec<u8>,
        most: usize,
    ) -> Result<(Turn, Vec<u8>), Failure> {
        let limits = &self.hub.config.limits;
        let packed = Bytes::from(packed);
        let unpack = async |most: usize| {
            let packed = packed.clone();
            aside(move || body::unpack_any(&packed, most)).await?
        };
        let turn = match turn.is_large() {
            true => turn,
            false => match unpack(limits.body_bytes.min(most)).await {
                Err(problem)
                    if problem.status() == StatusCode::PAYLOAD_TOO_LARGE
                        && most > limits.body_bytes =>
                {
                    turn.with(Some(self.hub.large.take(most).await?))
                }
                unpacked => return Ok((turn, unpacked?)),
            },
        };
        Ok((turn, unpack(most).await?))
    }
}

/// Parses received JSON.
async fn parsed(
    bytes: Vec<u8>,
    read: fn(Vec<u8>) -> Result<Json, Refusal>,
) -> Result<Json, Failure> {
    match bytes.len() < AT_ONCE {
        true => Ok(read(bytes)?),
        // Other requests need this thread.
        false => Ok(aside(move || read(bytes)).await??),
    }
}

/// Runs lengthy work on a blocking thread.
async fn aside<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, Problem> {
    tokio::task::spawn_blocking(work).await.map_err(|_| Problem::internal())
}

/// Runs work that borrows, without delaying other requests if it handles so many bytes of documents.
fn in_place<T>(bytes: usize, work: impl FnOnce() -> T) -> T {
    let is_shared = || Handle::current().runtime_flavor() == RuntimeFlavor::MultiThread;
    if bytes > AT_ONCE && is_shared() { block_in_place(work) } else { work() }
}

/// Creates a JSON response.
fn json(status: StatusCode, text: impl Into<Body>) -> Response {
    let headers = [
        (header::CONTENT_TYPE, HeaderValue::from_static("application/json")),
        (header::CACHE_CONTROL, HeaderValue::from_static("must-revalidate")),
    ];
    (status, headers, text.into()).into_response()
}

/// `{"ok":true}`.
fn done(status: StatusCode) -> Response {
    json(status, "{\"ok\":true}\n")
}
