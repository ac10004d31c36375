//! A to-do list in a terminal, in the directory TODO_DATA (default `todo-data`):
//!
//! ```text
//! todo add Milk        adds a task, and prints its id
//! todo list            lists all tasks
//! todo done 3f2a       marks a task as done, by the beginning of its id
//! todo rm 3f2a         deletes it
//! todo sync [URL]      syncs with a hub; the list remembers its address
//! todo conflicts       merges tasks that were edited in two places
//! ```

use feedsync::{Collection, Item, Json, Replica};
use serde::{Deserialize, Serialize};

#[derive(Clone, Serialize, Deserialize)]
struct Task {
    title: String,
    #[serde(default)]
    done: bool,
}

type Failure = Box<dyn std::error::Error>;

#[tokio::main]
async fn main() -> Result<(), Failure> {
    let data = std::env::var("TODO_DATA").unwrap_or_else(|_| "todo-data".to_owned());
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    print!("{}", run(&data, &arguments).await?);
    Ok(())
}

/// Carries out a command on the list in a directory, and returns what it prints.
pub(crate) async fn run(data: &str, arguments: &[&str]) -> Result<String, Failure> {
    let replica = Replica::open(data).await?;
    let todo = replica.collection_of::<Json<Task>>("todo").await?;
    match arguments {
        ["add", words @ ..] if !words.is_empty() => {
            let task = Task { title: words.join(" "), done: false };
            return Ok(format!("{}\n", todo.add(Json(task)).await?));
        }
        ["list"] => return list(&todo).await,
        ["done", id] => {
            let mut task = find(&todo, id).await?;
            task.done = true;
            todo.update(&task).await?;
        }
        ["rm", id] => {
            todo.delete(&find(&todo, id).await?).await?;
        }
        ["sync"] => return sync(&todo, &std::fs::read_to_string(format!("{data}/hub"))?).await,
        ["sync", url] => {
            std::fs::write(format!("{data}/hub"), url)?;
            return sync(&todo, url).await;
        }
        ["conflicts"] => {
            for conflict in todo.conflicts().await? {
                todo.resolve(conflict.keep_both(merge)).await?;
            }
        }
        _ => return Err("todo add TEXT | list | done ID | rm ID | sync [URL] | conflicts".into()),
    }
    Ok(String::new())
}

async fn list(todo: &Collection<Json<Task>>) -> Result<String, Failure> {
    let mut lines = String::new();
    for item in todo.items().await? {
        let mark = if item.done { 'x' } else { ' ' };
        let conflict = if item.conflicts() > 0 { "  (edited in two places)" } else { "" };
        lines += &format!("[{mark}] {:.8}  {}{conflict}\n", item.id().as_str(), item.title);
    }
    Ok(lines)
}

/// The task whose id begins so.
async fn find(todo: &Collection<Json<Task>>, beginning: &str) -> Result<Item<Json<Task>>, Failure> {
    let items = todo.items().await?.into_iter();
    let mut found = items.filter(|item| item.id().as_str().starts_with(beginning));
    match (found.next(), found.next()) {
        (Some(item), None) => Ok(item),
        (None, _) => Err(format!("no task {beginning}").into()),
        _ => Err(format!("more than one task {beginning}").into()),
    }
}

async fn sync(todo: &Collection<Json<Task>>, url: &str) -> Result<String, Failure> {
    match todo.sync(url).await {
        Ok(report) => Ok(format!("{} received, {} sent\n", report.received, report.sent)),
        Err(error) if error.is_offline() => Ok(format!("{error}; the edits stay here\n")),
        Err(error) => Err(error.into()),
    }
}

/// A task is done if somebody did it, and has both titles.
fn merge(one: &Json<Task>, other: &Json<Task>) -> Json<Task> {
    let title = match one.title == other.title {
        true => one.title.clone(),
        false => format!("{} / {}", one.title, other.title),
    };
    Json(Task { title, done: one.done || other.done })
}
