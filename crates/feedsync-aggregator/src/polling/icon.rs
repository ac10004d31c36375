//! Fetches the icon of a feed's site when the feed has changed, at most once a month.

use crate::library::{FeedHead, Icon, Library, LibraryError, MAX_ICON_BYTES, Origin};
use feedsync_fetch::{Fetcher, address};
use feedsync_log::Millis;
use feedsync_reading_state::FeedAddress;

use super::raster::{Raster, fetch_raster};

const MONTH: u64 = 30 * 24 * 60 * 60 * 1_000;

/// Site of a feed: that of its declared web page, or else of its own address.
pub(crate) fn site(feed: &FeedAddress, head: &FeedHead) -> Origin {
    let said = head.site.as_deref().and_then(|site| site.parse().ok());
    said.unwrap_or_else(|| Origin::from(feed))
}

/// Fetches the icon of a site, unless that was done within a month. The icon of the feed is used if the site has
/// none.
pub(super) async fn refresh_icon(
    fetcher: &Fetcher,
    library: &dyn Library,
    feed: &FeedAddress,
    head: &FeedHead,
    now: Millis,
) -> Result<(), LibraryError> {
    let origin = site(feed, head);
    let known = library.icon(&origin).await?;
    // A time in the future was written while the clock was ahead.
    if known.is_some_and(|known| known.checked <= now && now < known.checked.after(MONTH)) {
        return Ok(());
    }
    // The feed names the site and the icon, so permissions depend on the address of the feed.
    let Ok(given) = address(feed.as_str()) else { return Ok(()) };
    let fetcher = fetcher.given(given);
    let own = format!("{origin}/favicon.ico");
    let mut icon = None;
    for address in [Some(&own), head.icon.as_ref()].into_iter().flatten() {
        icon = picture(&fetcher, address).await;
        if icon.is_some() {
            break;
        }
    }
    library.set_icon(&origin, icon, now).await
}

/// Fetches an icon, if there is one at the address.
async fn picture(fetcher: &Fetcher, text: &str) -> Option<Icon> {
    let Raster { media_type, bytes } =
        fetch_raster(fetcher, address(text).ok()?, MAX_ICON_BYTES).await.ok()?;
    Some(Icon { media_type: media_type.to_owned(), bytes })
}
