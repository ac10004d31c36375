//! `POST /collections/{c}/changes`: incorporates a submitted feed (FeedSync 3.3).
//!
//! The document is read completely, then incorporated in one transaction: an ill-formed one stores
//! nothing, and a faulty item is refused alone. The response contains the positions in the change
//! order before and after this transaction. A client that knew the collection up to `since` then
//! knows it up to `until`.

use std::collections::HashSet;

use axum::body::Body;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use feedsync_core::sse::UpgradeLoss;
use feedsync_core::{Format, ItemId};
use feedsync_endpoint::{ItemOutcome, Report, Source};
use feedsync_formats::sse::{self, SseReading};
use feedsync_formats::{ReadOptions, Reading, Refused, detect, with_charset};
use feedsync_store::{ChangeNumber, Collection};
use http::{HeaderValue, header};
use serde_json::{Value, json};

use crate::access::call::Call;
use crate::http::negotiation::format_of_body;
use crate::http::problem::Problem;
use crate::http::{media_types, submissions};
use crate::hub::Hub;

pub(crate) async fn incorporate(
    State(hub): State<Hub>,
    call: Call,
    body: Body,
) -> Result<Response, Problem> {
    let collection = call.collection(&hub).await?;
    let format = format_of_body(&call.headers)?;
    let limit = hub.config.limits.body_bytes;
    let (_permit, bytes) = submissions::read(&hub, &call, body, limit).await?;
    take(&hub, &call, &collection, format, bytes).await
}

/// Incorporates a parsed feed.
pub(crate) async fn take(
    hub: &Hub,
    call: &Call,
    collection: &Collection,
    format: Format,
    bytes: Vec<u8>,
) -> Result<Response, Problem> {
    let limits = hub.config.limits;
    let named = media_types::media_type(&call.headers).map(str::to_owned);
    let read = tokio::task::spawn_blocking(move || -> Result<_, Problem> {
        let mut options = ReadOptions::strict();
        options.limits.bytes = limits.body_bytes;
        let bytes = with_charset(bytes, named.as_deref(), options.mode);
        // Every other format may also arrive as plain XML; its items then have that format.
        let format = match format {
            Format::Pox => detect(&bytes).unwrap_or(Format::Pox),
            named => named,
        };
        let is_sse = sse::uses_sse(&bytes, &ReadOptions::tolerant());
        let SseReading { reading, losses } = match is_sse {
            true => sse::read_as_feed(&bytes, &options)?,
            false => {
                let reading = feedsync_formats::read(&bytes, Some(format), &options)?;
                SseReading { reading, losses: Vec::new() }
            }
        };
        Ok((is_sse, reading, losses))
    });
    let (is_sse, reading, losses) = read.await.map_err(|_| Problem::internal())??;
    let Reading { feed, refused, .. } = reading;
    let count = feed.items.len() + feed.plain_items + refused.len();
    if count > limits.body_items {
        let detail =
            format!("the document has {count} items, and the limit is {}", limits.body_items);
        return Err(Problem::too_large(detail));
    }
    let name = &collection.name;
    let endpoint = call.growing_endpoint(hub).await?;
    let report = match is_sse {
        true => endpoint.incorporate_sse(name, Source::Posted, feed.items, None).await?,
        false => endpoint.incorporate(name, Source::Posted, feed.items, None).await?,
    };
    hub.metrics.merged(&report.counts, refused.len());
    let mut answer = answer(&report, before(&report), &refused, feed.plain_items);
    if !losses.is_empty() {
        answer["losses"] = losses_of(&losses);
    }
    Ok((
        [
            (header::CONTENT_TYPE, HeaderValue::from_static("application/json")),
            (header::CACHE_CONTROL, HeaderValue::from_static("no-store")),
        ],
        answer.to_string(),
    )
        .into_response())
}

fn answer(report: &Report, before: ChangeNumber, refused: &[Refused], plain: usize) -> Value {
    let collection = &report.collection;
    let until = |number| collection.until(number).to_string();
    let counts = report.counts;
    let items: Vec<_> = report
        .items
        .iter()
        .map(|item| {
            let mut entry = json!({ "id": item.id.as_str(), "outcome": item.outcome.name() });
            if let ItemOutcome::Refused(refusal) = item.outcome {
                entry["reason"] = Value::from(refusal.to_string());
            }
            entry
        })
        .chain(refused.iter().map(|refused| {
            json!({
                "id": refused.id,
                "outcome": "refused",
                "reason": refused.reason.message,
                "line": refused.reason.position.line,
                "column": refused.reason.position.column,
            })
        }))
        .collect();
    json!({
        "since": until(before),
        "until": until(collection.last),
        "counts": {
            "added": counts.added,
            "unchanged": counts.unchanged,
            "updated": counts.updated,
            "conflict": counts.conflict,
            "refused": counts.refused + refused.len() as u64,
        },
        "plain": plain,
        "items": items,
    })
}

/// Losses of SSE items, for the response.
fn losses_of(losses: &[(ItemId, Vec<UpgradeLoss>)]) -> Value {
    let of = |(id, losses): &(ItemId, Vec<UpgradeLoss>)| {
        let lost: Vec<_> = losses.iter().map(ToString::to_string).collect();
        json!({ "id": id.as_str(), "lost": lost })
    };
    losses.iter().map(of).collect()
}

/// The last change before this transaction: its changes have the last numbers, one for each item.
fn before(report: &Report) -> ChangeNumber {
    let put: HashSet<_> = report
        .items
        .iter()
        .filter(|item| !matches!(item.outcome, ItemOutcome::Unchanged | ItemOutcome::Refused(_)))
        .map(|item| &item.id)
        .collect();
    ChangeNumber::new(report.collection.last.get().saturating_sub(put.len() as u64))
}
