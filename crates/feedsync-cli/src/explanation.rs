//! Details added to a failure: a similar name, the address of the database, and whether the disk is full.

use std::io::{self, Write as _};
use std::path::Path;

use feedsync_endpoint::did_you_mean;
use feedsync_fetch::shown_text;
use feedsync_server::configuration::StoreAddress;
use feedsync_store::{CollectionName, PageLimit};

use crate::context::{Context, OpenEndpoint};
use crate::failure::{Failure, Missing};
use crate::{store, view};

/// Maximum number of items that are searched for a similar name.
const MAX_SEARCHED_ITEMS: usize = 2_000;

/// Messages of SQLite for system errors, which a full disk may cause.
const IO_ERRORS: [&str; 2] = ["disk I/O error", "unable to open database file"];

/// Beginning of the message of every database error.
const DATABASE: &str = "the database failed";

/// Adds details to a failure.
pub(crate) async fn explained(failure: Failure, context: &Context) -> Failure {
    let text = failure.to_string();
    if IO_ERRORS.iter().any(|words| text.contains(words)) && has_full_disk(context) {
        return failure.add("; no room left on the disk");
    }
    if text.starts_with(DATABASE)
        && let Ok(address @ StoreAddress::Postgres(_)) = context.address()
    {
        return failure.prefix(&format!("{}: ", store::shown(&address)));
    }
    match failure.missing().cloned() {
        Some(missing) => {
            let near = near(context, &missing).await.unwrap_or_default();
            failure.add(&near)
        }
        None => failure,
    }
}

/// `; did you mean NAME?`, if there is a similar name.
async fn near(context: &Context, missing: &Missing) -> Result<String, Failure> {
    let home = context.open().await?;
    let names: Vec<String> = match missing {
        Missing::Collection(_) => {
            let collections = home.store.collections().await?;
            collections.into_iter().map(|collection| collection.name.to_string()).collect()
        }
        Missing::User(_) => {
            home.store.users().await?.into_iter().map(|user| user.name.to_string()).collect()
        }
        Missing::Remote { collection, .. } => {
            let remotes = home.store.remotes(Some(collection)).await?;
            remotes
                .into_iter()
                .flat_map(|remote| [Some(shown_text(&remote.url)), remote.name])
                .flatten()
                .collect()
        }
        Missing::Item { collection, id } => return near_item(&home, collection, id).await,
    };
    Ok(did_you_mean(missing.name(), names.iter().map(String::as_str)))
}

/// Searches ids and titles of items, since the user may have typed either.
async fn near_item(
    home: &OpenEndpoint,
    collection: &CollectionName,
    written: &str,
) -> Result<String, Failure> {
    let (mut names, mut after) = (Vec::new(), None);
    loop {
        let limit = PageLimit::items(200);
        let page = home.store.items_by_id(collection, after.as_ref(), limit).await?;
        after = page.items.last().map(|stored| stored.item.id.clone());
        for stored in page.items {
            let id = stored.item.id.to_string();
            names.push((view::title(&stored.item.winner.payload), id.clone()));
            names.push((id.clone(), id));
        }
        if !page.more || names.len() >= 2 * MAX_SEARCHED_ITEMS {
            break;
        }
    }
    let near = feedsync_endpoint::nearest(written, names.iter().map(|(name, _)| name.as_str()));
    let found = near.and_then(|near| names.iter().find(|(name, _)| name == near));
    Ok(found.map(|(_, id)| format!("; did you mean {id}?")).unwrap_or_default())
}

/// Whether the disk of the store is full.
fn has_full_disk(context: &Context) -> bool {
    let address = context.address().ok();
    let directory = address.as_ref().and_then(store::directory).unwrap_or(&context.data);
    takes_bytes(directory).is_err_and(|error| {
        matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
    })
}

fn takes_bytes(directory: &Path) -> io::Result<()> {
    let mut file = tempfile::tempfile_in(directory)?;
    file.write_all(&[0x5a; 64 << 10])
}
