//! Terminal input by lines or keys, with a wait that other events can end.
//!
//! Input from before a prompt does not count as its answer. Input left over after the answer does
//! not reach the next reader. Ctrl-C stays a signal.

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

/// Maximum gap between the bytes of one key. A longer gap means that the key is complete.
const KEY_SEQUENCE_WINDOW: Duration = Duration::from_millis(50);

/// Terminal of this process, in the mode that a prompt needs.
pub(super) struct Tty {
    file: File,
    /// Original mode, if the mode was changed.
    before: Option<Termios>,
    /// Bytes of an incomplete key or line.
    bytes: Vec<u8>,
}

/// Result of waiting for input.
pub(super) enum Heard<T> {
    This(T),
    /// End of input: Ctrl-D, or the terminal is gone.
    End,
    /// The caller does not need the answer any more.
    Withdrawn,
}

/// Reason for the end of a wait.
enum Came {
    Bytes,
    /// No bytes within the limit.
    Nothing,
    /// The other descriptor is readable.
    News,
}

/// Returns true if this process may read from its terminal: it has one and is in its foreground.
pub(super) fn is_ours() -> bool {
    File::open("/dev/tty")
        .is_ok_and(|file| tcgetpgrp(&file).is_ok_and(|group| group == rustix::process::getpgrp()))
}

impl Tty {
    /// Opens the terminal in its current mode, in which it edits the line itself.
    pub(super) fn by_lines() -> io::Result<Tty> {
        let file = File::open("/dev/tty")?;
        // Discards input from before the prompt: an earlier Enter is not consent.
        let _ = tcflush(&file, QueueSelector::IFlush);
        Ok(Tty {
            file,
            before: None,
            bytes: Vec::new(),
        })
    }

    /// Opens the terminal for single keys, without echo.
    pub(super) fn by_keys() -> io::Result<Tty> {
        Tty::in_mode(|mode| {
            mode.local_modes
                .remove(LocalModes::ICANON | LocalModes::ECHO);
        })
    }

    /// Opens the terminal for raw key sequences, except the signals that end haft.
    pub(super) fn by_sequences() -> io::Result<Tty> {
        Tty::in_mode(|mode| {
            mode.local_modes
                .remove(LocalModes::ICANON | LocalModes::ECHO | LocalModes::IEXTEN);
            mode.input_modes
                .remove(InputModes::ICRNL | InputModes::INLCR | InputModes::IXON);
            // Disables Ctrl-Z, which would leave a shell without echo.
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

    /// Returns the next line without its line break.
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

    /// Returns the next key.
    pub(super) fn key(&mut self, wake: &OwnedFd) -> io::Result<Heard<Key>> {
        loop {
            if let Some((key, length)) = keys::first(&self.bytes) {
                self.bytes.drain(..length);
                return Ok(Heard::This(key));
            }
            let limit = (!self.bytes.is_empty()).then_some(KEY_SEQUENCE_WINDOW);
            match self.more(wake, None, limit)? {
                Heard::This(Came::Bytes | Came::News) => {}
                // No bytes follow, so the key is shorter than it could have been.
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

    /// Returns the next key or paste as the terminal sent it, or `None` if `news` becomes readable
    /// first.
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
            match self.more(wake, Some(news), is_begun.then_some(KEY_SEQUENCE_WINDOW))? {
                Heard::This(Came::Bytes) => {}
                Heard::This(Came::News) => return Ok(Heard::This(None)),
                // No bytes follow, so the key is shorter than it could have been.
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

    /// Waits for more bytes or for `news`, for at most `limit`.
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
            // The terminal is gone.
            Err(_) => Ok(Heard::End),
        }
    }
}

impl Drop for Tty {
    fn drop(&mut self) {
        if let Some(before) = &self.before {
            // Ignored if the terminal is gone.
            let _ = tcsetattr(&self.file, OptionalActions::Flush, before);
        }
    }
}
