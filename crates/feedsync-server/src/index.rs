//! `GET /` and `GET /collections`: what is here, for people and for programs.

use axum::extract::State;
use axum::response::Response;
use feedsync_store::Collection;
use http::{HeaderValue, header};
use serde_json::{Value, json};

use crate::address::View;
use crate::call::Call;
use crate::hub::Hub;
use crate::problem::Problem;
use crate::whole::conditional;

/// A short page: the collections, and what to try next.
pub(crate) async fn page(State(hub): State<Hub>, call: Call) -> Result<Response, Problem> {
    let name = hub.endpoint.identity().await?.name;
    let rows: String = hub
        .endpoint
        .store()
        .collections()
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
    let list: Value = hub.endpoint.store().collections().await?.iter().map(entry).collect();
    conditional(&hub, &call, "application/json", format!("{list}\n")).await
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
