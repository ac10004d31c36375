//! Strategies for arbitrary steps.

use std::collections::BTreeSet;

use feedsync_bitsy::authentication::Partition;
use feedsync_bitsy::event::{ErrorId, Interaction, SyncError};
use feedsync_bitsy::headers::RegisteredHeaders;
use feedsync_bitsy::interception::Role;
use feedsync_bitsy::interceptor::{
    Attempt, Belonging, Change, Content, Counters, Entity, OverlayEdit, Policy, Representation,
    StoredSubscription, SubscriptionId,
};
use feedsync_bitsy::location::Location;
use feedsync_bitsy::newsreader::{
    self, Account, CachedResponse, ChangeId, Fact, Facts, Interface, Key, Mark, SignIn,
    StoredChange, Transition, UnsignedRequest,
};
use feedsync_bitsy::outbox::{Edit, EditId, NewEdit, Progress, Stall};
use feedsync_bitsy::propagation::Method;
use feedsync_bitsy::relation::Relation;
use feedsync_bitsy::subscription::builder::SubscriptionRequest;
use feedsync_bitsy::subscription::state::State;
use feedsync_bitsy::subscription::{Failure, Hold, Holder, Parts, Subscription};
use feedsync_bitsy::time::Time;
use http::{HeaderMap, HeaderValue, StatusCode};
use proptest::collection::{btree_map, btree_set, vec};
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;

use crate::samples::{LARGE, at, bytes};

/// Number of different contents.
pub(crate) const CONTENTS: u64 = 6;

/// Content of a number; the last two are large.
pub(crate) fn sample(number: u64) -> Vec<u8> {
    bytes(number, if number < CONTENTS - 2 { 10 } else { LARGE })
}

fn content() -> impl Strategy<Value = Content> {
    (0..=CONTENTS).prop_map(|number| match number {
        CONTENTS => Content::of(b""),
        number => Content::of(&sample(number)),
    })
}

fn partition() -> impl Strategy<Value = Partition> {
    select(vec![Partition::public(), Partition::of_bytes([7; 32])])
}

fn location() -> impl Strategy<Value = Location> {
    (0..5u8).prop_map(|number| at(&format!("{number}?a=%20%C3%A4")))
}

fn time() -> impl Strategy<Value = Time> {
    select(vec![Time::default(), Time::from_millis(1_700_000_000_123), Time::from_millis(u64::MAX)])
}

fn headers() -> impl Strategy<Value = HeaderMap> {
    let names = ["etag", "link", "x-many", "authorization"];
    let field = (select(names.to_vec()), "[ -~\t\u{e4}]{0,6}");
    vec(field, 0..4).prop_map(|fields| {
        let mut headers = HeaderMap::new();
        for (name, value) in fields {
            headers.append(name, HeaderValue::from_bytes(value.as_bytes()).unwrap());
        }
        headers
    })
}

fn relations() -> impl Strategy<Value = BTreeSet<Relation>> {
    let relation = select(vec!["alternate", "http://example.org/rel"]);
    btree_set(relation.prop_map(|relation| relation.parse().unwrap()), 0..3)
}

fn registered() -> impl Strategy<Value = RegisteredHeaders> {
    let field = (select(vec!["Accept", "COOKIE", "authorization"]), "[a-z;=\u{e4} ]{0,6}");
    vec(field, 0..4).prop_map(|fields| {
        let mut registered = RegisteredHeaders::default();
        for (name, value) in fields {
            // Some fields accept only one value.
            let _ = registered.add(name, &value);
        }
        registered
    })
}

fn stored_subscription() -> impl Strategy<Value = StoredSubscription> {
    let wanted = (location(), registered(), any::<u16>(), relations(), option::of(location()));
    let wanted = wanted.prop_map(|(feed, registered, interval, follows, proxy)| {
        SubscriptionRequest { feed, registered, interval, follows, proxy }
    });
    let hold =
        (any::<u16>(), relations()).prop_map(|(interval, follows)| Hold { interval, follows });
    let parts = (
        wanted,
        select(State::ALL.to_vec()),
        option::of(time()),
        btree_map(location(), time(), 0..3),
        any::<bool>(),
        option::of(time()),
        option::of((location(), 100..1_000u16)),
        btree_map((0..3u64).prop_map(Holder), hold, 0..3),
    );
    let parts =
        parts.prop_map(|(wanted, state, due, retries, again, last_updated, failure, holders)| {
            let failure = failure.map(|(location, status)| Failure {
                location,
                status: StatusCode::from_u16(status).unwrap(),
            });
            Parts { wanted, state, due, retries, again, last_updated, failure, holders }
        });
    let optional = || option::of(location());
    let all = (0..3u64, parts, optional(), optional(), option::of(relations()));
    all.prop_map(|(id, parts, collection, moved, followed)| StoredSubscription {
        id: SubscriptionId(id),
        subscription: Subscription::restored(parts),
        collection,
        moved,
        followed,
    })
}

