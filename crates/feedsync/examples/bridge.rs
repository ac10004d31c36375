//! A bridge between two formats: a todo.txt file, one task a line, and a collection of JSON items on a hub.
//!
//! ```text
//! bridge todo.txt https://hub.example/collections/todo
//! ```
//!
//! Each run carries the changes of both sides to the other one. A line gets the id of its item (`id:…`), so that an
//! edited line is an edit. What the file held after the last run is beside it (`todo.txt.base`): that tells a line that
//! somebody removed from an item that is new on the hub. The replica is beside it, too (`todo.txt.data`).

use std::collections::BTreeMap;
use std::path::Path;
use std::{env, fs, io};

use feedsync::{Collection, ItemId, Json, Replica};
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

    carry_file(&todo, &text(file)?, &text(&base)?).await?;
    let done = match todo.sync(hub).await {
        Ok(report) => format!("{} received, {} sent", report.received, report.sent),
        Err(error) if error.is_offline() => format!("{error}; the edits stay here"),
        Err(error) => return Err(error.into()),
    };
    let items = todo.items().await?;
    let lines: String = items.iter().map(|item| item.line(item.id())).collect();
    replace(file, &lines)?;
    replace(&base, &lines)?;
    Ok(done)
}

/// Carries what changed in the file since the last run to the collection.
async fn carry_file(todo: &Collection<Json<Task>>, now: &str, base: &str) -> Result<(), Failure> {
    let mut before: BTreeMap<ItemId, Task> = BTreeMap::new();
    for (id, task) in base.lines().map(Task::read) {
        before.extend(id.map(|id| (id, task)));
    }
    for line in now.lines().filter(|line| !line.trim().is_empty()) {
        let (id, task) = Task::read(line);
        match id.and_then(|id| before.remove(&id).map(|old| (id, old))) {
            Some((_, old)) if old == task => {}
            // An item that was deleted meanwhile stays so.
            Some((id, _)) if todo.get(&id).await?.is_some() => {
                todo.change(&id, |item| **item = task).await?;
            }
            Some(_) => {}
            None => drop(todo.add(Json(task)).await?),
        }
    }
    for removed in before.keys() {
        todo.delete_latest(removed).await?;
    }
    Ok(())
}

/// The text of a file; empty if there is none.
fn text(path: &str) -> io::Result<String> {
    match fs::read_to_string(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(String::new()),
        read => read,
    }
}

/// Replaces a file whole.
fn replace(path: &str, text: &str) -> io::Result<()> {
    let partial = format!("{path}.partial");
    fs::write(Path::new(&partial), text)?;
    fs::rename(&partial, path)
}
