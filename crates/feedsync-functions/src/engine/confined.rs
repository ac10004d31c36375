//! The whole process that executes functions.

use std::io::{self, BufReader, BufWriter};

use rustix::process::{Resource, Rlimit, setrlimit};

use super::{Limits, serve};

/// Executes functions for the process that has started this one, on the standard input and output. The process can then
/// neither open files and connections nor write files nor start other processes. It must have one thread.
///
/// The arguments are those of [`Limits::to_arguments`].
pub fn run_confined(arguments: &[String]) -> io::Result<()> {
    let limits = Limits::of_arguments(arguments).ok_or(io::ErrorKind::InvalidInput)?;
    // Descriptors: three are open.
    for (resource, maximum) in
        [(Resource::Core, 0), (Resource::Fsize, 0), (Resource::Nofile, 3), (Resource::Nproc, 1)]
    {
        let limit = Rlimit { current: Some(maximum), maximum: Some(maximum) };
        setrlimit(resource, limit)?;
    }
    let mut input = BufReader::new(io::stdin().lock());
    let mut output = BufWriter::new(io::stdout().lock());
    serve(&mut input, &mut output, limits)
}
