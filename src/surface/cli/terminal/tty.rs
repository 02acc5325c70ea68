//! The terminal itself: lines or single keys from it, until something else ends the wait.
//!
//! What was typed before the question is no answer to it, and what is left over after the answer is
//! no command for whoever reads next. Ctrl-C stays a signal.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, OwnedFd};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::termios::{
    InputModes, LocalModes, OptionalActions, QueueSelector, SpecialCodeIndex, Termios, tcflush,
    tcgetattr, tcgetpgrp, tcsetattr,
};

use super::keys::{self, Key};
use super::sequences;

/// A key that sends several bytes sends them together; the bytes of a key pressed alone are alone.
const TOGETHER: Duration = Duration::from_millis(50);

/// The terminal of this process, in the mode that a prompt needs.
pub(super) struct Tty {
    file: File,
    /// How it was, where it is not that now.
    before: Option<Termios>,
    /// Bytes that are not yet a key or a line.
    bytes: Vec<u8>,
}

/// What came.
pub(super) enum Heard<T> {
    This(T),
    /// The terminal's end: Ctrl-D, or it is gone.
    End,
    /// Nobody wants the answer any more.
    Withdrawn,
}

/// What a wait for bytes ended with.
enum Came {
    Bytes,
    /// Nothing within the limit.
    Nothing,
    /// What is waited for besides the terminal.
    News,
}

/// Whether this process may read from its terminal: there is one, and we are in its foreground.
pub(super) fn is_ours() -> bool {
    File::open("/dev/tty")
        .is_ok_and(|file| tcgetpgrp(&file).is_ok_and(|group| group == rustix::process::getpgrp()))
}

impl Tty {
    /// In the mode in which it is, where the terminal itself edits the line.
    pub(super) fn by_lines() -> io::Result<Tty> {
        let file = File::open("/dev/tty")?;
        // An impatient Enter from before is not consent.
        let _ = tcflush(&file, QueueSelector::IFlush);
        Ok(Tty {
            file,
            before: None,
            bytes: Vec::new(),
        })
    }

    /// Key by key, and nothing shows by itself.
    pub(super) fn by_keys() -> io::Result<Tty> {
        Tty::in_mode(|mode| {
            mode.local_modes
                .remove(LocalModes::ICANON | LocalModes::ECHO);
        })
    }

    /// Every key as it is sent, except those that are signals to end.
    pub(super) fn by_sequences() -> io::Result<Tty> {
        Tty::in_mode(|mode| {
            mode.local_modes
                .remove(LocalModes::ICANON | LocalModes::ECHO | LocalModes::IEXTEN);
            mode.input_modes
                .remove(InputModes::ICRNL | InputModes::INLCR | InputModes::IXON);
            // Whoever stopped haft here would find a shell that shows nothing.
            mode.special_codes[SpecialCodeIndex::VSUSP] = 0;
        })
    }

    fn in_mode(change: impl FnOnce(&mut Termios)) -> io::Result<Tty> {
        let file = File::open("/dev/tty")?;
        let before = tcgetattr(&file)?;
        let mut mode = before.clone();
        change(&mut mode);
        mode.special_codes[SpecialCodeIndex::VMIN] = 1;
        mode.special_codes[SpecialCodeIndex::VTIME] = 0;
        tcsetattr(&file, OptionalActions::Flush, &mode)?;
        Ok(Tty {
            file,
            before: Some(before),
            bytes: Vec::new(),
        })
    }

    /// The next line, without its end.
    pub(super) fn line(&mut self, wake: &OwnedFd) -> io::Result<Heard<String>> {
        loop {
            if let Some(end) = self.bytes.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.bytes.drain(..=end).collect();
                return Ok(Heard::This(
                    String::from_utf8_lossy(&line[..end]).into_owned(),
                ));
            }
            match self.more(wake, None, None)? {
                Heard::This(_) => {}
                Heard::End => return Ok(Heard::End),
                Heard::Withdrawn => return Ok(Heard::Withdrawn),
            }
        }
    }

    /// The next key.
    pub(super) fn key(&mut self, wake: &OwnedFd) -> io::Result<Heard<Key>> {
        loop {
            if let Some((key, length)) = keys::first(&self.bytes) {
                self.bytes.drain(..length);
                return Ok(Heard::This(key));
            }
            let limit = (!self.bytes.is_empty()).then_some(TOGETHER);
            match self.more(wake, None, limit)? {
                Heard::This(Came::Bytes | Came::News) => {}
                // What began like a longer key is no longer than this.
                Heard::This(Came::Nothing) => {
                    let (key, length) = keys::alone(&self.bytes);
                    self.bytes.drain(..length);
                    return Ok(Heard::This(key));
                }
                Heard::End => return Ok(Heard::End),
                Heard::Withdrawn => return Ok(Heard::Withdrawn),
            }
        }
    }

    /// The next key or paste as the terminal sent it; `None` when `news` can be read before.
    pub(super) fn sequence(
        &mut self,
        wake: &OwnedFd,
        news: &OwnedFd,
    ) -> io::Result<Heard<Option<String>>> {
        loop {
            if let Some(length) = sequences::first(&self.bytes) {
                return Ok(Heard::This(Some(self.take(length))));
            }
            let is_begun = !self.bytes.is_empty() && !sequences::is_paste(&self.bytes);
            match self.more(wake, Some(news), is_begun.then_some(TOGETHER))? {
                Heard::This(Came::Bytes) => {}
                Heard::This(Came::News) => return Ok(Heard::This(None)),
                // What began like a longer key is no longer than this.
                Heard::This(Came::Nothing) => {
                    return Ok(Heard::This(Some(self.take(self.bytes.len()))));
                }
                Heard::End => return Ok(Heard::End),
                Heard::Withdrawn => return Ok(Heard::Withdrawn),
            }
        }
    }

    fn take(&mut self, length: usize) -> String {
        let bytes: Vec<u8> = self.bytes.drain(..length).collect();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// Waits for more bytes, or for `news`, at most as long as `limit`.
    fn more(
        &mut self,
        wake: &OwnedFd,
        news: Option<&OwnedFd>,
        limit: Option<Duration>,
    ) -> io::Result<Heard<Came>> {
        let limit = limit.map(|limit| Timespec {
            tv_sec: 0,
            tv_nsec: limit.subsec_nanos().into(),
        });
        let mut ends = vec![
            PollFd::from_borrowed_fd(wake.as_fd(), PollFlags::IN),
            PollFd::new(&self.file, PollFlags::IN),
        ];
        ends.extend(news.map(|news| PollFd::from_borrowed_fd(news.as_fd(), PollFlags::IN)));
        loop {
            match poll(&mut ends, limit.as_ref()) {
                Ok(0) => return Ok(Heard::This(Came::Nothing)),
                Ok(_) => break,
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
        if !ends[0].revents().is_empty() {
            return Ok(Heard::Withdrawn);
        }
        if ends[1].revents().is_empty() {
            return Ok(Heard::This(Came::News));
        }
        let mut piece = [0; 1 << 10];
        match self.file.read(&mut piece) {
            Ok(0) => Ok(Heard::End),
            Ok(length) => {
                self.bytes.extend_from_slice(&piece[..length]);
                Ok(Heard::This(Came::Bytes))
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {
                Ok(Heard::This(Came::Bytes))
            }
            // A terminal that is gone.
            Err(_) => Ok(Heard::End),
        }
    }
}

impl Drop for Tty {
    fn drop(&mut self) {
        if let Some(before) = &self.before {
            // A terminal that is gone needs no mode.
            let _ = tcsetattr(&self.file, OptionalActions::Flush, before);
        }
    }
}
