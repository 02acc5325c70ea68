//! Child processes, with real ones: each test proves one line of what `process` promises.
//!
//! Nothing here sleeps to wait for something: a child reports by its output that it is ready, and
//! the end of a process is awaited by its descriptor. Times appear only as bounds.

use haft_process::{
    Captured, Child, ChosenProgram, End, Environment, Exit, Finished, Keep, Leftovers, Limits,
    NulPlace, Spawn, SpawnError, Stdin, Stream,
};

use crate::programs::{MINUTE, SECOND, goes, kill, lines, pid, run, script, sh, start, stdout};
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::process::{WaitId, WaitIdOptions, waitid};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

async fn refusal(spawn: Spawn) -> SpawnError {
    spawn
        .run(&CancellationToken::new())
        .await
        .expect_err("the program does not start")
}

// ---- How a program ends.

#[tokio::test]
async fn an_exit_code_and_both_outputs_come_back() {
    let finished = run(sh("echo out; echo err >&2; exit 3", &[])).await;
    assert_eq!(finished.end, End::Exited(3));
    assert_eq!(finished.end.shell_code(), 3);
    assert_eq!(finished.stdout.bytes, b"out\n");
    assert_eq!(finished.stderr.bytes, b"err\n");
    assert!(!finished.pipe_held && !finished.end.was_stopped());
}

#[tokio::test]
async fn a_signal_is_distinguished_from_an_exit() {
    for (signal, code) in [(9, 137), (15, 143), (11, 139)] {
        let finished = run(sh(&format!("kill -{signal} $$"), &[])).await;
        assert_eq!(finished.end, End::Signaled(signal));
        assert_eq!(finished.end.shell_code(), code);
    }
    assert_eq!(run(sh("exit 139", &[])).await.end, End::Exited(139));
}

#[tokio::test]
async fn invalid_utf8_is_kept_as_bytes() {
    let finished = run(sh(r"printf 'a\377\376b'", &[])).await;
    assert_eq!(finished.stdout.bytes, b"a\xFF\xFEb");
    assert_eq!(finished.stdout.text(), "a\u{FFFD}\u{FFFD}b");
}

// ---- Turns.

#[tokio::test]
async fn a_program_that_computes_again_takes_its_permit_again() {
    let (turns, cancel) = (Semaphore::new(1), CancellationToken::new());
    let folder = tempfile::tempdir().expect("there is a temporary folder");
    let fifo = folder.path().join("fifo");
    let script = "mkfifo \"$1\"; read -r line <\"$1\"; while :; do :; done";
    let spawn = sh(script, &[fifo.to_str().expect("UTF-8")]);
    let computes = async {
        until_free(&turns, 1).await;
        // It waits for this line, and computes from then on.
        std::fs::write(&fifo, "go\n").expect("it reads");
        until_free(&turns, 0).await;
        cancel.cancel();
    };
    let (finished, ()) = tokio::join!(spawn.run_in_turn(&turns, &cancel), computes);
    assert!(finished.expect("it starts").end.was_stopped());
    assert_eq!(turns.available_permits(), 1);
}

async fn until_free(turns: &Semaphore, count: usize) {
    let started = Instant::now();
    while turns.available_permits() != count {
        assert!(started.elapsed() < 30 * SECOND, "never {count} free");
        tokio::task::yield_now().await;
    }
}

// ---- Stopping.

#[tokio::test]
async fn a_deadline_kills_the_whole_tree_and_keeps_what_was_written() {
    let mut spawn = sh("sleep 600 & echo $!; wait", &[]);
    spawn.deadline = Some(Duration::from_millis(200));
    let finished = run(spawn).await;
    assert_eq!(finished.end, End::TimedOut(Some(Exit::Signal(9))));
    assert_eq!(finished.end.shell_code(), 124);
    assert!(
        finished.duration >= Duration::from_millis(200),
        "{finished:?}"
    );
    assert!(finished.duration < 2 * SECOND, "{finished:?}");
    assert!(goes(stdout(&finished)));
}

#[tokio::test]
async fn a_deadline_cancels_before_it_kills() {
    let mut spawn = sh(
        "trap 'echo bye; exit 7' TERM; echo up; while :; do sleep 0.01; done",
        &[],
    );
    spawn.deadline = Some(Duration::from_millis(300));
    spawn.timeout_grace = MINUTE;
    let finished = run(spawn).await;
    assert_eq!(finished.end, End::TimedOut(Some(Exit::Code(7))));
    assert_eq!(stdout(&finished), "up\nbye\n");
}

