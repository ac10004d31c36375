//! `GET /` and `GET /collections`: what is here that the caller may read, for people and for programs
//! (A12).

use axum::extract::State;
use axum::response::Response;
use feedsync_store::Collection;
use http::{HeaderValue, header};
use serde_json::{Value, json};

use crate::access::may_read;
use crate::address::View;
use crate::call::Call;
use crate::hub::Hub;
use crate::problem::Problem;
use crate::whole::conditional;

/// A short page: the collections, and what to try next.
pub(crate) async fn page(State(hub): State<Hub>, call: Call) -> Result<Response, Problem> {
    let name = hub.endpoint.identity().await?.name;
    let rows: String = readable(&hub, &call)
        .await?
        .iter()
        .map(|collection| {
            let path = View::Listing.path(&collection.name, None);
            let (title, items) = (escaped(&collection.title), collection.live);
            let conflicted = match collection.conflicted {
                0 => String::new(),
                count => format!(", {count} with conflicts"),
            };
            format!(
                "<li><a href=\"{path}\">{title}</a>: {items} items{conflicted}\n\
                 <br><code>feedsync sync {name} {url}</code>\n",
                name = collection.name,
                url = escaped(&call.base.url(&path)),
            )
        })
        .collect();
    let list = if rows.is_empty() {
        "<p>There are no collections yet: <code>feedsync create NAME</code> makes one.\n".to_owned()
    } else {
        format!("<ul>\n{rows}</ul>\n")
    };
    let title = format!("feedsync: {}", escaped(name.as_str()));
    let page = format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n<title>{title}</title>\n\
         <h1>{title}</h1>\n{list}"
    );
    let mut answer = conditional(&hub, &call, "text/html; charset=utf-8", page).await?;
    answer
        .headers_mut()
        .insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static("default-src 'none'"));
    Ok(answer)
}

/// `[{"name","title","format","items","changes"}]`.
pub(crate) async fn list(State(hub): State<Hub>, call: Call) -> Result<Response, Problem> {
    let entry = |collection: &Collection| {
        json!({
            "name": collection.name.as_str(),
            "title": collection.title,
            "format": collection.format.name(),
            "items": collection.live,
            "changes": call.base.url(&View::Changes.path(&collection.name, None)),
        })
    };
    let list: Value = readable(&hub, &call).await?.iter().map(entry).collect();
    conditional(&hub, &call, "application/json", format!("{list}\n")).await
}

/// The collections that the caller may read.
pub(crate) async fn readable(hub: &Hub, call: &Call) -> Result<Vec<Collection>, Problem> {
    let mut readable = Vec::new();
    for collection in hub.endpoint.store().collections().await? {
        if may_read(&call.principal, &collection)? {
            readable.push(collection);
        }
    }
    Ok(readable)
}

fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            other => escaped.push(other),
        }
    }
    escaped
}