fn entity() -> impl Strategy<Value = Entity> {
    (headers(), content()).prop_map(|(headers, content)| Entity { headers, content })
}

fn text() -> impl Strategy<Value = Option<String>> {
    option::of("[ -~\u{e4}]{0,6}")
}

fn edit() -> impl Strategy<Value = Edit<Entity>> {
    let methods = select(vec![Method::Post, Method::Put, Method::Delete]);
    let places = (location(), location(), location(), location());
    let entities = (option::of(entity()), option::of(entity()));
    let progress = prop_oneof![
        select(vec![
            Progress::Queued,
            Progress::Sent,
            Progress::Doubtful,
            Progress::Accepted,
            Progress::Held,
        ]),
        time().prop_map(|until| Progress::Waiting { until }),
    ];
    let texts = (text(), text(), any::<bool>());
    let stall = option::of((100..600u16, time(), option::of(0..9u64)));
    let stands = (progress, stall);
    let all = (0..4u64, partition(), methods, places, entities, texts, any::<u32>(), stands);
    all.prop_map(|(id, partition, method, places, (previous, body), texts, tries, stands)| {
        let (base, slug, is_conditional) = texts;
        let (location, feed, resource, queue) = places;
        let key = format!("{id:032x}");
        let requested = NewEdit {
            partition,
            method,
            location,
            feed,
            resource,
            queue,
            base,
            is_conditional,
            previous,
            body,
            slug,
            generation: u64::from(tries) * 3,
            key,
        };
        let (progress, stall) = stands;
        let stall = stall.map(|(status, since, error)| Stall {
            status: StatusCode::from_u16(status).unwrap(),
            since,
            error: error.map(ErrorId),
        });
        Edit { id: EditId(id), requested, tries, progress, stall }
    })
}

fn error() -> impl Strategy<Value = SyncError<Option<Content>>> {
    let body = || option::of(content());
    let whose = (0..3u64, partition(), location(), body());
    let what = (100..600u16, time(), location(), headers(), body(), headers(), body());
    (whose, what).prop_map(|((id, partition, feed, previous), what)| {
        let (
            status,
            time,
            location,
            request_headers,
            request_body,
            response_headers,
            response_body,
        ) = what;
        let interaction = Interaction {
            status: StatusCode::from_u16(status).unwrap(),
            time,
            location,
            method: "PUT".to_owned(),
            request_headers,
            request_body,
            response_headers,
            response_body,
        };
        SyncError { id: ErrorId(id), partition, feed, interaction, previous }
    })
}

fn shown() -> impl Strategy<Value = OverlayEdit> {
    let optional = (option::of(location()), option::of(entity()));
    let all = (0..3u64, partition(), location(), location(), optional);
    all.prop_map(|(place, partition, feed, resource, (pending, entity))| OverlayEdit {
        place,
        partition,
        feed,
        resource,
        pending,
        entity,
        generation: place * 5,
    })
}

fn attempt() -> impl Strategy<Value = Attempt> {
    let all = (partition(), location(), content());
    all.prop_map(|(partition, location, content)| Attempt { partition, location, content })
}

fn representation() -> impl Strategy<Value = Representation> {
    let all = (100..600u16, headers(), content(), time(), text());
    all.prop_map(|(status, headers, content, fetched, alias_tag)| Representation {
        status: StatusCode::from_u16(status).unwrap(),
        headers,
        content,
        fetched,
        alias_tag,
    })
}

fn belonging() -> impl Strategy<Value = Belonging> {
    let roles = [Role::Feed, Role::Synchronizable, Role::Subscribable];
    let all = (select(roles.to_vec()), option::of(location()), 0..2u64);
    all.prop_map(|(role, entry, seen)| Belonging { role, entry, seen })
}

fn account() -> impl Strategy<Value = Account> {
    let sign_in = prop_oneof![
        ("[a-z\"]{0,3}", "\\PC{0,3}", option::of("\\PC{0,3}"))
            .prop_map(|(name, password, besides)| SignIn::Password { name, password, besides }),
        "\\PC{0,3}".prop_map(|value| SignIn::Field("authorization".to_owned(), value)),
        Just(SignIn::Session),
    ];
    let all = (
        partition(),
        select(Interface::ALL.to_vec()),
        location(),
        sign_in,
        vec("\\PC{0,3}", 0..3),
        time(),
    );
    all.prop_map(|(partition, interface, base, sign_in, sessions, seen)| Account {
        partition,
        interface,
        base,
        sign_in,
        sessions,
        seen,
    })
}