#[tokio::test]
async fn a_cancel_asks_first_and_carries_the_handlers_exit_code() {
    let cancel = CancellationToken::new();
    let mut child = start(
        sh(
            "trap 'exit 7' TERM; echo up; while :; do sleep 0.01; done",
            &[],
        ),
        &cancel,
    )
    .await;
    lines(&mut child, 1).await;
    cancel.cancel();
    let finished = child.wait().await;
    assert_eq!(finished.end, End::Cancelled(Some(Exit::Code(7))));
    assert_eq!(finished.end.shell_code(), 130);
    assert_eq!(stdout(&finished), "up\n");
}

#[tokio::test]
async fn a_cancel_kills_after_the_grace_what_ignores_it() {
    let cancel = CancellationToken::new();
    let mut spawn = sh("trap '' TERM; sleep 600 & echo $!; wait", &[]);
    spawn.grace = Duration::from_millis(150);
    let mut child = start(spawn, &cancel).await;
    let grandchild = lines(&mut child, 1).await.remove(0);
    let asked = Instant::now();
    cancel.cancel();
    let finished = child.wait().await;
    assert_eq!(finished.end, End::Cancelled(Some(Exit::Signal(9))));
    assert!(asked.elapsed() >= Duration::from_millis(150));
    assert!(
        asked.elapsed() < Duration::from_millis(750),
        "{:?}",
        asked.elapsed()
    );
    assert!(goes(&grandchild));
}

#[tokio::test]
async fn a_force_token_cuts_the_grace_period_short_and_does_not_cancel() {
    let (cancel, hurry) = (CancellationToken::new(), CancellationToken::new());
    let mut spawn = sh(
        "trap 'echo asked' TERM; echo up; read line; echo $line; while :; do sleep 600; done",
        &[],
    );
    spawn.grace = 10 * MINUTE;
    spawn.force_token = Some(hurry.clone());
    spawn.stdin = Stdin::Open;
    let mut child = start(spawn, &cancel).await;
    lines(&mut child, 1).await;
    hurry.cancel();
    // It goes on as if nothing had happened.
    child.write(b"still here\n").await.expect("it reads");
    assert_eq!(lines(&mut child, 1).await, ["still here"]);
    cancel.cancel();
    let finished = child.wait().await;
    assert_eq!(finished.end, End::Cancelled(Some(Exit::Signal(9))));
    assert!(finished.duration < MINUTE, "{:?}", finished.duration);
}

#[tokio::test]
async fn a_grandchild_that_outlives_its_parent_is_killed_by_a_stop() {
    let cancel = CancellationToken::new();
    let quiet =
        "(trap '' TERM; echo ready; exec sleep 600 >/dev/null 2>&1 </dev/null) & echo $!; wait";
    let mut child = start(sh(quiet, &[]), &cancel).await;
    let both = lines(&mut child, 2).await;
    let grandchild = both
        .iter()
        .find(|line| *line != "ready")
        .expect("its number");
    child.stop();
    let finished = child.wait().await;
    assert_eq!(finished.end, End::Cancelled(Some(Exit::Signal(15))));
    assert!(goes(grandchild));
}

#[tokio::test]
async fn a_stop_reaches_a_grandchild_in_a_session_of_its_own() {
    let cancel = CancellationToken::new();
    let mut child = start(
        sh("setsid sh -c 'echo $$; exec sleep 600' & wait", &[]),
        &cancel,
    )
    .await;
    let grandchild = lines(&mut child, 1).await.remove(0);
    cancel.cancel();
    let finished = child.wait().await;
    assert!(
        matches!(finished.end, End::Cancelled(Some(_))),
        "{finished:?}"
    );
    assert!(goes(&grandchild));
    assert!(!finished.pipe_held);
}

#[tokio::test]
async fn a_stopped_process_receives_the_cancel() {
    let cancel = CancellationToken::new();
    let mut spawn = sh("trap 'exit 7' TERM; echo $$; kill -STOP $$; exit 1", &[]);
    spawn.grace = MINUTE;
    let mut child = start(spawn, &cancel).await;
    let stopped = pid(&lines(&mut child, 1).await[0]);
    let only_look = WaitIdOptions::STOPPED | WaitIdOptions::NOWAIT;
    waitid(WaitId::Pid(stopped), only_look).expect("it is our child");
    cancel.cancel();
    let finished = child.wait().await;
    assert_eq!(finished.end, End::Cancelled(Some(Exit::Code(7))));
}

#[tokio::test]
async fn a_cancelled_token_starts_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    let mark = folder.path().join("ran");
    let cancel = CancellationToken::new();
    cancel.cancel();
    let spawn = Spawn::new("touch", [&mark]);
    let finished = spawn.clone().run(&cancel).await.expect("nothing to fail");
    assert_eq!(finished.end, End::Cancelled(None));
    let finished = start(spawn.clone(), &cancel).await.wait().await;
    assert_eq!(finished.end, End::Cancelled(None));
    assert!(!mark.exists());
    assert_eq!(run(spawn).await.end, End::Exited(0));
    assert!(mark.exists(), "the same program does run otherwise");
}

