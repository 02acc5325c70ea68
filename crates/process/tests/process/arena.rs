//! A process of its own for a test that counts resources. In the common test process, other tests
//! open descriptors, start children and use memory at the same time.
//!
//! The test runs this very program again, for itself alone. Every process started there carries a
//! mark in its environment, or works in the marked folder, so that none of them can hide
//! afterwards.

#![allow(dead_code, reason = "`tests/it` uses some of it too")]

use std::collections::BTreeSet;
use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant, SystemTime};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, kill_process, pidfd_open};

/// Environment variable that holds the folder of a test that runs alone.
const FOLDER: &str = "HAFT_TEST_ARENA";

/// Environment variable with the seed, to repeat a run.
const SEED: &str = "HAFT_TEST_SEED";

/// Time limit for killed processes to disappear.
const KILL_TIMEOUT: Duration = Duration::from_secs(10);

/// Programs that end by themselves.
pub const ENDING: [&str; 6] = [
    "signal",
    "closed",
    "deaf-input",
    "both",
    "flood",
    "background",
];

/// Programs that have to be ended.
pub const ENDLESS: [&str; 11] = [
    "deaf",
    "deaf-and-ignoring",
    "stopped",
    "endless",
    "both-endless",
    "holders",
    "deaf-holders",
    "session",
    "other-group",
    "half-daemon",
    "many",
];

/// A process and a folder of its own for one test.
pub struct Arena {
    folder: PathBuf,
    seed: u64,
}

/// Resources that a process holds at one moment.
#[derive(Debug)]
pub struct Holding {
    descriptors: BTreeSet<String>,
    resident: u64,
}

/// Runs `inside` in a process of its own. `name` is the test's, as the test program lists it.
pub fn alone(name: &str, inside: impl AsyncFnOnce(&Arena)) {
    alone_with(name, &[], inside);
}

