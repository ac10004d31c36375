//! Metadata of an XML feed.

use std::time::Duration;

use super::{PollingHints, PublishedFeed};
use crate::context::Context;
use crate::entry::{atom_text, is_rss, rss_title};
use crate::markup;
use crate::xml::{Element, Namespace, Namespaces};

/// Namespace of the RSS 1.0 module that defines how often a feed changes.
const SYNDICATION: &str = "http://purl.org/rss/1.0/modules/syndication/";

/// Maximum interval that a feed can ask for. With a larger one, a feed whose interval is wrong by a factor of ten
/// would hardly be read again.
const MAX_INTERVAL: Duration = Duration::from_secs(7 * 86_400);

pub(super) fn read(
    root: Element<'_, '_>,
    namespaces: &Namespaces<'_>,
    outside: &Context<'_>,
) -> PublishedFeed {
    let context = outside.enter(root.document(), root.attributes());
    let mut head = PublishedFeed::default();
    let of_items = |child: &Element<'_, '_>| matches!(child.local(), "item" | "entry");
    // The metadata of RSS is in the channel. Elements of RSS 1.0 next to the channel also belong to it.
    let is_own = |namespace| is_rss(namespace) || namespace == root.namespace();
    let channel =
        root.children().find(|child| child.local() == "channel" && is_own(child.namespace()));
    let is_channel = channel.is_some();
    let inside = channel.into_iter().flat_map(|channel| channel.children());
    let beside = root.children().filter(|child| child.local() != "channel");
    let context = match channel {
        Some(channel) => context.enter(root.document(), channel.attributes()).into_owned(),
        None => context.into_owned(),
    };
    let (mut period, mut frequency) = (None, 1);
    for child in inside.chain(beside).filter(|child| !of_items(child)) {
        let absolute = |text: String| context.resolve(&text).into_owned();
        let kept = |known: &mut Option<String>, value: Option<String>| {
            *known = known.take().or(value);
        };
        let namespace = child.namespace();
        let is_own = [Namespace::ATOM, root.namespace()].contains(&namespace);
        let is_rss = is_channel && (is_rss(namespace) || namespace == root.namespace());
        match child.local() {
            _ if namespaces.iri(child.namespace()) == SYNDICATION => match child.local() {
                "updatePeriod" => period = period_of(child.text().trim()),
                "updateFrequency" => frequency = child.text().trim().parse().unwrap_or(1).max(1),
                _ => {}
            },
            "link" if child.value("href").is_some() => link(child, &context, &mut head),
            "title" if is_rss => kept(&mut head.title, rss_title(child)),
            "description" if is_rss => {
                kept(&mut head.description, text(child).map(|text| markup::plain(&text)))
            }
            "link" if is_rss => kept(&mut head.site, text(child).map(absolute)),
            "image" if is_rss => {
                let url = child.children().find(|part| part.local() == "url");
                kept(&mut head.icon, url.and_then(text).map(absolute));
            }
            "ttl" if is_rss => {
                head.polling_hints.every = child.text().trim().parse().ok().and_then(minutes)
            }
            "skipHours" if is_rss => head.polling_hints.idle_hours = idle(child, hour, 24),
            "skipDays" if is_rss => head.polling_hints.idle_days = idle(child, day, 7) as u8,
            _ if !is_own => {}
            "title" => kept(&mut head.title, atom_text(child)),
            "subtitle" | "tagline" => kept(&mut head.description, atom_text(child)),
            "icon" => head.icon = text(child).map(absolute).or(head.icon.take()),
            "logo" => kept(&mut head.icon, text(child).map(absolute)),
            _ => {}
        }
    }
    let every = period.map(|period: Duration| period / frequency);
    head.polling_hints.every =
        head.polling_hints.every.or(every).map(|every| every.min(MAX_INTERVAL));
    head
}

/// Reads an Atom link, which also occurs in RSS.
fn link(element: Element<'_, '_>, context: &Context<'_>, head: &mut PublishedFeed) {
    let value = |name: &str| element.value(name).map(|value| value.trim().to_owned());
    let Some(href) = value("href").filter(|href| !href.is_empty()) else { return };
    let place = match value("rel").as_deref() {
        None | Some("" | "alternate") => &mut head.site,
        Some("self") => &mut head.address,
        Some("icon") => &mut head.icon,
        _ => return,
    };
    place.get_or_insert_with(|| context.resolve(&href).into_owned());
}

fn text(element: Element<'_, '_>) -> Option<String> {
    let text = element.text().trim().to_owned();
    (!text.is_empty()).then_some(text)
}

fn minutes(count: u32) -> Option<Duration> {
    (count > 0).then(|| Duration::from_secs(u64::from(count) * 60))
}

fn period_of(name: &str) -> Option<Duration> {
    let days = match name {
        "hourly" => return Some(Duration::from_secs(3_600)),
        "daily" => 1,
        "weekly" => 7,
        "monthly" => 30,
        "yearly" => 365,
        _ => return None,
    };
    Some(Duration::from_secs(days * 86_400))
}

/// Returns a bit for each named hour or day. If all are named, the value is taken as a mistake and is 0.
fn idle(element: Element<'_, '_>, place: fn(&str) -> Option<u32>, count: u32) -> u32 {
    let named = element.children().filter_map(|child| place(child.text().trim()));
    let bits = named.fold(0, |bits, place| bits | 1 << place);
    if bits == (1 << count) - 1 { 0 } else { bits }
}

/// Parses an hour. Hour 24 is midnight.
fn hour(text: &str) -> Option<u32> {
    text.parse().ok().filter(|hour| *hour <= 24).map(|hour: u32| hour % 24)
}

fn day(text: &str) -> Option<u32> {
    const DAYS: [&str; 7] =
        ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"];
    let place = DAYS.iter().position(|day| day.eq_ignore_ascii_case(text))?;
    u32::try_from(place).ok()
}

impl PollingHints {
    /// Whether the feed declares that it does not change in this hour (0 to 23) of this day (0 is Monday), GMT.
    pub fn is_idle(self, day: u32, hour: u32) -> bool {
        self.idle_hours >> (hour % 24) & 1 == 1 || u32::from(self.idle_days) >> (day % 7) & 1 == 1
    }
}