#[tokio::test]
async fn dropping_the_future_or_the_child_leaves_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    let fifo = folder.path().join("pids");
    let made = Spawn::new("mkfifo", [&fifo]);
    assert_eq!(run(made).await.end, End::Exited(0));

    let text = "trap '' TERM; sleep 600 & echo $$ $! > \"$1\"; wait";
    let spawn = sh(text, &[fifo.to_str().expect("UTF-8")]);
    let cancel = CancellationToken::new();
    let pids = {
        let mut call = Box::pin(spawn.run(&cancel));
        tokio::select! {
            _ = &mut call => panic!("it does not end by itself"),
            pids = tokio::fs::read_to_string(&fifo) => pids.expect("the fifo works"),
        }
    };
    assert!(pids.split_whitespace().all(goes), "{pids}");

    let mut child = start(sh("sleep 600 & echo $$; echo $!; wait", &[]), &cancel).await;
    let pids = lines(&mut child, 2).await;
    drop(child);
    tokio::task::yield_now().await;
    assert!(pids.iter().all(|pid| goes(pid)), "{pids:?}");
}

// ---- Output.

#[tokio::test]
async fn a_flood_is_read_to_its_end_in_bounded_memory() {
    const CAP: usize = 1 << 20;
    const FLOOD: u64 = 1_000_000_000;
    let mut spawn = sh("head -c 1000000000 /dev/zero; echo done >&2", &[]);
    spawn.stdout = Keep::Head(CAP);
    let before = peak_memory();
    let finished = run(spawn).await;
    let grown = peak_memory().saturating_sub(before);
    assert_eq!(finished.end, End::Exited(0));
    assert_eq!(finished.stdout.bytes.len(), CAP);
    assert_eq!(finished.stdout.dropped, FLOOD - CAP as u64);
    assert_eq!(finished.stdout.gap, Some(CAP));
    assert_eq!(
        finished.stderr.bytes, b"done\n",
        "the writer was not killed"
    );
    // Half of the flood, because other tests of this program grow at the same time.
    assert!(grown < 500_000_000, "grew by {grown} bytes");
}

/// The most memory that this process ever had, in bytes.
fn peak_memory() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").expect("Linux");
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = line.and_then(|line| line.trim().strip_suffix(" kB"));
    kib.and_then(|kib| kib.parse::<usize>().ok())
        .expect("a number")
        * 1024
}

#[tokio::test]
async fn both_outputs_are_drained_at_once() {
    let finished = run(sh(
        "head -c 3000000 /dev/zero & head -c 3000000 /dev/zero >&2; wait",
        &[],
    ))
    .await;
    assert_eq!(finished.end, End::Exited(0));
    assert_eq!(finished.stdout.bytes.len(), 3_000_000);
    assert_eq!(finished.stderr.bytes.len(), 3_000_000);
}

#[tokio::test]
async fn a_program_that_closes_its_output_and_lives_is_noticed() {
    let mut spawn = sh("echo last; exec 1>&-; read -r line; echo $line >&2", &[]);
    spawn.stdin = Stdin::Open;
    let mut child = start(spawn, &CancellationToken::new()).await;
    child.closed_output().cancelled().await;
    let last = child.next().await.expect("it is read without waiting");
    assert_eq!(last.bytes, b"last\n");
    child.write(b"still here\n").await.expect("it lives");
    let answer = child.next().await.expect("the answer");
    assert_eq!(
        (answer.stream, answer.bytes.as_slice()),
        (Stream::Stderr, &b"still here\n"[..])
    );
    assert_eq!(child.wait().await.end, End::Exited(0));
}

#[tokio::test]
async fn a_flood_hides_neither_the_deadline_nor_the_cancel() {
    let mut spawn = sh("exec cat /dev/zero", &[]);
    spawn.deadline = Some(Duration::from_millis(200));
    let finished = run(spawn).await;
    assert_eq!(finished.end, End::TimedOut(Some(Exit::Signal(9))));
    assert!(finished.duration < 2 * SECOND, "{:?}", finished.duration);

    let cancel = CancellationToken::new();
    let mut child = start(sh("exec cat /dev/zero", &[]), &cancel).await;
    child.next().await.expect("a chunk");
    let canceller = cancel.clone();
    let finished = tokio::join!(child.wait(), async move { canceller.cancel() }).0;
    assert_eq!(finished.end, End::Cancelled(Some(Exit::Signal(15))));
}

