//! Peers with nothing but a shared folder: a folder of Syncthing or a network drive, or a USB stick.
//!
//! ```text
//! files FOLDER anna add Milk     adds a task on Anna's replica
//! files FOLDER anna sync         merges the files of the others, and writes Anna's own
//! files FOLDER anna list
//! ```
//!
//! Each peer writes one file, `NAME.json`, and reads those of the others. So no two programs write one file, and it does
//! not matter when the folder is carried over, or in which order. Anna's replica is in `anna-data` (or FILES_DATA).

use std::path::Path;
use std::{env, fs};

use feedsync::{Collection, Format, Replica};
use serde_json::json;

type Failure = Box<dyn std::error::Error>;

const USAGE: &str = "files FOLDER NAME add TEXT | sync | list";

#[tokio::main]
async fn main() -> Result<(), Failure> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let [folder, name, ref command @ ..] = arguments[..] else { return Err(USAGE.into()) };
    let data = env::var("FILES_DATA").unwrap_or_else(|_| format!("{name}-data"));
    print!("{}", run(Path::new(folder), name, &data, command).await?);
    Ok(())
}

/// Carries out a peer's command, and returns what it prints.
pub(crate) async fn run(
    folder: &Path,
    name: &str,
    data: &str,
    command: &[&str],
) -> Result<String, Failure> {
    let todo = Replica::open(data).await?.collection("todo").await?;
    let mut output = String::new();
    match command {
        ["add", words @ ..] => {
            todo.add(json!({"title": words.join(" ")})).await?;
        }
        ["sync"] => output = sync(&todo, folder, name).await?,
        ["list"] => {
            for item in todo.items().await? {
                output += &format!("{}\n", item["title"].as_str().unwrap_or("?"));
            }
        }
        _ => return Err(USAGE.into()),
    }
    Ok(output)
}

async fn sync(todo: &Collection, folder: &Path, name: &str) -> Result<String, Failure> {
    let (own, mut output) = (format!("{name}.json"), String::new());
    for file in fs::read_dir(folder)? {
        let path = file?.path();
        let is_feed = path.extension().is_some_and(|extension| extension == "json");
        if !is_feed || path.file_name().is_some_and(|file| *file == *own) {
            continue;
        }
        // A file that is still being carried over is merged the next time.
        match todo.merge_feed(fs::read(&path)?).await {
            Ok(report) => {
                output += &format!("{}: {} received\n", path.display(), report.received);
            }
            Err(error) => output += &format!("{}: {error}\n", path.display()),
        }
    }
    let partial = folder.join(format!("{own}.partial"));
    fs::write(&partial, todo.to_feed(Format::Json).await?)?;
    fs::rename(&partial, folder.join(&own))?;
    Ok(output)
}