fn kept() -> impl Strategy<Value = CachedResponse> {
    let fact = (any::<i64>(), option::of(any::<bool>()), option::of(any::<bool>()));
    let facts = vec(fact, 0..3).prop_map(|facts| {
        let fact = |(article, is_read, is_starred)| Fact {
            article,
            is_read,
            is_starred,
            ..Fact::default()
        };
        Facts { articles: facts.into_iter().map(fact).collect(), filed: Vec::new() }
    });
    let all = (partition(), 0..3u8, any::<u8>(), any::<u64>(), time(), content(), facts);
    all.prop_map(|(partition, key, kind, stamp, fetched, content, facts)| CachedResponse {
        partition,
        key: Key([key; 32]),
        kind,
        stamp: ChangeId(stamp),
        fetched,
        media_type: "application/json".to_owned(),
        content,
        facts,
    })
}

fn written() -> impl Strategy<Value = StoredChange> {
    let turn = || {
        option::of(
            (option::of(any::<bool>()), any::<bool>())
                .prop_map(|(previous, now)| Transition { was: previous, now }),
        )
    };
    let mark = (any::<i64>(), turn(), turn()).prop_map(|(article, read, starred)| Mark {
        article,
        feed: None,
        read,
        starred,
    });
    let all = (0..4u64, partition(), any::<bool>(), vec(mark, 0..3), "\\PC{0,9}");
    all.prop_map(|(id, partition, is_sent, marks, body)| {
        let request = UnsignedRequest { body, ..UnsignedRequest::default() };
        let change = newsreader::Change { request, marks, ..newsreader::Change::default() };
        StoredChange { id: ChangeId(id), partition, is_sent, change }
    })
}

pub(crate) fn change() -> impl Strategy<Value = Change> {
    let places = [any::<u64>(); 6];
    prop_oneof![
        2 => stored_subscription().prop_map(|it| Change::StoredSubscription(Box::new(it))),
        1 => (0..3u64).prop_map(|id| Change::SubscriptionRemoved(SubscriptionId(id))),
        3 => edit().prop_map(|it| Change::Edit(Box::new(it))),
        2 => (0..4u64).prop_map(|id| Change::EditRemoved(EditId(id))),
        2 => error().prop_map(|it| Change::Error(Box::new(it))),
        1 => (0..3u64).prop_map(|id| Change::ErrorRemoved(ErrorId(id))),
        2 => shown().prop_map(|it| Change::OverlayEdit(Box::new(it))),
        1 => (0..3u64).prop_map(Change::OverlayEditRemoved),
        1 => (partition(), location(), option::of(location()))
            .prop_map(|(partition, pending, member)| Change::MemberAddress { partition, pending, member }),
        4 => (partition(), location(), option::of(representation().prop_map(Box::new)))
            .prop_map(|(partition, location, representation)| Change::Representation {
                partition,
                location,
                representation,
            }),
        4 => (partition(), location(), btree_map(location(), belonging(), 0..4), any::<bool>())
            .prop_map(|(partition, feed, resources, is_whole)| Change::Generation {
                partition,
                feed,
                resources,
                is_whole,
            }),
        1 => (partition(), location())
            .prop_map(|(partition, pending)| Change::MemberAddressRemoved { partition, pending }),
        2 => attempt().prop_map(|it| Change::Attempt(Box::new(it))),
        1 => attempt().prop_map(|it| Change::AttemptRemoved(Box::new(it))),
        2 => account().prop_map(|it| Change::Account(Box::new(it))),
        1 => partition().prop_map(Change::AccountRemoved),
        3 => kept().prop_map(|it| Change::CachedResponse(Box::new(it))),
        1 => (partition(), 0..3u8)
            .prop_map(|(partition, key)| Change::CachedResponseRemoved { partition, key: Key([key; 32]) }),
        2 => written().prop_map(|it| Change::StoredChange(Box::new(it))),
        1 => (0..4u64).prop_map(|id| Change::StoredChangeRemoved(ChangeId(id))),
        1 => select(vec![Policy::Auto, Policy::Offline]).prop_map(Change::Policy),
        1 => partition().prop_map(Change::PartitionRemoved),
        1 => places.prop_map(|[stored_subscription, holder, edit, error, shown, generation]| {
            Change::Counters(Counters { stored_subscription, holder, edit, error, shown, generation })
        }),
    ]
}
