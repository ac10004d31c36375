//! Values in commands.

use feedsync_bitsy::interceptor::{Content, Entity};
use feedsync_bitsy::location::Location;
use http::header::{COOKIE, HeaderMap, HeaderValue};
use http::{Method, StatusCode};
use serde_json::Value;

use crate::codec::{Damaged, Fields};

/// Name of the cookie by which requests with the credentials of a person are told apart. It is never sent.
const PARTITION_COOKIE: &str = "bitsy-partition";

/// A request of a page.
pub(super) struct PageRequest {
    pub(super) method: Method,
    pub(super) location: Location,
    pub(super) headers: HeaderMap,
}

/// A response of a server.
pub(super) struct ServerResponse {
    pub(super) status: StatusCode,
    pub(super) headers: HeaderMap,
    pub(super) content: Option<Content>,
}

/// Random bits of a command: a hexadecimal text.
pub(super) fn random(of: Fields<'_>) -> Result<u128, Damaged> {
    let text = of.text("random")?;
    u128::from_str_radix(text, 16).map_err(|error| Damaged::new("random", error))
}

/// Reads a request: `method`, `url`, `headers`, and `partition` if it is made with the credentials of a person.
pub(super) fn request(of: Fields<'_>) -> Result<PageRequest, Damaged> {
    let mut headers = of.headers("headers")?;
    if let Some(name) = of.optional_text("partition")? {
        headers.insert(COOKIE, partition_cookie(name)?);
    }
    let method = of.text("method")?;
    let method = method.parse().map_err(|_| Damaged::new("method", method))?;
    Ok(PageRequest { method, location: of.location("url")?, headers })
}

/// Cookie of a partition. A page chooses its name, which may contain any characters.
pub(super) fn partition_cookie(name: &str) -> Result<HeaderValue, Damaged> {
    let name: String = name.bytes().map(|byte| format!("{byte:02x}")).collect();
    let value = format!("{PARTITION_COOKIE}={name}");
    let mut value: HeaderValue =
        value.parse().map_err(|error| Damaged::new("partition", format_args!("{error}")))?;
    value.set_sensitive(true);
    Ok(value)
}

/// The entity of an edit, if it has one.
pub(super) fn entity(of: Fields<'_>, headers: &HeaderMap) -> Result<Option<Entity>, Damaged> {
    Ok(of.optional_content("content")?.map(|content| Entity::sent(headers, content)))
}

/// Reads a response: `status`, `headers`, and `content` if its body could be stored.
pub(super) fn response(value: &Value) -> Result<ServerResponse, Damaged> {
    let of = Fields(value);
    Ok(ServerResponse {
        status: of.status("status")?,
        headers: of.headers("headers")?,
        content: of.optional_content("content")?,
    })
}
