//! Pipes between us and a child.

use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;

pub(crate) use tokio::net::unix::pipe::{Receiver, Sender};

use super::Descriptor;

/// Our end of a pipe, before the runtime serves it.
pub(crate) type OurEnd = OwnedFd;

/// Makes a pipe that a child writes to.
pub(crate) fn output_pipe() -> io::Result<(OurEnd, Descriptor)> {
    let (reader, writer) = io::pipe()?;
    Ok((reader.into(), writer.into()))
}

/// Makes a pipe that a child reads.
pub(crate) fn input_pipe() -> io::Result<(Descriptor, OurEnd)> {
    let (reader, writer) = io::pipe()?;
    Ok((reader.into(), writer.into()))
}

/// Makes a pipe between two children.
pub(crate) fn pipe_between() -> io::Result<(Descriptor, Descriptor)> {
    input_pipe()
}

/// Opens an input that is empty.
pub(crate) fn empty_input() -> io::Result<Descriptor> {
    Ok(File::open("/dev/null")?.into())
}

pub(crate) fn receiver(end: OurEnd) -> io::Result<Receiver> {
    Receiver::from_owned_fd(end)
}

pub(crate) fn sender(end: OurEnd) -> io::Result<Sender> {
    Sender::from_owned_fd(end)
}

/// Reads what a pipe holds now. Reads from the pipe directly, because the runtime may not have
/// noticed yet that data is available.
pub(crate) fn read_now(pipe: &Receiver, buffer: &mut Vec<u8>) -> io::Result<usize> {
    rustix::io::read(pipe, rustix::buffer::spare_capacity(buffer)).map_err(io::Error::from)
}