#[tokio::test]
async fn head_and_tail_are_kept_and_the_gap_is_marked() {
    let mut spawn = sh("seq 1 100000", &[]);
    spawn.stdout = Keep::HeadAndTail { head: 10, tail: 13 };
    let Captured {
        bytes,
        dropped,
        gap,
    } = run(spawn).await.stdout;
    assert_eq!(bytes, b"1\n2\n3\n4\n5\n99999\n100000\n");
    assert_eq!(gap, Some(10));
    assert_eq!(dropped, 588_895 - 23);

    let mut exact = sh("printf 12345", &[]);
    exact.stdout = Keep::HeadAndTail { head: 2, tail: 3 };
    let whole = run(exact).await.stdout;
    assert_eq!(
        (whole.text().as_str(), whole.dropped, whole.gap),
        ("12345", 0, None)
    );
}

#[tokio::test]
async fn a_cut_never_shows_half_a_character() {
    let mut spawn = sh("printf 'aä€𝄞-----𝄞€äz'", &[]);
    for (head, tail, expected) in [
        (2, 2, ("a", "z")),
        (5, 5, ("aä", "äz")),
        (9, 9, ("aä€", "€äz")),
        (10, 10, ("aä€𝄞", "𝄞€äz")),
    ] {
        spawn.stdout = Keep::HeadAndTail { head, tail };
        let (before, after) = run(spawn.clone()).await.stdout.parts();
        assert_eq!((before.as_str(), after.as_str()), expected, "{head}");
    }
}

#[tokio::test]
async fn chunks_arrive_while_the_program_runs() {
    let folder = tempfile::tempdir().expect("a folder");
    let fifo = folder.path().join("go");
    assert_eq!(run(Spawn::new("mkfifo", [&fifo])).await.end, End::Exited(0));
    let mut child = start(
        sh(
            "echo one; read -r line < \"$1\"; echo $line >&2",
            &[fifo.to_str().expect("UTF-8")],
        ),
        &CancellationToken::new(),
    )
    .await;
    // The program waits for us now, so this chunk came before its end.
    assert_eq!(lines(&mut child, 1).await, ["one"]);
    tokio::fs::write(&fifo, "two\n")
        .await
        .expect("the fifo works");
    let chunk = child.next().await.expect("the answer");
    assert_eq!(
        (chunk.stream, chunk.bytes.as_slice()),
        (Stream::Stderr, &b"two\n"[..])
    );
    assert_eq!(child.next().await, None);
    let finished = child.wait().await;
    assert_eq!(
        (finished.stdout.bytes, finished.stderr.bytes),
        (b"one\n".into(), b"two\n".into())
    );
}

#[tokio::test]
async fn chunks_go_on_beyond_what_is_kept_and_none_is_lost() {
    let mut spawn = sh("seq 1 200000", &[]);
    spawn.stdout = Keep::Head(5);
    let mut child = start(spawn, &CancellationToken::new()).await;
    let mut all = Vec::new();
    while let Some(chunk) = child.next().await {
        all.extend(chunk.bytes);
    }
    assert_eq!(all.len(), 1_288_895);
    assert!(all.ends_with(b"\n200000\n"));
    assert_eq!(child.wait().await.stdout.bytes, b"1\n2\n3");
}

#[tokio::test]
async fn a_reader_that_does_not_read_stops_neither_the_deadline_nor_the_end() {
    let mut spawn = sh("seq 1 1000000; exec sleep 600", &[]);
    spawn.deadline = Some(Duration::from_millis(200));
    let child = start(spawn, &CancellationToken::new()).await;
    let finished = child.wait().await;
    assert_eq!(finished.end, End::TimedOut(Some(Exit::Signal(9))));
}

// ---- Input.

#[tokio::test]
async fn the_input_is_empty_unless_given_and_always_ends() {
    assert_eq!(run(sh("cat; echo end", &[])).await.stdout.bytes, b"end\n");
    for text in [&b""[..], b"hello", &[b'x'; 300_000]] {
        let mut spawn = sh("cat", &[]);
        spawn.stdin = Stdin::Bytes(text.to_vec());
        assert_eq!(run(spawn).await.stdout.bytes, text);
    }
}

#[tokio::test]
async fn an_input_that_is_not_read_is_not_an_error() {
    let mut spawn = sh("exec true", &[]);
    spawn.stdin = Stdin::Bytes(vec![b'x'; 5_000_000]);
    assert_eq!(run(spawn).await.end, End::Exited(0));

    let mut spawn = sh("exec <&-; echo closed; exit 4", &[]);
    spawn.stdin = Stdin::Bytes(vec![b'x'; 5_000_000]);
    let finished = run(spawn).await;
    assert_eq!(
        (finished.end, stdout(&finished)),
        (End::Exited(4), "closed\n")
    );
}

