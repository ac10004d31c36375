//! Rows of subscriptions.

use feedsync_bitsy::collections::SortedMap;
use feedsync_bitsy::headers::RegisteredHeaders;
use feedsync_bitsy::interceptor::{StoredSubscription, SubscriptionId};
use feedsync_bitsy::location::Location;
use feedsync_bitsy::subscription::builder::SubscriptionRequest;
use feedsync_bitsy::subscription::state::State;
use feedsync_bitsy::subscription::{Failure, Hold, Holder, Parts, Subscription};
use feedsync_bitsy::time::Time;
use serde_json::{Value, json};

use super::fields::{Damaged, Fields, header_text, header_value, relations_value};

pub(crate) fn subscription_value(stored: &StoredSubscription) -> Value {
    let StoredSubscription { id, subscription, collection, moved, followed } = stored;
    let Parts { wanted, state, due, retries, again, last_updated, failure, holders } =
        subscription.parts();
    let registered = wanted.registered.fields();
    let registered: Value =
        registered.map(|(name, value)| json!([name, header_text(value)])).collect();
    let retries: Value =
        retries.iter().map(|(location, time)| json!([location.as_str(), time.millis()])).collect();
    let hold = |(holder, hold): (&Holder, &Hold)| {
        let follows = relations_value(&hold.follows);
        json!({ "id": holder.0, "interval": hold.interval, "follows": follows })
    };
    let failure = failure.map(|failure| {
        json!({ "location": failure.location.as_str(), "status": failure.status.as_u16() })
    });
    json!({
        "id": id.0,
        "feed": wanted.feed.as_str(),
        "registered": registered,
        "interval": wanted.interval,
        "follows": relations_value(&wanted.follows),
        "proxy": wanted.proxy.as_ref().map(|proxy| proxy.as_str()),
        "state": state.number(),
        "due": due.map(|time| time.millis()),
        "again": again,
        "lastUpdated": last_updated.map(|time| time.millis()),
        "retries": retries,
        "holders": holders.iter().map(hold).collect::<Value>(),
        "failure": failure,
        "collection": collection.as_ref().map(|location| location.as_str()),
        "moved": moved.as_ref().map(|location| location.as_str()),
        "followed": followed.as_ref().map(relations_value),
    })
}

pub(crate) fn subscription(value: &Value) -> Result<StoredSubscription, Damaged> {
    let of = Fields(value);
    let state = State::of_number(of.small("state")?);
    let parts = Parts {
        wanted: SubscriptionRequest {
            feed: of.location("feed")?,
            registered: registered(of.list("registered")?)?,
            interval: of.small("interval")?,
            follows: of.relations("follows")?,
            proxy: of.optional_location("proxy")?,
        },
        state: state.ok_or_else(|| Damaged::new("state", "there is no such state"))?,
        due: of.optional_time("due")?,
        again: of.flag("again")?,
        last_updated: of.optional_time("lastUpdated")?,
        retries: of.list("retries")?.iter().map(retry).collect::<Result<_, _>>()?,
        failure: of.optional("failure").map(failure).transpose()?,
        holders: of.list("holders")?.iter().map(hold).collect::<Result<SortedMap<_, _>, _>>()?,
    };
    Ok(StoredSubscription {
        id: SubscriptionId(of.number("id")?),
        subscription: Subscription::restored(parts),
        collection: of.optional_location("collection")?,
        moved: of.optional_location("moved")?,
        followed: of.optional("followed").map(|_| of.relations("followed")).transpose()?,
    })
}

fn registered(list: &[Value]) -> Result<RegisteredHeaders, Damaged> {
    let field = |pair: &Value| {
        let name = pair.get(0).and_then(Value::as_str)?;
        Some((name.to_owned(), header_value(pair.get(1)?.as_str()?)?))
    };
    let fields: Option<Vec<_>> = list.iter().map(field).collect();
    let fields = fields.ok_or_else(|| Damaged::new("registered", "it is no list of headers"))?;
    RegisteredHeaders::restored(fields).map_err(|error| Damaged::new("registered", error))
}

fn retry(pair: &Value) -> Result<(Location, Time), Damaged> {
    let both = pair.get(0).and_then(Value::as_str).zip(pair.get(1).and_then(Value::as_u64));
    let (location, time) = both.ok_or_else(|| Damaged::new("retries", pair))?;
    let location = location.parse().map_err(|error| Damaged::new("retries", error))?;
    Ok((location, Time::from_millis(time)))
}

fn failure(value: &Value) -> Result<Failure, Damaged> {
    let of = Fields(value);
    Ok(Failure { location: of.location("location")?, status: of.status("status")? })
}

fn hold(value: &Value) -> Result<(Holder, Hold), Damaged> {
    let of = Fields(value);
    let hold = Hold { interval: of.small("interval")?, follows: of.relations("follows")? };
    Ok((Holder(of.number("id")?), hold))
}
