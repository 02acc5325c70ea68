//! Programs that tests start, and processes that tests look at.

#![allow(dead_code, reason = "`tests/it` uses some of it too")]

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use haft_process::{Child, Finished, GrantedPath, LinkBounds, Spawn, Stream};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open};
use tokio_util::sync::CancellationToken;

pub const SECOND: Duration = Duration::from_secs(1);
pub const MINUTE: Duration = Duration::from_secs(60);

/// A shell script; `$1` and so on are `args`. Nothing in these tests may run for a minute.
pub fn sh(script: &str, args: &[&str]) -> Spawn {
    let own = ["-c", script, "sh"];
    Spawn {
        deadline: Some(MINUTE),
        ..Spawn::new("sh", own.iter().chain(args))
    }
}

pub async fn run(spawn: Spawn) -> Finished {
    spawn
        .run(&CancellationToken::new())
        .await
        .expect("the program starts")
}

pub async fn start(spawn: Spawn, cancel: &CancellationToken) -> Child {
    spawn.start(cancel).await.expect("the program starts")
}

/// Reads standard output until it has `lines` whole lines.
pub async fn lines(child: &mut Child, lines: usize) -> Vec<String> {
    let mut text = String::new();
    while text.matches('\n').count() < lines {
        let chunk = child.next().await.expect("the child is still writing");
        assert_eq!(chunk.stream, Stream::Stdout);
        text.push_str(&String::from_utf8(chunk.bytes).expect("the test writes ASCII"));
    }
    text.lines().map(str::to_owned).collect()
}

/// Returns true if the process is gone, or goes within ten seconds.
pub fn goes(text: &str) -> bool {
    let Ok(held) = pidfd_open(pid(text), PidfdFlags::empty()) else {
        return true;
    };
    let limit = Timespec {
        tv_sec: 10,
        tv_nsec: 0,
    };
    poll(&mut [PollFd::new(&held, PollFlags::IN)], Some(&limit)).expect("poll works") == 1
}

pub fn kill(text: &str) {
    rustix::process::kill_process(pid(text), Signal::KILL).expect("it is still there");
}

pub fn pid(text: &str) -> Pid {
    Pid::from_raw(text.trim().parse().expect("a process number")).expect("above zero")
}

pub fn script(folder: &Path, name: &str, text: &str, mode: u32) -> PathBuf {
    let path = folder.join(name);
    std::fs::write(&path, text).expect("the folder is writable");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).expect("it is ours");
    path
}

pub fn stdout(finished: &Finished) -> &str {
    std::str::from_utf8(&finished.stdout.bytes).expect("the test writes UTF-8")
}

/// Returns the real path of a path whose links are ours.
pub fn granted(path: impl AsRef<Path>) -> GrantedPath {
    let resolved = LinkBounds::new([]).resolve(path.as_ref());
    resolved.expect("its links lead somewhere")
}