// ---- Grandchildren after a normal end.

#[tokio::test]
async fn a_grandchild_that_holds_the_pipe_does_not_hold_the_call() {
    let finished = run(sh("sleep 600 & echo $!", &[])).await;
    assert_eq!(finished.end, End::Exited(0));
    assert!(finished.pipe_held);
    assert!(finished.duration < 5 * SECOND, "{:?}", finished.duration);
    // The author put it in the background on purpose, so it is left alone.
    kill(stdout(&finished));
}

#[tokio::test]
async fn what_a_grandchild_writes_right_after_the_end_is_still_read() {
    // It polls the state of the program, and writes ten milliseconds after its end.
    let late = r#"
        until read -r stat </proc/$$/stat; case $stat in *") Z "*) ;; *) false ;; esac; do :; done
        sleep 0.01; echo late"#;
    let spawn = sh(&format!("({late}) & exit 0"), &[]);
    // A machine under load can make it late, but not twenty times in a row.
    for _ in 0..20 {
        let finished = run(spawn.clone()).await;
        assert_eq!(finished.end, End::Exited(0));
        if (stdout(&finished), finished.pipe_held) == ("late\n", false) {
            return;
        }
    }
    panic!("nothing was read after the end");
}

/// Starts a program that ends at once and leaves a process behind, whose id it prints. That process
/// waits until the named pipe `go` in the folder is opened, writes "late", and ends.
async fn left_behind(change: impl FnOnce(&mut Spawn)) -> (tempfile::TempDir, Child, Vec<String>) {
    let folder = tempfile::tempdir().expect("a folder");
    let script = "mkfifo go; (read -r line <go; echo late) & echo $! $$";
    let mut spawn = sh(script, &[]);
    spawn.cwd = Some(folder.path().to_owned());
    spawn.late_output = MINUTE;
    change(&mut spawn);
    let mut child = start(spawn, &CancellationToken::new()).await;
    let said = lines(&mut child, 1).await.remove(0);
    let ids: Vec<String> = said.split(' ').map(str::to_owned).collect();
    assert!(goes(&ids[1]), "the program ends by itself");
    (folder, child, ids)
}

#[tokio::test]
async fn late_output_is_read_until_no_process_can_write_any_more() {
    let (folder, child, _) = left_behind(|_| ()).await;
    std::fs::write(folder.path().join("go"), "").expect("it waits");
    let finished = child.wait().await;
    assert_eq!((finished.end, finished.pipe_held), (End::Exited(0), false));
    assert!(stdout(&finished).ends_with("\nlate\n"), "{finished:?}");
}

#[tokio::test]
async fn a_cancel_ends_the_wait_for_late_output_and_its_writer() {
    let (_folder, child, ids) = left_behind(|_| ()).await;
    child.stop();
    let finished = child.wait().await;
    assert_eq!(finished.end, End::Cancelled(Some(Exit::Code(0))));
    assert!(goes(&ids[0]));
}

#[tokio::test]
async fn a_deadline_ends_the_wait_for_late_output_of_a_program_that_has_ended() {
    let (_folder, child, ids) = left_behind(|spawn| spawn.deadline = Some(SECOND)).await;
    let finished = child.wait().await;
    assert_eq!((finished.end, finished.pipe_held), (End::Exited(0), false));
    assert!(goes(&ids[0]));
}

#[tokio::test]
async fn what_waits_for_its_start_never_starts_after_a_cancel() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = script(folder.path(), "tool", "#!/bin/sh\ntouch started\n", 0o755);
    // A file that is open for writing cannot be executed, so the start is retried.
    let _busy = std::fs::File::options()
        .append(true)
        .open(&path)
        .expect("it is there");
    let spawn = Spawn {
        cwd: Some(folder.path().to_owned()),
        ..Spawn::new(ChosenProgram::not_of_project(&path), None::<&str>)
    };
    let cancel = CancellationToken::new();
    let (finished, ()) = tokio::join!(spawn.run(&cancel), async { cancel.cancel() });
    let finished = finished.expect("nothing was refused");
    assert_eq!(
        (finished.end, finished.duration),
        (End::Cancelled(None), Duration::ZERO)
    );
    assert!(!folder.path().join("started").exists());
}

#[tokio::test]
async fn leftovers_are_killed_if_asked() {
    let mut spawn = sh("sleep 600 >/dev/null 2>&1 & echo $!", &[]);
    spawn.leftovers = Leftovers::Kill;
    let finished = run(spawn).await;
    assert_eq!((finished.end, finished.pipe_held), (End::Exited(0), false));
    assert!(goes(stdout(&finished)));
}

