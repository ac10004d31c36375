//! A bridge between two formats: a todo.txt file, one task a line, and a collection of JSON items on a hub.
//!
//! ```text
//! bridge todo.txt https://hub.example/collections/todo
//! ```
//!
//! Each run carries the changes of both sides to the other one. A line gets the id of its item (`id:…`), so that an
//! edited line is an edit. What the file held after the last run is beside it (`todo.txt.base`). With it, the bridge
//! distinguishes a line that somebody removed from an item that is new on the hub. The replica is beside it, too
//! (`todo.txt.data`).
//!
//! No line and no edit is lost: where both sides changed one task, the file's line becomes a task of its own. A run may
//! be interrupted anywhere, and an editor may save the file while it lasts; the next round carries what it saved. Only
//! an editor that opened the file before a run, and saves it afterwards, removes the lines that the run added.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::{env, fs, io};

use feedsync::{Collection, Error, Item, ItemId, Json, Replica};
use serde::{Deserialize, Serialize};

type Failure = Box<dyn std::error::Error>;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Task {
    title: String,
    #[serde(default)]
    done: bool,
}

/// A line of todo.txt: `x Milk id:3f2a…`, where `x` is a task that is done.
impl Task {
    fn read(line: &str) -> (Option<ItemId>, Self) {
        let (rest, id) = match line.rsplit_once(" id:").map(|(rest, id)| (rest, ItemId::new(id))) {
            Some((rest, Ok(id))) => (rest, Some(id)),
            _ => (line, None),
        };
        let open = rest.strip_prefix("x ");
        (id, Self { title: open.unwrap_or(rest).trim().to_owned(), done: open.is_some() })
    }

    fn line(&self, id: &ItemId) -> String {
        let mark = if self.done { "x " } else { "" };
        format!("{mark}{} id:{id}\n", self.title.replace(['\r', '\n'], " "))
    }

    /// The task as its line has it.
    fn shown(&self, id: &ItemId) -> Self {
        Self::read(self.line(id).trim_end_matches('\n')).1
    }
}

#[tokio::main]
async fn main() -> Result<(), Failure> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [file, hub] = &arguments[..] else { return Err("bridge FILE HUB".into()) };
    println!("{}", run(file, hub).await?);
    Ok(())
}

/// Brings a file and a hub in step, and returns what was done.
pub(crate) async fn run(file: &str, hub: &str) -> Result<String, Failure> {
    let base = format!("{file}.base");
    let replica = Replica::open(format!("{file}.data")).await?;
    let todo = replica.collection_of::<Json<Task>>("todo").await?;

    loop {
        let now = with_ids(&todo, file)?;
        carry_file(&todo, &now, &text(&base)?).await?;
        replace(&base, &now)?;
        let done = match todo.sync(hub).await {
            Ok(report) => format!("{} received, {} sent", report.received, report.sent),
            Err(error) if error.is_offline() => format!("{error}; the edits stay here"),
            Err(error) => return Err(error.into()),
        };
        let items = todo.items().await?;
        let lines: String = items.iter().map(|item| item.line(item.id())).collect();
        // Somebody may have saved the file meanwhile.
        if text(file)? == now {
            replace(file, &lines)?;
            replace(&base, &lines)?;
            return Ok(done);
        }
    }
}

/// The lines of a file, of which each new one gets an id first: what is interrupted later finds its item again.
fn with_ids(todo: &Collection<Json<Task>>, file: &str) -> io::Result<String> {
    let before = text(file)?;
    let lines = before.lines().filter(|line| !line.trim().is_empty());
    let lines: String = lines
        .map(|line| match Task::read(line) {
            (Some(_), _) => format!("{line}\n"),
            (None, task) => task.line(&todo.replica().endpoint().new_id()),
        })
        .collect();
    if lines != before {
        replace(file, &lines)?;
    }
    Ok(lines)
}

/// Carries what changed in the file since the last run to the collection.
async fn carry_file(todo: &Collection<Json<Task>>, now: &str, base: &str) -> Result<(), Failure> {
    let mut before: BTreeMap<ItemId, Task> = BTreeMap::new();
    for (id, task) in base.lines().map(Task::read) {
        before.extend(id.map(|id| (id, task)));
    }
    for line in now.lines() {
        let (Some(id), task) = Task::read(line) else { continue };
        let was = before.remove(&id);
        match readable(todo, &id).await? {
            Some(item) if item.shown(&id) == task => {}
            // Only the collection has changed.
            Some(_) if was.as_ref() == Some(&task) => {}
            Some(mut item) if was.as_ref().is_some_and(|was| *was == item.shown(&id)) => {
                **item = task;
                todo.update(&item).await?;
            }
            // Both have changed, or another line has this id, too.
            Some(_) => drop(todo.add(Json(task)).await?),
            None => match todo.add_as(&id, Json(task.clone())).await {
                // It was deleted meanwhile, and nobody has edited the line.
                Err(Error::ItemExists { .. }) if was == Some(task.clone()) => {}
                Err(Error::ItemExists { .. }) => drop(todo.add(Json(task)).await?),
                added => drop(added?),
            },
        }
    }
    for (id, was) in before {
        if let Some(item) = readable(todo, &id).await?
            && item.shown(&id) == was
        {
            todo.delete(&item).await?;
        }
    }
    Ok(())
}

/// An item; `None` if it is deleted, or is no task.
async fn readable(
    todo: &Collection<Json<Task>>,
    id: &ItemId,
) -> Result<Option<Item<Json<Task>>>, Error> {
    match todo.get(id).await {
        Err(Error::Content { .. }) => Ok(None),
        read => read,
    }
}

/// The text of a file; empty if there is none.
fn text(path: &str) -> io::Result<String> {
    match fs::read_to_string(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(String::new()),
        read => read,
    }
}

/// Replaces a file whole, and durably.
fn replace(path: &str, text: &str) -> io::Result<()> {
    let partial = format!("{path}.partial");
    let mut file = fs::File::create(&partial)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()?;
    fs::rename(&partial, path)
}
