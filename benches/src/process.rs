//! Parts of benchmarks that run in separate processes: this program, called with [`CHILD`].

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use feedsync_functions::engine::{Limits, run_confined};
use feedsync_functions::host::Program;

use crate::backend::StoreLocation;
use crate::{answers, changes, gateway, gateways, memory, newsreaders};

/// First argument of a child process.
pub(crate) const CHILD: &str = "child";

/// Argument of a child process that executes functions of design documents.
const FUNCTIONS: &str = "functions";

/// This program, as one that executes functions.
pub(crate) fn functions() -> Program {
    let limits = Limits::default();
    let arguments = [CHILD, FUNCTIONS].map(Into::into).into_iter();
    Program {
        path: std::env::current_exe().expect("our own path"),
        arguments: arguments.chain(limits.to_arguments().map(Into::into)).collect(),
        time: limits.time,
    }
}

/// Runs the part that the arguments name.
pub(crate) fn run_child(arguments: &[String]) {
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match *arguments {
        [FUNCTIONS, memory, time] => {
            run_confined(&[memory.to_owned(), time.to_owned()]).expect("a process with limits");
        }
        ["changes", directory, since] => changes::read_changes(Path::new(directory), since),
        ["bare"] => answers::serve_bare(),
        ["fill", directory, count] => {
            memory::fill(Path::new(directory), count.parse().expect("a number"));
        }
        ["hub", directory] => memory::serve(StoreLocation::Directory(Path::new(directory))),
        ["hub-postgres", url] => memory::serve(StoreLocation::Database(url)),
        ["feeds"] => newsreaders::serve_feeds(),
        ["poll", directory, port] => {
            newsreaders::poll(StoreLocation::Directory(Path::new(directory)), port);
        }
        ["poll-postgres", url, port] => newsreaders::poll(StoreLocation::Database(url), port),
        ["gateway", directory, origin] => gateways::serve(Path::new(directory), origin),
        ["links", count] => gateway::serve_links(count.parse().expect("a number")),
        ["pull", directory, url] => memory::pull(Path::new(directory), url),
        _ => panic!("no such part: {arguments:?}"),
    }
}

/// Command that runs this program as a child process; its standard output is captured.
pub(crate) fn child(arguments: &[&str]) -> Command {
    let mut command = Command::new(std::env::current_exe().expect("our own path"));
    command.arg(CHILD).args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped());
    command
}

/// Runs a child process to its end; returns the numbers that it printed.
pub(crate) fn numbers(arguments: &[&str]) -> Vec<u64> {
    let output = child(arguments).stderr(Stdio::inherit()).output().expect("a child");
    assert!(output.status.success(), "{arguments:?}: {}", output.status);
    let text = String::from_utf8(output.stdout).expect("numbers");
    text.split_whitespace().map(|number| number.parse().expect("a number")).collect()
}

/// Peak memory of a process, in KiB (`VmHWM`).
pub(crate) fn peak_memory(process: u32) -> u64 {
    status(process, "VmHWM:")
}

/// Current memory of a process, in KiB (`VmRSS`).
pub(crate) fn current_memory(process: u32) -> u64 {
    status(process, "VmRSS:")
}

fn status(process: u32, name: &str) -> u64 {
    let status = read(&format!("/proc/{process}/status"));
    let line = status.lines().find_map(|line| line.strip_prefix(name)).expect("a line of it");
    line.trim().trim_end_matches(" kB").parse().expect("a number")
}

/// Number of bytes that this process has read from files, including cached ones.
pub(crate) fn bytes_read() -> u64 {
    let io = read("/proc/self/io");
    let line = io.lines().find_map(|line| line.strip_prefix("rchar:")).expect("rchar");
    line.trim().parse().expect("a number")
}

/// Processor time of all threads of this process, with a resolution of a hundredth of a second.
pub(crate) fn processor_time() -> Duration {
    processor_time_of(std::process::id())
}

/// Processor time of all threads of a process, with a resolution of a hundredth of a second.
pub(crate) fn processor_time_of(process: u32) -> Duration {
    let stat = read(&format!("/proc/{process}/stat"));
    let fields = stat.rsplit_once(") ").expect("a name in parentheses").1;
    // utime and stime are fields 14 and 15; the first two fields are already cut off.
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