// ---- The initial state of a child.

#[tokio::test]
async fn the_environment_follows_its_policy() {
    let names = |finished: &Finished| {
        let mut names: Vec<String> = stdout(finished)
            .lines()
            .filter_map(|line| Some(line.split_once('=')?.0.to_owned()))
            .collect();
        names.sort();
        names
    };
    let env = |environment| Spawn {
        env: environment,
        ..Spawn::new("env", [""; 0])
    };
    let inherited = env(Environment::inherit().with("HAFT_NEW", "1").without("HOME"));
    let found = names(&run(inherited).await);
    assert!(found.contains(&"HAFT_NEW".to_owned()) && found.contains(&"PATH".to_owned()));
    assert!(!found.contains(&"HOME".to_owned()));

    let allowed = env(Environment::allow(["PATH", "HAFT_IS_NOT_SET"]).with("B", "2"));
    assert_eq!(names(&run(allowed).await), ["B", "PATH"]);

    let explicit = env(Environment::explicit([("A", "x=y")]));
    assert_eq!(run(explicit).await.stdout.bytes, b"A=x=y\n");
}

#[tokio::test]
async fn the_program_is_looked_up_in_the_childs_path() {
    let folder = tempfile::tempdir().expect("a folder");
    script(
        folder.path(),
        "haft-probe",
        "#!/bin/sh\necho found $0\n",
        0o755,
    );
    let spawn = Spawn::new("haft-probe", [""; 0]);
    assert_eq!(refusal(spawn.clone()).await.code(), "ENOENT");
    let spawn = Spawn {
        env: Environment::explicit([("PATH", folder.path())]),
        ..spawn
    };
    assert!(stdout(&run(spawn).await).starts_with("found "));
}

#[tokio::test]
async fn the_working_directory_is_entered_and_ours_stays() {
    let folder = tempfile::tempdir().expect("a folder");
    let real = folder.path().canonicalize().expect("it is there");
    let ours = std::env::current_dir().expect("we have one");
    script(folder.path(), "here", "#!/bin/sh\npwd -P\n", 0o755);
    let spawn = Spawn {
        cwd: Some(real.clone()),
        ..Spawn::new("./here", [""; 0])
    };
    assert_eq!(
        stdout(&run(spawn).await).trim_end(),
        real.to_str().expect("UTF-8")
    );
    assert_eq!(std::env::current_dir().expect("we have one"), ours);
    let none = run(sh("pwd -P", &[])).await;
    assert_eq!(stdout(&none).trim_end(), ours.to_str().expect("UTF-8"));
}

#[tokio::test]
async fn only_the_three_streams_are_open_in_the_child() {
    // Other tests run at the same time in this process, with pipes and files of their own.
    let finished = run(Spawn::new("ls", ["/proc/self/fd"])).await;
    // The fourth is the folder that `ls` itself reads.
    assert_eq!(stdout(&finished), "0\n1\n2\n3\n");
}

#[tokio::test]
async fn signals_are_at_their_defaults_and_none_is_blocked() {
    let finished = run(Spawn::new("cat", ["/proc/self/status"])).await;
    // The C library reserves the signals 32 and 33 and leaves them ignored.
    let own: u64 = 0b11 << 31;
    for name in ["SigBlk:", "SigIgn:"] {
        let mut lines = stdout(&finished).lines();
        let bits = lines
            .find_map(|line| line.strip_prefix(name))
            .expect("Linux");
        let bits = u64::from_str_radix(bits.trim(), 16).expect("hexadecimal");
        assert_eq!(bits & !own, 0, "{name} {bits:x}");
    }
    let pipeline = run(sh("yes | head -1", &[])).await;
    assert_eq!((pipeline.end, stdout(&pipeline)), (End::Exited(0), "y\n"));
    assert!(pipeline.stderr.bytes.is_empty());
}

#[tokio::test]
async fn the_child_leads_its_own_session_without_a_terminal() {
    let finished = run(sh("cut -d' ' -f1,5,6 /proc/$$/stat; : </dev/tty", &[])).await;
    let numbers: Vec<&str> = stdout(&finished).split_whitespace().collect();
    assert!(
        numbers.iter().all(|number| *number == numbers[0]),
        "{numbers:?}"
    );
    assert_eq!(numbers.len(), 3);
    assert_ne!(finished.end, End::Exited(0), "/dev/tty cannot be opened");
}

