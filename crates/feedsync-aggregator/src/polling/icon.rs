//! Fetches the icon of a feed's site when the feed has changed, at most once a month.

use crate::library::{FeedHead, Icon, Library, LibraryError, MAX_ICON_BYTES, Origin};
use feedsync_fetch::{Fetched, Fetcher, Request, address};
use feedsync_log::Millis;
use feedsync_reading_state::FeedAddress;

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
    let request =
        Request::read(address(text).ok()?).accept("image/*").within(MAX_ICON_BYTES as u64);
    let Ok(Fetched::Answer(answer)) = fetcher.fetch(request).await else { return None };
    let bytes = answer.into_bytes().await.ok()?;
    let media_type = media_type(&bytes)?.to_owned();
    Some(Icon { media_type, bytes })
}

/// Detects the type of an image from its bytes, independent of the declared type. Types that may contain scripts
/// are rejected.
fn media_type(bytes: &[u8]) -> Option<&'static str> {
    Some(match bytes {
        [0x89, b'P', b'N', b'G', ..] => "image/png",
        [b'G', b'I', b'F', b'8', ..] => "image/gif",
        [0xff, 0xd8, 0xff, ..] => "image/jpeg",
        [0, 0, 1, 0, ..] => "image/x-icon",
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => "image/webp",
        _ => return None,
    })
}
