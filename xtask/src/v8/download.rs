//! Downloads the archive in place of the crate's build script.
//!
//! The build script would do it without any output, with whatever `deno`, `python3` or `curl` it
//! finds, and panic in the middle of a build if it fails. Here the error says what to do, and the file
//! is in cargo's cache for every later build.

use std::fs;
use std::io::{self, Read};
use std::path::Path;
use std::time::Duration;

use flate2::read::GzDecoder;
use indicatif::{ProgressBar, ProgressStyle};

use super::archive::Archive;
use super::pins::Pins;
use super::store;
use crate::error::{During, Error, Result};

/// Connection timeout: enough for a slow line, and short on a machine without a network.
const CONNECT: Duration = Duration::from_secs(8);

/// Failure of a download.
#[derive(Debug)]
pub enum FetchError {
    /// The network or the server did not give the file.
    Unreachable(Error),
    /// The file is not the archive that is pinned, or cannot be kept.
    Refused(Error),
}

/// Downloads the archive into cargo's cache, if its hash is pinned.
///
/// # Errors
/// If the server cannot be reached, the archive is broken, or its hash is another one.
pub fn fetch(archive: &Archive, entry: &Path, pins: &Pins) -> Result<(), FetchError> {
    let url = archive.url();
    let agent: ureq::Agent = ureq::Agent::config_builder()
        .timeout_resolve(Some(CONNECT))
        .timeout_connect(Some(CONNECT))
        .timeout_recv_response(Some(CONNECT))
        .build()
        .into();
    let unreachable = |why: &dyn std::fmt::Display| {
        FetchError::Unreachable(Error::Missing {
            what: format!("the V8 archive cannot be downloaded from {url}: {why}"),
            hint: "name a mirror (RUSTY_V8_MIRROR), a file (RUSTY_V8_ARCHIVE), or a folder with the file \
                   (HAFT_V8_BUNDLE), or let it be built (HAFT_V8=source); see docs/supply-chain.md"
                .into(),
        })
    };
    let mut answer = agent.get(&url).call().map_err(|why| unreachable(&why))?;
    eprintln!("downloading {url}");
    let body = answer.body_mut();
    let bar = bar(body.content_length());
    let reader = bar.wrap_read(body.as_reader());
    // Not in the cache, where it would be used before it is checked.
    let folder = entry.parent().unwrap_or(Path::new("."));
    let doing = || format!("write below `{}`", folder.display());
    let make_aside = || {
        fs::create_dir_all(folder)?;
        tempfile::tempdir_in(folder)
    };
    let aside = make_aside().during(doing).map_err(FetchError::Refused)?;
    let whole = aside.path().join(archive.file_name());
    let ended = store::write(&whole, |file| {
        let mut copy = Tee {
            from: reader,
            to: file,
        };
        let length = io::copy(&mut GzDecoder::new(&mut copy), &mut io::sink())?;
        if length == 0 {
            return Err(io::Error::new(
                io::ErrorKind::UnexpectedEof,
                "the archive is empty",
            ));
        }
        Ok(())
    });
    bar.finish_and_clear();
    match ended {
        Err(Error::Io { source, .. }) if is_of_network(&source) => {
            return Err(unreachable(&source));
        }
        ended => ended.map_err(FetchError::Refused)?,
    }
    pins.check(archive, &whole).map_err(FetchError::Refused)?;
    fs::rename(&whole, entry)
        .during(doing)
        .map_err(FetchError::Refused)
}

/// Tells whether a copy failed because the connection did: the decoder's errors are of other kinds.
fn is_of_network(error: &io::Error) -> bool {
    use io::ErrorKind::{
        ConnectionAborted, ConnectionReset, NotConnected, TimedOut, UnexpectedEof,
    };
    matches!(
        error.kind(),
        ConnectionAborted | ConnectionReset | NotConnected | TimedOut | UnexpectedEof
    ) || error
        .get_ref()
        .is_some_and(|inner| inner.is::<ureq::Error>())
}