#[tokio::test]
async fn limits_hold_from_the_first_instruction() {
    let folder = tempfile::tempdir().expect("a folder");
    script(
        folder.path(),
        "tool",
        "#!/bin/sh\nulimit -v; ulimit -t; pwd -P; echo \"$*\"\n",
        0o755,
    );
    let cwd = folder.path().canonicalize().expect("it is there");
    let spawn = Spawn {
        cwd: Some(cwd.clone()),
        limits: Limits {
            address_space: Some(512 << 20),
            cpu_seconds: Some(7),
            ..Limits::default()
        },
        ..Spawn::new("./tool", ["a b", "$(c)"])
    };
    let expected = format!("524288\n7\n{}\na b $(c)\n", cwd.display());
    assert_eq!(stdout(&run(spawn.clone()).await), expected);

    let mut spin = sh("while :; do :; done", &[]);
    spin.limits.cpu_seconds = Some(1);
    assert_eq!(run(spin).await.end, End::Signaled(24), "SIGXCPU");

    let missing = Spawn {
        program: "./no".into(),
        ..spawn.clone()
    };
    let text = "ENOENT: no such file or directory, posix_spawn './no'";
    assert_eq!(refusal(missing).await.to_string(), text);
    let lost = Spawn {
        cwd: Some("/haft/no/such".into()),
        ..spawn
    };
    assert!(matches!(refusal(lost).await, SpawnError::Cwd { .. }));
}

/// Counts the processors that a program and its children may use.
const PROCESSORS: &str = "nproc; (nproc); pwd -P";

#[tokio::test]
async fn processors_are_limited_from_the_first_instruction_and_for_no_other_program() {
    let folder = tempfile::tempdir().expect("a folder");
    let cwd = folder.path().canonicalize().expect("it is there");
    let limits = |address_space| Limits {
        processors: Some(1),
        address_space,
        ..Limits::default()
    };
    // Each way of starting a program: at once, from a folder, through a shell.
    for (cwd, address_space) in [
        (None, None),
        (Some(&cwd), None),
        (Some(&cwd), Some(512 << 20)),
    ] {
        let spawn = Spawn {
            cwd: cwd.cloned(),
            limits: limits(address_space),
            ..sh(PROCESSORS, &[])
        };
        let here = std::env::current_dir().expect("it is there");
        let expected = format!("1\n1\n{}\n", cwd.unwrap_or(&here).display());
        assert_eq!(stdout(&run(spawn).await), expected, "{address_space:?}");
    }
    let all = std::thread::available_parallelism().map_or(1, usize::from);
    let finished = run(sh("nproc", &[])).await;
    assert_eq!(stdout(&finished), format!("{all}\n"));
    let more = Spawn {
        limits: Limits {
            processors: Some(all + 1),
            ..Limits::default()
        },
        ..sh("nproc", &[])
    };
    assert_eq!(stdout(&run(more).await), format!("{all}\n"));
}

/// A program that changes its affinity stays within the limit where control groups can be made. A
/// sandbox denies the change, so it needs no group.
#[tokio::test]
async fn processors_are_limited_by_a_control_group_where_the_system_allows_it() {
    let mut spawn = sh("cat /proc/self/cgroup", &[]);
    spawn.limits.processors = Some(1);
    let groups = run(spawn).await;
    let own = stdout(&groups).lines().filter(|line| {
        let (controllers, path) = line
            .split_once(':')
            .expect("a line")
            .1
            .split_once(':')
            .expect("two");
        (controllers.is_empty() || controllers.split(',').any(|own| own == "cpu"))
            && path.contains("/haft-")
    });
    let expected = usize::from(haft_process::can_limit_processors());
    assert_eq!(own.count(), expected, "{}", stdout(&groups));
}

// ---- Programs that cannot be started.

#[tokio::test]
async fn a_missing_program_is_named_as_omp_names_it() {
    let error = refusal(Spawn::new("haft-no-such-program", [""; 0])).await;
    assert!(matches!(error, SpawnError::NotFound { .. }));
    assert_eq!(error.code(), "ENOENT");
    assert_eq!(
        error.to_string(),
        "Executable not found in $PATH: \"haft-no-such-program\""
    );
    assert!(matches!(
        refusal(Spawn::new("", [""; 0])).await,
        SpawnError::NotFound { .. }
    ));

    let error = refusal(Spawn::new("./haft-no-such-file", [""; 0])).await;
    let text = "ENOENT: no such file or directory, posix_spawn './haft-no-such-file'";
    assert_eq!(
        (error.code().as_str(), error.to_string().as_str()),
        ("ENOENT", text)
    );
}

#[tokio::test]
async fn a_missing_working_directory_is_named_as_omp_names_it() {
    for (cwd, code, text) in [
        (
            "/haft/no/such",
            "ENOENT",
            "ENOENT: no such file or directory, posix_spawn 'true'",
        ),
        (
            "/etc/passwd",
            "ENOTDIR",
            "ENOTDIR: not a directory, posix_spawn 'true'",
        ),
    ] {
        let error = refusal(Spawn {
            cwd: Some(cwd.into()),
            ..Spawn::new("true", [""; 0])
        })
        .await;
        assert!(matches!(&error, SpawnError::Cwd { cwd: at, .. } if at == Path::new(cwd)));
        assert_eq!(
            (error.code().as_str(), error.to_string().as_str()),
            (code, text)
        );
    }
}

