//! A terminal for one program: a pseudo-terminal whose other end the test reads and types on.
//!
//! It does not emulate a screen: the output is kept as it comes, with all control sequences.

use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::OFlags;
use rustix::ioctl::{Getter, Setter, ioctl};
use rustix::termios::{Winsize, tcsetwinsize};

use crate::sandbox::Sandbox;

/// Timeout that a machine under load never reaches.
const TEST_TIMEOUT: Duration = Duration::from_secs(90);

/// A program at its terminal.
pub struct Terminal {
    keyboard: File,
    child: Child,
    /// The whole output so far.
    written: String,
    /// Position in `written` behind the last text that was waited for.
    seen: usize,
    /// Position in `written` behind the last answered query of the terminal.
    answered: usize,
}

/// Escape sequence by which a program asks for the cursor's position.
const WHERE: &str = "\x1b[6n";
/// The reply. It is constant, because this terminal does not keep a screen.
const THERE: &str = "\x1b[1;1R";

impl Terminal {
    /// Starts `command` as the only program of a terminal that is so wide.
    pub fn start(columns: u16, command: &Command) -> Terminal {
        let (keyboard, screen) = open(columns);
        // `setsid --ctty` makes the terminal the program's own, so that Ctrl-C is a signal.
        let mut owner = Command::new("setsid");
        owner
            .arg("--ctty")
            .arg(command.get_program())
            .args(command.get_args())
            .env_clear()
            .envs(
                command
                    .get_envs()
                    .filter_map(|(name, value)| Some((name, value?))),
            )
            .env("TERM", "xterm-256color")
            .stdin(screen.try_clone().expect("a terminal can be shared"))
            .stdout(screen.try_clone().expect("a terminal can be shared"))
            .stderr(screen);
        if let Some(folder) = command.get_current_dir() {
            owner.current_dir(folder);
        }
        Terminal {
            keyboard,
            child: owner.spawn().expect("`setsid` is on every machine"),
            written: String::new(),
            seen: 0,
            answered: 0,
        }
    }

    /// The program's id.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Waits until the program has written `text`, behind the last text that was waited for.
    pub fn shows(&mut self, text: &str) {
        let until = Instant::now() + TEST_TIMEOUT;
        loop {
            if let Some(at) = self.written[self.seen..].find(text) {
                self.seen += at + text.len();
                return;
            }
            assert!(
                self.read(until),
                "{text:?} never came after {:?}",
                self.written
            );
        }
    }

    /// Presses keys.
    pub fn types(&mut self, keys: &str) {
        let written = self.keyboard.write_all(keys.as_bytes());
        written.expect("the terminal is open");
    }

    /// Makes the screen larger or smaller.
    pub fn resize(&self, columns: u16, rows: u16) {
        tcsetwinsize(&self.keyboard, size(columns, rows)).expect("it is a terminal");
    }

    /// Waits for the end; returns the whole output and the exit code.
    pub fn end(mut self) -> (String, Option<i32>) {
        let until = Instant::now() + TEST_TIMEOUT;
        while self.read(until) {}
        let status = self.child.wait().expect("it is our child");
        (std::mem::take(&mut self.written), status.code())
    }

    /// Reads the next output; returns false if the program has ended.
    fn read(&mut self, until: Instant) -> bool {
        let left = until.saturating_duration_since(Instant::now());
        let limit = Timespec::try_from(left).expect("it is short");
        let mut ready = [PollFd::new(&self.keyboard, PollFlags::IN)];
        let count = poll(&mut ready, Some(&limit)).expect("poll works");
        assert_eq!(count, 1, "nothing came after {:?}", self.written);
        let mut bytes = [0; 1 << 12];
        match self.keyboard.read(&mut bytes) {
            Ok(0) => false,
            Ok(length) => {
                // A cut inside a character costs that one character.
                self.written
                    .push_str(&String::from_utf8_lossy(&bytes[..length]));
                self.answer();
                true
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => true,
            // EIO: no process has the other end open any more.
            Err(_) => false,
        }
    }

    /// Answers every query for the cursor's position.
    fn answer(&mut self) {
        while let Some(at) = self.written[self.answered..].find(WHERE) {
            self.answered += at + WHERE.len();
            self.types(THERE);
        }
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // A test that failed half-way leaves nothing behind.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Terminal {
    /// Waits for the end; returns the result, which is the last line, and the exit code.
    pub fn result(self) -> (String, Option<i32>) {
        let (written, code) = self.end();
        let last = written.trim_end().rsplit('\n').next().unwrap_or_default();
        // The text behind the erased spinner.
        let last = last.rsplit("\x1b[2K").next().unwrap_or_default();
        let plain = console::strip_ansi_codes(last).replace('\r', "");
        (plain, code)
    }

    /// The program ends well, with `expected` as its result.
    pub fn answers(self, expected: &str) {
        assert_eq!(self.result(), (expected.to_owned(), Some(0)));
    }
}

/// A user with the tools of one module, who calls them at a terminal.
pub struct Tools(pub Sandbox);

impl Tools {
    pub fn new(module: &str) -> Tools {
        let sandbox = Sandbox::with_home();
        sandbox.write("tools.ts", module);
        Tools(sandbox)
    }

    /// `haft call` without colours.
    pub fn haft(&self, arguments: &[&str]) -> Command {
        let mut command = self.0.haft();
        command.args(["--tool", "tools.ts", "call"]).args(arguments);
        command.env("NO_COLOR", "1");
        command
    }

    pub fn call(&self, arguments: &[&str]) -> Terminal {
        Terminal::start(60, &self.haft(arguments))
    }

    /// Runs `haft call` in a shell, which afterwards prints `same mode` if the terminal's mode is
    /// restored.
    pub fn call_between_modes(&self, arguments: &[&str]) -> Terminal {
        let line = "trap : INT; stty -g > before; \"$@\"; stty -g > after; \
                    cmp before after && echo same mode";
        let haft = self.haft(arguments);
        let mut shell = Command::new("sh");
        shell
            .args(["-c", line, "sh"])
            .arg(haft.get_program())
            .args(haft.get_args())
            .current_dir(self.0.path());
        for (name, value) in haft.get_envs() {
            shell.env(name, value.unwrap_or_default());
        }
        Terminal::start(60, &shell)
    }
}

/// Both ends of a new terminal.
fn open(columns: u16) -> (File, File) {
    const UNLOCK: u32 = 0x4004_5431; // TIOCSPTLCK
    const NUMBER: u32 = 0x8004_5430; // TIOCGPTN
    let mut options = OpenOptions::new();
    options
        .read(true)
        .write(true)
        .custom_flags(OFlags::NOCTTY.bits() as i32);
    let keyboard = options.open("/dev/ptmx").expect("Linux");
    // SAFETY: both requests take one `int`, which is what the types say.
    #[expect(unsafe_code, reason = "requests of a terminal have no safe wrapper")]
    let number: u32 = unsafe {
        ioctl(&keyboard, Setter::<UNLOCK, i32>::new(0)).expect("it is a terminal");
        ioctl(&keyboard, Getter::<NUMBER, u32>::new()).expect("it is a terminal")
    };
    let screen = options.open(format!("/dev/pts/{number}"));
    tcsetwinsize(&keyboard, size(columns, 24)).expect("it is a terminal");
    (keyboard, screen.expect("it was unlocked"))
}

fn size(columns: u16, rows: u16) -> Winsize {
    Winsize {
        ws_row: rows,
        ws_col: columns,
        ws_xpixel: 0,
        ws_ypixel: 0,
    }
}