fn bar(length: Option<u64>) -> ProgressBar {
    let template = "{bar:30} {bytes}/{total_bytes} at {bytes_per_sec}, {eta} to go";
    let style = ProgressStyle::with_template(template).expect("the template is right");
    ProgressBar::new(length.unwrap_or(0)).with_style(style)
}

/// Copies what is read to a file: the file gets the archive while the decoder checks it.
struct Tee<R, W> {
    from: R,
    to: W,
}

impl<R: Read, W: io::Write> Read for Tee<R, W> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.from.read(buffer)?;
        self.to.write_all(&buffer[..count])?;
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::io::Write;
    use std::net::TcpListener;
    use std::thread;

    use flate2::Compression;
    use flate2::write::GzEncoder;

    use super::super::archive::tests::archive_at;
    use super::super::pins::tests::{hello, pins as pins_of};
    use super::*;

    /// A server that answers one request with this body, as if it had `length` bytes.
    fn serve(body: Vec<u8>, length: usize) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("bound");
        thread::spawn(move || {
            let (mut stream, _) = listener.accept().expect("one request");
            let mut request = [0; 4096];
            let read = stream.read(&mut request).expect("a request");
            assert!(request[..read].starts_with(b"GET /v150.4.0/librusty_v8_simdutf_release_"));
            let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n");
            stream.write_all(head.as_bytes()).expect("sent");
            stream.write_all(&body).expect("sent");
        });
        format!("http://{address}")
    }

    fn gzipped(text: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(text).expect("there is memory");
        encoder.finish().expect("there is memory")
    }

    #[test]
    fn a_whole_archive_is_kept() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let entry = folder.path().join("entry");
        let body = gzipped(b"the library");
        let server = serve(body.clone(), body.len());
        let whole = folder.path().join("whole");
        fs::write(&whole, &body).expect("written");
        let pins = pins_of(&crate::files::sha256(&whole).expect("read"));
        fetch(&archive_at(&server), &entry, &pins).expect("downloaded");
        assert_eq!(fs::read(&entry).expect("kept"), body);
    }

    #[test]
    fn a_broken_archive_is_an_error_and_is_not_kept() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let entry = folder.path().join("entry");
        let body = gzipped(b"the library");
        let half = body[..body.len() / 2].to_vec();
        let server = serve(half, body.len());
        let error = fetch(&archive_at(&server), &entry, &hello());
        assert!(
            matches!(error, Err(FetchError::Unreachable(_))),
            "{error:?}"
        );
        assert!(File::open(&entry).is_err());
    }

    #[test]
    fn a_mirror_with_another_archive_is_refused_and_nothing_is_kept() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let entry = folder.path().join("entry");
        let body = gzipped(b"another library");
        let server = serve(body.clone(), body.len());
        let Err(FetchError::Refused(error)) = fetch(&archive_at(&server), &entry, &hello()) else {
            panic!("another content is not an error of the network");
        };
        let error = error.to_string();
        assert!(
            error.contains("is not the V8 archive that is pinned"),
            "{error}"
        );
        assert_eq!(fs::read_dir(folder.path()).expect("there").count(), 0);
    }

    #[test]
    fn a_page_in_place_of_the_archive_is_refused() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let body = b"<html>Log in to this network".to_vec();
        let server = serve(body.clone(), body.len());
        let ended = fetch(&archive_at(&server), &folder.path().join("entry"), &hello());
        assert!(matches!(ended, Err(FetchError::Refused(_))), "{ended:?}");
    }

    #[test]
    fn a_server_that_is_not_there_is_an_error_that_names_the_other_sources() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("bound");
        drop(listener);
        let archive = archive_at(&format!("http://{address}"));
        let ended = fetch(&archive, Path::new("/nowhere"), &hello());
        let Err(FetchError::Unreachable(Error::Missing { what, hint })) = ended else {
            panic!("{ended:?}");
        };
        assert!(what.contains(&archive.url()), "{what}");
        assert!(hint.contains("RUSTY_V8_ARCHIVE"), "{hint}");
    }
}