#[tokio::test]
async fn a_file_that_cannot_be_executed_is_reported_with_the_reason() {
    let folder = tempfile::tempdir().expect("a folder");
    let plain = script(folder.path(), "plain", "echo hi\n", 0o644);
    let error = refusal(Spawn::new(ChosenProgram::not_of_project(&plain), [""; 0])).await;
    assert!(
        matches!(error, SpawnError::PermissionDenied { .. }),
        "{error:?}"
    );
    assert_eq!(error.code(), "EACCES");
    let in_path = Spawn {
        env: Environment::explicit([("PATH", folder.path())]),
        ..Spawn::new("plain", [""; 0])
    };
    assert_eq!(refusal(in_path).await.code(), "EACCES");
    assert_eq!(refusal(Spawn::new("/tmp", [""; 0])).await.code(), "EACCES");

    let bare = script(folder.path(), "bare", "echo hi\n", 0o755);
    assert_eq!(
        refusal(Spawn::new(ChosenProgram::not_of_project(bare), [""; 0]))
            .await
            .code(),
        "ENOEXEC"
    );
    let lost = script(folder.path(), "lost", "#!/haft/no/such\n", 0o755);
    assert_eq!(
        refusal(Spawn::new(ChosenProgram::not_of_project(lost), [""; 0]))
            .await
            .code(),
        "ENOENT"
    );
    let huge = refusal(Spawn::new("true", ["x".repeat(200_000)])).await;
    assert_eq!(
        huge.to_string(),
        "E2BIG: argument list too long, posix_spawn 'true'"
    );
}

#[tokio::test]
async fn a_nul_byte_is_refused_wherever_it_is() {
    let nul = || OsString::from_vec(b"a\0b".to_vec());
    let plain = || Spawn::new("true", [""; 0]);
    let mut argument = plain();
    argument.args = vec!["fine".into(), nul()];
    let mut cwd = plain();
    cwd.cwd = Some(nul().into());
    let mut variable = plain();
    variable.env = Environment::inherit().with("HAFT_BAD", nul());
    for (spawn, expected) in [
        (
            Spawn::new(ChosenProgram::not_of_project(nul()), [""; 0]),
            NulPlace::Program,
        ),
        (argument, NulPlace::Argument(1)),
        (cwd, NulPlace::Cwd),
        (variable, NulPlace::Variable("HAFT_BAD".to_owned())),
    ] {
        let error = refusal(spawn).await;
        assert_eq!(error.code(), "ERR_INVALID_ARG_VALUE");
        assert!(matches!(error, SpawnError::Nul { place } if place == expected));
    }
}

// ---- Many at once.

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_hundred_children_at_once_leave_no_zombie_and_no_descriptor() {
    let folder = tempfile::tempdir().expect("a folder");
    let tool = script(
        folder.path(),
        "tool",
        "#!/bin/sh\necho $$; cat; exit $1\n",
        0o755,
    );
    let mut calls = tokio::task::JoinSet::new();
    for number in 0..200_u8 {
        let mut spawn = Spawn::new(ChosenProgram::not_of_project(&tool), [number.to_string()]);
        spawn.cwd = (number % 2 == 0).then(|| folder.path().to_owned());
        spawn.stdin = Stdin::Bytes(number.to_string().into_bytes());
        spawn.deadline = Some(MINUTE);
        calls.spawn(async move { (number, run(spawn).await) });
    }
    let mut pids = Vec::new();
    while let Some(done) = calls.join_next().await {
        let (number, finished) = done.expect("no call panics");
        assert_eq!(finished.end, End::Exited(i32::from(number)));
        let (pid, input) = stdout(&finished).split_once('\n').expect("two lines");
        assert_eq!(input, number.to_string());
        pids.push(pid.to_owned());
    }
    assert_eq!(pids.len(), 200);
    // A zombie would still be listed; a reused id has another parent's name.
    let zombies: Vec<_> = pids
        .iter()
        .filter(|pid| {
            std::fs::read_to_string(format!("/proc/{pid}/stat"))
                .is_ok_and(|stat| stat.contains("(tool) Z"))
        })
        .collect();
    assert!(zombies.is_empty(), "{zombies:?}");
    let open = std::fs::read_dir("/proc/self/fd").expect("Linux").count();
    assert!(open < 400, "{open} descriptors are open");
}
