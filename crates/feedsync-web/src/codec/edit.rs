//! Rows of waiting edits, and of completed ones that are shown until their feeds contain them.

use feedsync_bitsy::event::ErrorId;
use feedsync_bitsy::interceptor::{Entity, OverlayEdit};
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
