//! Limits of a program with all that it starts: processes, the private temporary folder, open
//! files. They hold for root and for another user.

use std::time::Duration;

use haft_process::sandbox::{Access, ExceededLimit, Sandbox, SandboxPolicy};
use haft_process::{End, Finished, Leftovers, Spawn};
use tokio_util::sync::CancellationToken;

use crate::attacks::as_nobody;
use crate::programs::{goes, lines, run, sh, start, stdout};

/// Number of processes that a test allows.
const PROCESSES: usize = 60;

/// A bomb that stops growing by itself: some hundreds of processes, each of which waits.
const BOMB: &str = "i=0; while [ $i -lt 400 ]; do sleep 600 & i=$((i+1)); done; echo grown; wait";

/// The same, and the parent of each process has ended.
const ORPHANS: &str =
    "i=0; while [ $i -lt 400 ]; do (sleep 600 &); i=$((i+1)); done; echo grown; sleep 600";

fn in_sandbox(spawn: Spawn) -> Spawn {
    let policy = SandboxPolicy {
        execute: Access::All,
        private_tmp: true,
        ..SandboxPolicy::default()
    };
    let sandbox = Sandbox::new(&policy.with_system_files());
    Spawn {
        sandbox: Some(sandbox.expect("this kernel has what it needs")),
        ..spawn
    }
}

fn with_few_processes(script: &str) -> Spawn {
    let mut spawn = sh(script, &[]);
    spawn.limits.processes = Some(PROCESSES);
    spawn
}

fn was_ended_for(finished: &Finished, limit: ExceededLimit) {
    assert_eq!(finished.exceeded, Some(limit), "{finished:?}");
    assert_eq!(finished.end, End::Signaled(9), "{finished:?}");
}

#[tokio::test]
async fn a_tree_of_too_many_processes_is_killed() {
    for script in [BOMB, ORPHANS] {
        for spawn in [
            with_few_processes(script),
            in_sandbox(with_few_processes(script)),
        ] {
            let finished = run(spawn).await;
            was_ended_for(&finished, ExceededLimit::Processes(PROCESSES));
        }
    }
}

#[test]
fn the_processes_of_another_user_are_limited() {
    as_nobody("limits::a_tree_of_too_many_processes_is_killed");
}

/// The call is over, and the processes that it left behind still have the limit.
#[tokio::test]
async fn processes_that_a_program_leaves_behind_are_limited() {
    let script = format!("({BOMB}) >/dev/null 2>&1 & echo $!");
    let finished = run(with_few_processes(&script)).await;
    assert_eq!(finished.end, End::Exited(0), "{finished:?}");
    let left = stdout(&finished).to_owned();
    // The watch is a task of this runtime, which must not be blocked.
    let is_gone = tokio::task::spawn_blocking(move || goes(&left)).await;
    assert!(is_gone.expect("it does not panic"));
}

#[tokio::test]
async fn a_start_without_a_limit_has_the_default_one() {
    let limits = Spawn::new("true", [""; 0]).limits;
    assert_eq!(limits.processes, Some(1024));
}

/// A file, many empty ones, and one that is deleted and still open.
#[tokio::test]
async fn a_program_that_fills_its_temporary_folder_is_killed() {
    const LIMIT: u64 = 8 << 20;
    for script in [
        "head -c 64M /dev/zero > \"$TMPDIR/big\"; echo written; sleep 600",
        "mkdir \"$TMPDIR/d\"; cd \"$TMPDIR/d\"; seq 4000 | xargs touch; echo written; sleep 600",
        "exec 3> \"$TMPDIR/gone\"; rm \"$TMPDIR/gone\"; head -c 64M /dev/zero >&3; sleep 600",
    ] {
        let mut spawn = in_sandbox(sh(script, &[]));
        spawn.limits.temporary_bytes = Some(LIMIT);
        let tmp = spawn.sandbox.as_ref().and_then(Sandbox::tmp);
        let tmp = tmp.expect("the policy has one").to_owned();
        let again = spawn.clone();
        let finished = run(spawn).await;
        was_ended_for(&finished, ExceededLimit::TemporaryFiles(LIMIT));
        let left = std::fs::read_dir(&tmp).expect("the folder stays").count();
        assert_eq!(left, 0, "{script}");
        // The next program of the sandbox has room again.
        let mut small = sh("echo text > \"$TMPDIR/small\"; cat \"$TMPDIR/small\"", &[]);
        small.sandbox = again.sandbox;
        small.limits.temporary_bytes = Some(LIMIT);
        assert_eq!(stdout(&run(small).await), "text\n");
    }
}

#[test]
fn the_temporary_folder_of_another_user_is_limited() {
    as_nobody("limits::a_program_that_fills_its_temporary_folder_is_killed");
}

#[tokio::test]
async fn open_files_have_a_limit_of_the_kernel() {
    // The limit is set when the program runs already.
    let script = "read _; ulimit -Sn; ulimit -Hn; ulimit -n 500 2>/dev/null || echo refused";
    for spawn in [sh(script, &[]), in_sandbox(sh(script, &[]))] {
        let mut spawn = spawn;
        spawn.limits.open_files = Some(40);
        spawn.stdin = haft_process::Stdin::Bytes(b"\n".to_vec());
        spawn.leftovers = Leftovers::Kill;
        let finished = run(spawn).await;
        assert!(stdout(&finished).starts_with("40\n40\n"), "{finished:?}");
    }
}

/// A server that lives for long keeps its limits.
#[tokio::test]
async fn a_program_with_an_open_input_is_limited() {
    let mut spawn = with_few_processes(&format!("echo ready; read _; {BOMB}"));
    spawn.stdin = haft_process::Stdin::Open;
    spawn.deadline = Some(Duration::from_secs(60));
    let mut child = start(spawn, &CancellationToken::new()).await;
    assert_eq!(lines(&mut child, 1).await, ["ready"]);
    child.write(b"\n").await.expect("it reads");
    while child.next().await.is_some() {}
    was_ended_for(&child.wait().await, ExceededLimit::Processes(PROCESSES));
}
