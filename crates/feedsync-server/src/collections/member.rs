//! A member in its AtomPub representation (RFC 5023 9.6, 10.2, 11): its entry with the elements that the hub
//! adds. The listing and the member itself show the same (AP47).

use feedsync_core::{Format, Item, ItemId, Payload};
use feedsync_formats::{
    Blob, Link, MediaParts, ServerParts, entry, media, project, slug, with_media_links,
    with_server_parts,
};
use feedsync_store::{CollectionName, Moment, StoredItem};

use crate::collections::slug;
use crate::http::address::PublicBase;
use crate::http::query::encoded;

/// Address of a member, for reading and editing.
pub(crate) fn address(base: &PublicBase, collection: &CollectionName, id: &ItemId) -> String {
    base.url(&path(collection, id))
}

/// Address of its media; the name is for people.
pub(crate) fn media_address(
    base: &PublicBase,
    collection: &CollectionName,
    id: &ItemId,
    name: &str,
) -> String {
    let name = slug::cleaned(name).unwrap_or_else(|| "media".to_owned());
    format!("{}/media/{}", address(base, collection, id), encoded(&name))
}

/// Whether an address is the page of a member on this hub, under any host name.
pub(crate) fn is_own_page(collection: &CollectionName, id: &ItemId, href: &str) -> bool {
    href.contains(&format!("{}/as/", path(collection, id)))
}

/// The item as a member: its winner's entry with the hub's elements, without conflicts.
pub(crate) fn shown(
    base: &PublicBase,
    collection: &CollectionName,
    stored: &StoredItem,
) -> Item<Payload> {
    let item = &stored.item;
    let mut winner = item.winner.clone();
    winner.payload = project(&item.id, &winner, Format::Atom);
    let address = address(base, collection, &item.id);
    let media = Media::of(base, collection, &item.id, &winner.payload);
    let parts_of_media = media.as_ref().map(|media| MediaParts {
        edit_media: &media.address,
        src: &media.address,
        media_type: &media.blob.media_type,
    });
    let page = page_address(base, collection, &item.id, &winner.payload);
    let parts = ServerParts {
        edited: Some(&edited(stored.edited)),
        edit: Some(&address),
        alternate: Some(&page),
        media: parts_of_media,
    };
    winner.payload = with_server_parts(&winner.payload, &parts);
    Item { id: item.id.clone(), winner, conflicts: Vec::new() }
}

/// The item for synchronization, with links to the media of each version; none if there are no media.
pub(crate) fn with_media(
    base: &PublicBase,
    collection: &CollectionName,
    item: &Item<Payload>,
) -> Option<Item<Payload>> {
    let mut shown = None;
    for (index, version) in item.versions().enumerate() {
        if let Some(Media { blob, address }) =
            Media::of(base, collection, &item.id, &version.payload)
        {
            let shown = shown.get_or_insert_with(|| item.clone());
            if let Some(version) = shown.versions_mut().nth(index) {
                version.payload = with_media_links(&version.payload, &blob, &address);
            }
        }
    }
    shown
}

/// Links for readers: the page of the member, and its media as an enclosure.
pub(crate) fn links(
    base: &PublicBase,
    collection: &CollectionName,
    item: &Item<Payload>,
) -> Vec<Link> {
    let payload = &item.winner.payload;
    let page = Link::new("alternate", &page_address(base, collection, &item.id, payload));
    let media = Media::of(base, collection, &item.id, payload).map(|media| Link {
        media_type: Some(media.blob.media_type),
        title: Some(media.blob.name),
        length: Some(media.blob.length),
        ..Link::new("enclosure", &media.address)
    });
    std::iter::once(page).chain(media).collect()
}

/// The media of a media link entry.
struct Media {
    blob: Blob,
    address: String,
}

impl Media {
    fn of(
        base: &PublicBase,
        collection: &CollectionName,
        id: &ItemId,
        payload: &Payload,
    ) -> Option<Self> {
        let blob = media(payload)?;
        let address = media_address(base, collection, id, &blob.name);
        Some(Self { blob, address })
    }
}

fn page_address(
    base: &PublicBase,
    collection: &CollectionName,
    id: &ItemId,
    payload: &Payload,
) -> String {
    format!("{}/as/{}", address(base, collection, id), encoded(&page_name(payload)))
}

/// Text of a moment for `app:edited`: RFC 3339 with microseconds, which distinguish two changes.
pub(crate) fn edited(moment: Moment) -> String {
    let second = moment.timestamp().map_or_else(String::new, |second| second.to_string());
    format!("{}.{:06}Z", second.trim_end_matches('Z'), moment.micros() % 1_000_000)
}

/// Readable name of the member: the name that its creator requested, else its title.
fn page_name(payload: &Payload) -> String {
    slug(payload)
        .or_else(|| slug::cleaned(&entry(payload).title?))
        .unwrap_or_else(|| "entry".to_owned())
}

fn path(collection: &CollectionName, id: &ItemId) -> String {
    format!("/collections/{collection}/items/{}", encoded(id.as_str()))
}
