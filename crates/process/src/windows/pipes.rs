//! Pipes between us and a child. Only named pipes can be served by the runtime.

use std::fs::File;
use std::io;

use tokio::net::windows::named_pipe::{NamedPipeServer, ServerOptions};

use super::Descriptor;

/// Length of the random part of a name.
const NAME_BYTES: usize = 16;

/// Our end of a pipe.
pub(crate) type OurEnd = NamedPipeServer;
pub(crate) type Receiver = NamedPipeServer;
pub(crate) type Sender = NamedPipeServer;

/// Makes a pipe that a child writes to.
pub(crate) fn output_pipe() -> io::Result<(OurEnd, Descriptor)> {
    let (ours, name) = server(ServerOptions::new().access_outbound(false))?;
    let theirs = File::options().write(true).open(name)?;
    Ok((ours, theirs.into()))
}

/// Makes a pipe that a child reads.
pub(crate) fn input_pipe() -> io::Result<(Descriptor, OurEnd)> {
    let (ours, name) = server(ServerOptions::new().access_inbound(false))?;
    let theirs = File::options().read(true).open(name)?;
    Ok((theirs.into(), ours))
}

/// Makes a pipe with one end for us. Its name cannot be guessed, and no other process can connect after us.
fn server(options: &mut ServerOptions) -> io::Result<(NamedPipeServer, String)> {
    let mut random = [0; NAME_BYTES];
    getrandom::fill(&mut random).map_err(io::Error::other)?;
    let random: String = random.iter().map(|byte| format!("{byte:02x}")).collect();
    let name = format!(r"\\.\pipe\haft-{random}");
    options
        .first_pipe_instance(true)
        .reject_remote_clients(true)
        .max_instances(1);
    Ok((options.create(&name)?, name))
}

/// Makes a pipe between two children.
pub(crate) fn pipe_between() -> io::Result<(Descriptor, Descriptor)> {
    let (reader, writer) = io::pipe()?;
    Ok((reader.into(), writer.into()))
}

/// Opens an input that is empty.
pub(crate) fn empty_input() -> io::Result<Descriptor> {
    Ok(File::open("NUL")?.into())
}

pub(crate) fn receiver(end: OurEnd) -> io::Result<Receiver> {
    Ok(end)
}

pub(crate) fn sender(end: OurEnd) -> io::Result<Sender> {
    Ok(end)
}

/// Reads what the runtime has received.
pub(crate) fn read_now(pipe: &Receiver, buffer: &mut Vec<u8>) -> io::Result<usize> {
    pipe.try_read_buf(buffer)
}
