//! Rows of waiting edits, and of completed ones that are shown until their feeds contain them.

use feedsync_bitsy::authentication::Partition;
use feedsync_bitsy::event::ErrorId;
use feedsync_bitsy::interceptor::{Entity, OverlayEdit};
use feedsync_bitsy::location::Location;
use feedsync_bitsy::outbox::{Edit, EditId, NewEdit, Progress, Stall};
use feedsync_bitsy::propagation::Method;
use serde_json::{Value, json};

use super::fields::{Damaged, Fields, entity_value, partition_text};

const METHODS: [(Method, &str); 3] =
    [(Method::Post, "POST"), (Method::Put, "PUT"), (Method::Delete, "DELETE")];

pub(crate) fn edit_value(edit: &Edit<Entity>) -> Value {
    let requested = &edit.requested;
    let method = METHODS.iter().find(|(method, _)| *method == requested.method);
    let (progress, until) = progress_value(&edit.progress);
    let stall = edit.stall.map(|stall| {
        let error = stall.error.map(|error| error.0);
        json!({ "status": stall.status.as_u16(), "since": stall.since.millis(), "error": error })
    });
    json!({
        "id": edit.id.0,
        "partition": partition_text(requested.partition),
        "method": method.map(|(_, name)| name),
        "location": requested.location.as_str(),
        "feed": requested.feed.as_str(),
        "resource": requested.resource.as_str(),
        "queue": requested.queue.as_str(),
        "base": requested.base,
        "isConditional": requested.is_conditional,
        "previous": requested.previous.as_ref().map(entity_value),
        "body": requested.body.as_ref().map(entity_value),
        "slug": requested.slug,
        "generation": requested.generation,
        "key": requested.key,
        "tries": edit.tries,
        "progress": progress,
        "until": until,
        "stall": stall,
    })
}

pub(crate) fn edit(value: &Value) -> Result<Edit<Entity>, Damaged> {
    let of = Fields(value);
    let name = of.text("method")?;
    let method = METHODS.iter().find(|(_, other)| *other == name);
    let (method, _) = *method.ok_or_else(|| Damaged::new("method", name))?;
    let requested = NewEdit {
        partition: of.partition("partition")?,
        method,
        location: of.location("location")?,
        feed: of.location("feed")?,
        resource: of.location("resource")?,
        queue: of.location("queue")?,
        base: of.optional_text("base")?.map(str::to_owned),
        is_conditional: of.flag("isConditional")?,
        previous: of.optional_entity("previous")?,
        body: of.optional_entity("body")?,
        slug: of.optional_text("slug")?.map(str::to_owned),
        generation: of.number("generation")?,
        key: of.text("key")?.to_owned(),
    };
    Ok(Edit {
        id: EditId(of.number("id")?),
        requested,
        tries: of.small("tries")?,
        progress: progress(of)?,
        stall: of.optional("stall").map(stall).transpose()?,
    })
}

/// The edit of this number from what is left of its row; none if not even an address is left. Members that are missing
/// get values with which the edit can be shown, and it must not be sent.
pub(crate) fn remaining_edit(number: u64, left: &Value) -> Option<Edit<Entity>> {
    let of = |name: &str| left.get(name).filter(|value| !value.is_null()).cloned();
    let address = |name: &str| {
        let text = of(name)?;
        text.as_str()?.parse::<Location>().ok().map(|location| json!(location.as_str()))
    };
    let location = ["location", "resource", "queue", "feed"].into_iter().find_map(address)?;
    let or_location = |name: &str| address(name).unwrap_or_else(|| location.clone());
    let public = || json!(partition_text(Partition::public()));
    let body = of("body").or_else(|| {
        Some(json!({ "content": of("content")?, "headers": of("headers").unwrap_or(json!([])) }))
    });
    let shown = |partition: Value, method: Value, body: Value| {
        json!({
            "id": number, "partition": partition, "method": method, "location": location,
            "feed": or_location("feed"), "resource": or_location("resource"), "queue": or_location("queue"),
            "isConditional": true, "body": body, "generation": 0, "key": "", "tries": 0, "progress": "held",
        })
    };
    let partition = of("partition").unwrap_or_else(public);
    let method = of("method").unwrap_or(json!("PUT"));
    let bodies = [body.unwrap_or_default(), Value::Null];
    // A value that is there and damaged must not hide the others.
    let all = bodies.into_iter().flat_map(|body| {
        let partitions = [partition.clone(), public()];
        let both =
            |partition: Value| [(partition.clone(), method.clone()), (partition, json!("PUT"))];
        partitions
            .map(both)
            .into_iter()
            .flatten()
            .map(move |(who, how)| (who, how, body.clone()))
            .collect::<Vec<_>>()
    });
    all.map(|(partition, method, body)| shown(partition, method, body))
        .find_map(|value| edit(&value).ok())
}

fn progress_value(progress: &Progress) -> (&'static str, Option<u64>) {
    match progress {
        Progress::Queued => ("queued", None),
        Progress::Sent => ("sent", None),
        Progress::Doubtful => ("doubtful", None),
        Progress::Accepted => ("accepted", None),
        Progress::Held => ("held", None),
        Progress::Waiting { until } => ("waiting", Some(until.millis())),
    }
}

fn progress(of: Fields<'_>) -> Result<Progress, Damaged> {
    Ok(match of.text("progress")? {
        "queued" => Progress::Queued,
        "sent" => Progress::Sent,
        "doubtful" => Progress::Doubtful,
        "accepted" => Progress::Accepted,
        "held" => Progress::Held,
        "waiting" => Progress::Waiting { until: of.time("until")? },
        other => return Err(Damaged::new("progress", other)),
    })
}

fn stall(value: &Value) -> Result<Stall, Damaged> {
    let of = Fields(value);
    let error = of.optional("error").map(|_| of.number("error")).transpose()?;
    Ok(Stall { status: of.status("status")?, since: of.time("since")?, error: error.map(ErrorId) })
}

pub(crate) fn shown_value(shown: &OverlayEdit) -> Value {
    json!({
        "place": shown.place,
        "partition": partition_text(shown.partition),
        "feed": shown.feed.as_str(),
        "resource": shown.resource.as_str(),
        "pending": shown.pending.as_ref().map(|pending| pending.as_str()),
        "entity": shown.entity.as_ref().map(entity_value),
        "generation": shown.generation,
    })
}

pub(crate) fn shown(value: &Value) -> Result<OverlayEdit, Damaged> {
    let of = Fields(value);
    Ok(OverlayEdit {
        place: of.number("place")?,
        partition: of.partition("partition")?,
        feed: of.location("feed")?,
        resource: of.location("resource")?,
        pending: of.optional_location("pending")?,
        entity: of.optional_entity("entity")?,
        generation: of.number("generation")?,
    })
}
