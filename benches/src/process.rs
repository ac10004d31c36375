//! Parts of benchmarks that need a process of their own: this program, called with [`CHILD`].

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::backend::Place;
use crate::{answers, changes, gateway, gateways, memory, newsreaders};

/// The first argument of a child.
pub(crate) const CHILD: &str = "child";

/// Plays the part that a child was started for.
pub(crate) fn play(arguments: &[String]) {
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match *arguments {
        ["changes", directory, since] => changes::read_changes(Path::new(directory), since),
        ["bare"] => answers::serve_bare(),
        ["fill", directory, count] => {
            memory::fill(Path::new(directory), count.parse().expect("a number"));
        }
        ["hub", directory] => memory::serve(Place::Directory(Path::new(directory))),
        ["hub-postgres", url] => memory::serve(Place::Database(url)),
        ["feeds"] => newsreaders::serve_feeds(),
        ["poll", directory, port] => newsreaders::poll(Path::new(directory), port),
        ["gateway", directory, origin] => gateways::serve(Path::new(directory), origin),
        ["links", count] => gateway::serve_links(count.parse().expect("a number")),
        ["pull", directory, url] => memory::pull(Path::new(directory), url),
        _ => panic!("no such part: {arguments:?}"),
    }
}

/// This program as a child; its standard output is read by us.
pub(crate) fn child(arguments: &[&str]) -> Command {
    let mut command = Command::new(std::env::current_exe().expect("our own path"));
    command.arg(CHILD).args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped());
    command
}

/// Runs a child to its end; the numbers that it printed.
pub(crate) fn numbers(arguments: &[&str]) -> Vec<u64> {
    let output = child(arguments).stderr(Stdio::inherit()).output().expect("a child");
    assert!(output.status.success(), "{arguments:?}: {}", output.status);
    let text = String::from_utf8(output.stdout).expect("numbers");
    text.split_whitespace().map(|number| number.parse().expect("a number")).collect()
}

/// The most memory a process has ever held, in kibibytes (`VmHWM`).
pub(crate) fn peak_memory(process: u32) -> u64 {
    status(process, "VmHWM:")
}

/// The memory that a process holds now, in kibibytes (`VmRSS`).
pub(crate) fn held_memory(process: u32) -> u64 {
    status(process, "VmRSS:")
}

fn status(process: u32, name: &str) -> u64 {
    let status = read(&format!("/proc/{process}/status"));
    let line = status.lines().find_map(|line| line.strip_prefix(name)).expect("a line of it");
    line.trim().trim_end_matches(" kB").parse().expect("a number")
}

/// Bytes that this process has asked its files for, wherever they came from.
pub(crate) fn bytes_read() -> u64 {
    let io = read("/proc/self/io");
    let line = io.lines().find_map(|line| line.strip_prefix("rchar:")).expect("rchar");
    line.trim().parse().expect("a number")
}

/// Processor time of all threads of this process, to the hundredth of a second.
pub(crate) fn processor_time() -> Duration {
    processor_time_of(std::process::id())
}

/// Processor time of all threads of a process, to the hundredth of a second.
pub(crate) fn processor_time_of(process: u32) -> Duration {
    let stat = read(&format!("/proc/{process}/stat"));
    let fields = stat.rsplit_once(") ").expect("a name in parentheses").1;
    // utime and stime are the fields 14 and 15; the first two are cut off.
    let ticks: u64 = fields
        .split(' ')
        .skip(11)
        .take(2)
        .map(|ticks| ticks.parse::<u64>().expect("a number"))
        .sum();
    Duration::from_millis(ticks * 10)
}

fn read(path: &str) -> String {
    fs::read_to_string(path).expect("a Linux system")
}
