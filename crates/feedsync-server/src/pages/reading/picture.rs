//! `/pages/reading/articles/{number}/pictures/{name}`: a picture of an article, which the hub fetches.
//!
//! Only pictures that the page of the article shows have names, with the text of the feed or with the cached full text,
//! and only users who may read the article get them.
//! So the hub fetches no addresses that users or other sites choose.

use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use feedsync_aggregator::{Picture, PictureError};
use http::{StatusCode, header};
use tokio::task::spawn_blocking;

use super::article::{found, number, purpose, unknown};
use super::full_text::FullTextPage;
use super::{ONCE_A_DAY, reading};
use crate::access::call::Call;
use crate::http::caching::Caching;
use crate::http::html::content::picture_address;
use crate::http::problem::Problem;
use crate::http::response_budget::{MAX_UNCOUNTED_BYTES, ResponseSlot};
use crate::http::text_response::headers;
use crate::http::validators::EntityTag;
use crate::hub::Hub;

pub(crate) async fn read(State(hub): State<Hub>, call: Call) -> Result<Response, Problem> {
    let reading = reading(&hub, &call).await?;
    let (article, feed) = found(&reading, number(&call)?).await?;
    let feed_address = feed.kept.address.clone();
    let root = Some(call.base.path());
    let purpose = purpose(&article, feed, root);
    let full_text = FullTextPage::cached(&reading, &article, feed, root).await;
    let name = call.segment("name").to_owned();
    let ticket = hub.cleaning.admit().await?;
    let of_name = move || {
        let of_full_text = || {
            let FullTextPage { text, purpose } = full_text?;
            picture_address(&text, &purpose, &name, &ticket)
        };
        picture_address(&article.text, &purpose, &name, &ticket).or_else(of_full_text)
    };
    let address = spawn_blocking(of_name).await.map_err(|_| Problem::internal())?;
    let address = address.ok_or_else(unknown)?;
    let picture = reading.picture(&feed_address, &address).await.map_err(refused)?;
    let Picture { media_type, bytes, digest } = picture;
    let tag = EntityTag::of_digest(&digest);
    let mut answer = match headers(&tag, &call, media_type, Caching::OnePerson)? {
        Ok(headers) => {
            let user = call.principal.user().map(|user| user.as_str());
            let slot = match bytes.len() > MAX_UNCOUNTED_BYTES {
                true => hub.response_budget.place(user).await?,
                false => ResponseSlot::default(),
            };
            (headers, Body::from(slot.hold(Bytes::from_owner(bytes)))).into_response()
        }
        Err(answer) => answer,
    };
    answer.headers_mut().insert(header::CACHE_CONTROL, ONCE_A_DAY);
    Ok(answer)
}

fn refused(error: PictureError) -> Problem {
    match error {
        PictureError::Store(error) => error.into(),
        PictureError::Busy => Problem::unavailable(error.to_string()),
        error => Problem::new(
            StatusCode::BAD_GATEWAY,
            "picture",
            "The picture cannot be fetched",
            error.to_string(),
        ),
    }
}