/// Does the same in a process with these environment variables.
pub fn alone_with(name: &str, variables: &[(&str, &str)], inside: impl AsyncFnOnce(&Arena)) {
    if let Some(folder) = env::var_os(FOLDER) {
        let arena = Arena {
            folder: folder.into(),
            seed: seed(),
        };
        println!("repeat it with {SEED}={}", arena.seed);
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build();
        runtime.expect("a runtime").block_on(inside(&arena));
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let real = folder.path().canonicalize().expect("it is there");
    let ended = Command::new(env::current_exe().expect("Linux"))
        .args(["--exact", name, "--nocapture"])
        .env(FOLDER, &real)
        // Freed large blocks go back to the system at once, so what remains is still in use.
        .env("MALLOC_MMAP_THRESHOLD_", "262144")
        .env("MALLOC_TRIM_THRESHOLD_", "262144")
        .envs(variables.iter().copied())
        .output()
        .expect("this program starts");
    let said = String::from_utf8_lossy(&ended.stdout);
    print!("{said}");
    eprint!("{}", String::from_utf8_lossy(&ended.stderr));
    // haft's guard ends when it sees that its host is gone.
    let left = find_endless(marked(&real), Instant::now() + KILL_TIMEOUT);
    let descriptions: Vec<String> = left.iter().map(|pid| description(*pid)).collect();
    for pid in left {
        // They must not outlive this test either.
        let _ = kill_process(pid, Signal::KILL);
    }
    assert!(ended.status.success(), "{}", ended.status);
    assert!(said.contains("1 passed"), "`{name}` is not the test's name");
    assert!(
        descriptions.is_empty(),
        "they outlived the host: {descriptions:#?}"
    );
}

impl Arena {
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Writes the worst programs as one executable file.
    pub fn worst(&self) -> PathBuf {
        crate::programs::script(&self.folder, "worst", include_str!("worst.sh"), 0o755)
    }

    /// Returns random numbers that are the same for the same seed.
    pub fn dice(&self) -> Dice {
        Dice(self.seed)
    }

    /// Asserts that no process that was started here is left, besides those of haft itself, which
    /// are the workers of hosts that run and the guards.
    pub fn assert_no_program_is_left(&self) {
        let until = Instant::now() + KILL_TIMEOUT;
        let mut programs = marked(&self.folder);
        programs.retain(|pid| {
            let path = format!("/proc/{}/cmdline", pid.as_raw_nonzero());
            let line = fs::read_to_string(path).unwrap_or_default();
            !line.contains("\0--worker\0") && !line.ends_with("\0haft-guard\0")
        });
        assert_ended(programs, until);
    }

    /// Asserts that no process that was started here is left, not even as a zombie.
    pub fn assert_no_process_is_left(&self) {
        let until = Instant::now() + KILL_TIMEOUT;
        assert_ended(marked(&self.folder), until);
        assert_eq!(marked(&self.folder), []);
        // A zombie of a dropped call is reaped on a thread of its own.
        while has_children() {
            assert!(Instant::now() < until, "a child is not reaped");
            std::thread::yield_now();
        }
    }
}

fn assert_ended(processes: Vec<Pid>, until: Instant) {
    let left = find_endless(processes, until);
    let descriptions: Vec<String> = left.into_iter().map(description).collect();
    assert!(descriptions.is_empty(), "{descriptions:#?}");
}

/// Waits for the ends of `processes`, and returns those that have not ended at `until`. A killed
/// process may need a moment to end.
fn find_endless(mut processes: Vec<Pid>, until: Instant) -> Vec<Pid> {
    processes.retain(|pid| {
        let Ok(held) = pidfd_open(*pid, PidfdFlags::empty()) else {
            return false;
        };
        let limit = Timespec::try_from(until.saturating_duration_since(Instant::now()));
        let limit = limit.expect("a short time");
        poll(&mut [PollFd::new(&held, PollFlags::IN)], Some(&limit)) != Ok(1)
    });
    processes
}

/// Returns true if there is a child, dead or alive, besides haft's guard process.
fn has_children() -> bool {
    let threads = fs::read_dir("/proc/self/task").expect("Linux");
    let children = threads.filter_map(|thread| {
        let children = thread.ok()?.path().join("children");
        fs::read_to_string(children).ok()
    });
    let children: Vec<String> = children.collect();
    let pids = children.iter().flat_map(|list| list.split_whitespace());
    let mut lines = pids.map(|pid| fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default());
    lines.any(|line| !line.ends_with(b"\0haft-guard\0"))
}

impl Holding {
    pub fn now() -> Self {
        let open = fs::read_dir("/proc/self/fd").expect("Linux");
        let status = fs::read_to_string("/proc/self/status").expect("Linux");
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let kib = line.and_then(|line| line.trim().strip_suffix(" kB"));
        Self {
            descriptors: open
                .filter_map(|entry| {
                    let path = entry.ok()?.path();
                    Some(format!(
                        "{}: {}",
                        path.display(),
                        fs::read_link(&path).ok()?.display()
                    ))
                })
                .collect(),
            resident: kib.and_then(|kib| kib.parse().ok()).expect("Linux"),
        }
    }

    /// Waits until at most as many descriptors as `before` are open, or until `KILL_TIMEOUT` is over.
    /// An isolate that is not needed any more is torn down on another thread.
    pub fn once_back_to(before: &Self) -> Self {
        let until = Instant::now() + KILL_TIMEOUT;
        loop {
            let now = Self::now();
            if now.descriptors.len() <= before.descriptors.len() || Instant::now() > until {
                return now;
            }
            std::thread::yield_now();
        }
    }

    /// Asserts that at most as many descriptors as `before` are open, and at most so much more
    /// memory.
    pub fn assert_back_to(&self, before: &Self, most_mib: u64) {
        let more: Vec<_> = self.descriptors.difference(&before.descriptors).collect();
        assert!(
            self.descriptors.len() <= before.descriptors.len(),
            "{more:?} beside {:?}",
            before.descriptors
        );
        let grown = self.resident.saturating_sub(before.resident) / 1024;
        println!(
            "memory: {} MiB, and {grown} more at the end",
            before.resident / 1024
        );
        assert!(grown <= most_mib, "grew by {grown} MiB");
    }
}

/// Random numbers (xorshift), good enough to choose with.
pub struct Dice(u64);

impl Dice {
    pub fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit
    }

    pub fn millis(&mut self, limit: u64) -> Duration {
        Duration::from_micros(self.below(limit * 1000))
    }

    pub fn pick<'of, T>(&mut self, choices: &'of [T]) -> &'of T {
        let count = u64::try_from(choices.len()).expect("a short list");
        &choices[usize::try_from(self.below(count)).expect("a short list")]
    }
}

fn seed() -> u64 {
    let given = env::var(SEED).ok().and_then(|seed| seed.parse().ok());
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    let now = u64::from(since.expect("after 1970").subsec_nanos());
    // Xorshift would keep zero for ever.
    given.unwrap_or(now).max(1)
}

/// Returns the processes that carry the mark, except this one.
fn marked(folder: &Path) -> Vec<Pid> {
    let mark = format!("{FOLDER}={}", folder.display());
    let processes = fs::read_dir("/proc").expect("Linux").filter_map(|entry| {
        let entry = entry.ok()?;
        Some((
            Pid::from_raw(entry.file_name().to_str()?.parse().ok()?)?,
            entry.path(),
        ))
    });
    processes
        .filter(|(pid, _)| *pid != rustix::process::getpid())
        .filter(|(_, path)| {
            let variables = fs::read(path.join("environ")).unwrap_or_default();
            let works_there =
                fs::read_link(path.join("cwd")).is_ok_and(|at| at.starts_with(folder));
            works_there
                || variables
                    .split(|byte| *byte == 0)
                    .any(|each| each == mark.as_bytes())
        })
        .map(|(pid, _)| pid)
        .collect()
}

/// Describes a process in enough detail to find its origin.
fn description(pid: Pid) -> String {
    let folder = PathBuf::from(format!("/proc/{}", pid.as_raw_pid()));
    let read = |name| fs::read(folder.join(name)).unwrap_or_default();
    let text = |name| String::from_utf8_lossy(&read(name)).replace('\0', " ");
    let open = fs::read_dir(folder.join("fd")).into_iter().flatten();
    let open: Vec<_> = open
        .filter_map(|entry| fs::read_link(entry.ok()?.path()).ok())
        .collect();
    format!("{}\n{}{open:?}", text("cmdline"), text("stat"))
}
