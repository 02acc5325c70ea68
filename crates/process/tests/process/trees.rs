//! Processes outside of the program's own group: those that a stop ends, and those that it must
//! not.
//!
//! No tree here can be reached by a signal to the group (kodelet c4, ikigai c4).

use haft_process::{Child, End, Leftovers};

use std::time::Duration;

use tokio_util::sync::CancellationToken;

use crate::programs::{MINUTE, goes, lines, run, sh, start, stdout};

/// Starts a program that prints one number and then waits; returns the program and the number.
async fn started(script: &str) -> (Child, String) {
    let mut spawn = sh(&format!("{script}; exec sleep 600"), &[]);
    spawn.grace = Duration::from_millis(50);
    let mut child = start(spawn, &CancellationToken::new()).await;
    let number = lines(&mut child, 1).await.remove(0);
    (child, number)
}

async fn is_ended_by_a_stop(script: &str) {
    let (child, number) = started(script).await;
    child.stop();
    let finished = child.wait().await;
    assert!(
        matches!(finished.end, End::Cancelled(Some(_))),
        "{finished:?}"
    );
    assert!(!finished.pipe_held);
    assert!(goes(&number));
}

#[tokio::test]
async fn a_stop_reaches_an_orphan_in_another_group_of_the_session() {
    // `timeout` makes a group of its own; its parent is gone at once.
    is_ended_by_a_stop("(timeout 600 sh -c 'trap \"\" TERM; echo $$; sleep 600' &)").await;
}

#[tokio::test]
async fn a_stop_reaches_what_has_no_pipe_and_no_parent() {
    let quiet = "(timeout 600 sh -c 'trap \"\" TERM; echo $$; exec sleep 600 >/dev/null 2>&1' &)";
    is_ended_by_a_stop(quiet).await;
}

#[tokio::test]
async fn a_stop_reaches_below_an_orphan_in_another_group() {
    is_ended_by_a_stop(
        "(timeout 600 sh -c 'setsid sh -c \"echo \\$\\$; exec sleep 600\" & wait' &)",
    )
    .await;
}

#[tokio::test]
async fn a_stop_reaches_half_a_daemon_by_the_pipe_that_it_holds() {
    is_ended_by_a_stop("(setsid sh -c 'trap \"\" TERM; echo $$; exec sleep 600' &)").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_that_is_dropped_within_the_grace_leaves_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    // The program ends on request; its child does not.
    let deaf = "trap '' TERM; echo $$ >ready; exec sleep 600";
    let script = "mkfifo ready; sh -c \"$1\" & cat ready; echo $$; exec sleep 600";
    let mut spawn = sh(script, &[deaf]);
    spawn.cwd = Some(folder.path().to_owned());
    spawn.grace = MINUTE;
    let mut child = start(spawn, &CancellationToken::new()).await;
    let numbers = lines(&mut child, 2).await;
    child.stop();
    assert!(goes(&numbers[1]), "the program");
    drop(child);
    assert!(goes(&numbers[0]), "what it started");
}

#[tokio::test]
async fn leftovers_in_other_groups_are_killed_if_asked() {
    let mut spawn = sh(
        "mkfifo f; (timeout 600 sh -c 'echo $$ >f; exec sleep 600' >/dev/null 2>&1 &); cat f; rm f",
        &[],
    );
    let folder = tempfile::tempdir().expect("a folder");
    spawn.cwd = Some(folder.path().to_owned());
    spawn.leftovers = Leftovers::Kill;
    let finished = run(spawn).await;
    assert_eq!(finished.end, End::Exited(0), "{finished:?}");
    assert!(goes(stdout(&finished)));
}

#[tokio::test]
async fn an_old_process_that_was_given_the_pipe_is_no_part_of_the_tree() {
    let folder = tempfile::tempdir().expect("a folder");
    // Not our own child, because those are spared for another reason. `ask` is opened only once: a
    // second `<ask` could get the end of file of the first line's writer.
    let inner = "echo $$; exec 4<>ask; read -r pipe <&4; exec 3>$pipe; echo held; read -r more <&4; echo $more";
    let mut spawn = sh("mkfifo ask; sh -c \"$1\" & wait", &[inner]);
    spawn.cwd = Some(folder.path().to_owned());
    let mut service = start(spawn, &CancellationToken::new()).await;
    let old = lines(&mut service, 1).await.remove(0);
    let ask = async |line: String| {
        let fifo = folder.path().join("ask");
        tokio::fs::write(fifo, line).await.expect("the fifo works");
    };
    let (young, number) = younger_than(&old).await;
    ask(format!("/proc/{number}/fd/1\n")).await;
    assert_eq!(lines(&mut service, 1).await, ["held"]);

    young.stop();
    let finished = young.wait().await;
    assert!(finished.pipe_held, "{finished:?}");
    ask("alive\n".to_owned()).await;
    assert_eq!(lines(&mut service, 1).await, ["alive"]);
    assert_eq!(service.wait().await.end, End::Exited(0));
}

/// Starts a program later than `old` by the system's clock, which counts in hundredths.
async fn younger_than(old: &str) -> (Child, String) {
    loop {
        let (young, number) = started("echo $$").await;
        if since(&number) > since(old) {
            return (young, number);
        }
    }
}

/// Returns the start time of a process, in clock ticks since boot.
fn since(pid: &str) -> u64 {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).expect("it runs");
    let (_, fields) = stat.rsplit_once(')').expect("Linux");
    let since = fields.split_whitespace().nth(19).expect("Linux");
    since.parse().expect("a number")
}
