//! The sandbox of a program, with real programs.

use std::env;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use haft_process::atomic_file::Durability;
use haft_process::sandbox::{self, Access, Net, Sandbox, SandboxError, SandboxPolicy};
use haft_process::{
    ChosenProgram, End, Exit, Limits, Spawn, SpawnError, StateDir, StatePart, Stdin,
    TrustedProject, VerifiedProgram, run_pipeline,
};
use nix::sched::{CloneFlags, unshare};
use tokio_util::sync::CancellationToken;

use crate::arena::{self, Arena};
use crate::attacks::as_nobody;
use crate::programs::{MINUTE, SECOND, goes, granted, lines, run, script, sh, start, stdout};

fn folder() -> tempfile::TempDir {
    tempfile::tempdir().expect("there is a temporary folder")
}

/// Policy with what every program needs, and these folders.
fn policy(read: &[&Path], write: &[&Path]) -> SandboxPolicy {
    let paths = |list: &[&Path]| Access::Paths(list.iter().map(granted).collect());
    SandboxPolicy {
        read: paths(read),
        write: paths(write),
        execute: Access::All,
        ..SandboxPolicy::default()
    }
    .with_system_files()
}

fn inside(policy: &SandboxPolicy, spawn: Spawn) -> Spawn {
    Spawn {
        sandbox: Some(Sandbox::new(policy).expect("this kernel has what it needs")),
        ..spawn
    }
}

#[tokio::test]
async fn files_are_read_and_written_as_the_policy_says() {
    let (open, closed) = (folder(), folder());
    for folder in [&open, &closed] {
        std::fs::write(folder.path().join("file"), "text\n").expect("it is ours");
    }
    let path = |folder: &tempfile::TempDir| folder.path().display().to_string();
    let attempt = "cat $1/file; cat $2/file 2>&1; echo more 2>&1 >$1/new; echo more 2>&1 >$2/new";
    let spawn = sh(attempt, &[&path(&open), &path(&closed)]);
    let outside = run(spawn.clone()).await;
    assert_eq!(stdout(&outside), "text\ntext\n");
    std::fs::remove_file(open.path().join("new")).expect("it was made");
    std::fs::remove_file(closed.path().join("new")).expect("it was made");

    let read_only = inside(&policy(&[open.path()], &[]), spawn.clone());
    let text = run(read_only).await;
    let closed_path = path(&closed);
    let denied = format!("cat: {closed_path}/file: Permission denied\n");
    assert!(
        stdout(&text).starts_with(&format!("text\n{denied}")),
        "{text:?}"
    );
    assert!(!open.path().join("new").exists() && !closed.path().join("new").exists());

    let writable = inside(&policy(&[], &[open.path()]), spawn);
    let text = run(writable).await;
    assert!(
        stdout(&text).starts_with(&format!("text\n{denied}")),
        "{text:?}"
    );
    assert!(open.path().join("new").exists() && !closed.path().join("new").exists());
}

#[tokio::test]
async fn a_folder_of_haft_does_not_make_other_files_writable() {
    let (own, others) = (folder(), folder());
    let path = |folder: &tempfile::TempDir| folder.path().display().to_string();
    std::fs::write(others.path().join("file"), "text\n").expect("it is ours");
    let attempt = "echo more >$1/made; cat $1/made; echo more >$2/made; chmod 777 $2/file $1/made";
    let policy = SandboxPolicy {
        own_folder: Some(granted(own.path())),
        ..policy(&[others.path()], &[])
    };
    let finished = run(inside(&policy, sh(attempt, &[&path(&own), &path(&others)]))).await;
    assert_eq!(stdout(&finished), "more\n");
    assert!(!others.path().join("made").exists());
    for file in [others.path().join("file"), own.path().join("made")] {
        let mode = fs::metadata(file)
            .expect("it was made")
            .permissions()
            .mode();
        assert_ne!(mode & 0o777, 0o777);
    }
}

async fn refusal(spawn: Spawn) -> SpawnError {
    let refused = spawn.run(&CancellationToken::new()).await;
    refused.expect_err("the program does not start")
}

#[test]
fn the_layers_are_named() {
    let layers = sandbox::available();
    assert!(layers.are_available(), "{layers}");
    let start = format!("landlock abi {}, seccomp", layers.landlock);
    assert!(layers.to_string().starts_with(&start), "{layers}");
    let policy = SandboxPolicy {
        unenforced: vec!["`deny` of a path below an allowed one".to_owned()],
        ..SandboxPolicy::default()
    };
    let made = Sandbox::new(&policy).expect("the kernel has it");
    let end = "not enforced: `deny` of a path below an allowed one";
    assert!(
        made.layers().to_string().ends_with(end),
        "{}",
        made.layers()
    );
}

/// Namespaces are used where the system allows them, also by a process that other processes may not
/// look into, as haft is.
#[test]
fn namespaces_are_used_where_the_system_allows_them() {
    if !rustix::process::geteuid().is_root() {
        // This is a process of its own then.
        haft_process::harden();
    }
    let kinds = CloneFlags::CLONE_NEWIPC | CloneFlags::CLONE_NEWNET;
    let allows = |kinds| {
        let mut probe = Command::new("true");
        #[allow(unsafe_code, reason = "the standard library considers it unsafe")]
        // SAFETY: the step is one system call.
        unsafe {
            probe.pre_exec(move || Ok(unshare(kinds)?));
        }
        probe.status().is_ok_and(|status| status.success())
    };
    let expected = if allows(kinds) || allows(kinds | CloneFlags::CLONE_NEWUSER) {
        vec!["ipc", "net"]
    } else {
        Vec::new()
    };
    let namespaces = |policy: &SandboxPolicy| {
        let made = Sandbox::new(policy).expect("the kernel has it");
        made.layers().namespaces.clone()
    };
    let mut policy = SandboxPolicy::default();
    assert_eq!(sandbox::available().namespaces, expected);
    assert_eq!(policy.layers().namespaces, expected);
    assert_eq!(namespaces(&policy), expected);
    policy.net = Net::Ports(vec![1]);
    assert_eq!(namespaces(&policy), expected[..expected.len().min(1)]);
    policy.unix_sockets = true;
    assert_eq!(namespaces(&policy), [""; 0]);
}

#[test]
fn namespaces_of_an_unprivileged_user_are_used_where_the_system_allows_them() {
    as_nobody("sandbox::namespaces_are_used_where_the_system_allows_them");
}

// ---- The promises for every child hold inside too.

#[tokio::test]
async fn a_program_cannot_get_more_processors_than_its_limit() {
    let all = "taskset -pc 0-$(($(getconf _NPROCESSORS_ONLN) - 1)) $$ >/dev/null 2>&1; nproc";
    let mut spawn = inside(&policy(&[], &[]), sh(all, &[]));
    spawn.limits.processors = Some(1);
    assert_eq!(stdout(&run(spawn).await), "1\n");
}

#[tokio::test]
async fn limits_and_the_folder_hold_without_a_shell() {
    let place = folder();
    let text = "#!/bin/cat\n";
    script(place.path(), "tool", text, 0o755);
    let cwd = place.path().canonicalize().expect("it is there");
    let mut policy = policy(&[&cwd], &[]);
    // No shell.
    policy.execute = Access::Paths(vec![granted(cwd.join("tool")), granted("/bin/cat")]);
    let policy = policy.with_system_files();
    let spawn = Spawn {
        cwd: Some(cwd.clone()),
        limits: Limits {
            address_space: Some(512 << 20),
            cpu_seconds: Some(7),
            ..Limits::default()
        },
        ..inside(&policy, Spawn::new("./tool", ["/proc/self/limits"]))
    };
    let finished = run(spawn.clone()).await;
    let limits = stdout(&finished)
        .strip_prefix(text)
        .expect("the script itself");
    let numbers = |name: &str| {
        let line = limits
            .lines()
            .find_map(|line| line.strip_prefix(name))
            .expect("Linux");
        let numbers = line.split_whitespace().take(2).map(str::parse::<u64>);
        numbers
            .map(|number| number.expect("a limit"))
            .collect::<Vec<_>>()
    };
    assert_eq!(numbers("Max address space"), [512 << 20; 2]);
    assert_eq!(numbers("Max cpu time"), [7, 8]);
    assert_eq!(numbers("Max core file size"), [0, 0]);

    let missing = Spawn {
        program: "./no".into(),
        ..spawn.clone()
    };
    let text = "ENOENT: no such file or directory, posix_spawn './no'";
    assert_eq!(refusal(missing).await.to_string(), text);
    let lost = Spawn {
        cwd: Some("/haft/no/such".into()),
        ..spawn.clone()
    };
    assert!(matches!(refusal(lost).await, SpawnError::Cwd { .. }));
    let other = Spawn {
        program: "/bin/ls".into(),
        ..spawn
    };
    let refused = refusal(other).await;
    let text = "EACCES: permission denied by the sandbox, posix_spawn '/bin/ls'";
    assert_eq!(
        (refused.to_string().as_str(), refused.code().as_str()),
        (text, "EACCES")
    );
}

#[tokio::test]
async fn the_state_of_a_sandboxed_child_is_that_of_every_child() {
    let policy = policy(&[], &[]);
    let finished = run(inside(&policy, Spawn::new("cat", ["/proc/self/status"]))).await;
    let field = |name: &str| {
        let mut lines = stdout(&finished).lines();
        let value = lines
            .find_map(|line| line.strip_prefix(name))
            .expect("Linux");
        u64::from_str_radix(value.trim(), 16).expect("hexadecimal")
    };
    // The C library reserves the signals 32 and 33.
    let own: u64 = 0b11 << 31;
    assert_eq!((field("SigBlk:") & !own, field("SigIgn:") & !own), (0, 0));
    assert_eq!((field("NoNewPrivs:"), field("Seccomp:")), (1, 2));
    // CAP_SYS_ADMIN and CAP_PERFMON.
    assert_eq!(field("CapPrm:") & (1 << 21 | 1 << 38), 0);

    let numbers = run(inside(&policy, sh("cut -d' ' -f1,5,6 /proc/$$/stat", &[]))).await;
    let numbers: Vec<&str> = stdout(&numbers).split_whitespace().collect();
    assert!(
        numbers.iter().all(|number| *number == numbers[0]),
        "{numbers:?}"
    );
    let open = run(inside(&policy, Spawn::new("ls", ["/proc/self/fd"]))).await;
    assert_eq!(stdout(&open), "0\n1\n2\n3\n", "3 is the folder itself");

    let echo = inside(&policy, Spawn::new("cat", [""; 0]));
    let input = Stdin::Bytes(b"text".to_vec());
    let both = vec![
        Spawn {
            stdin: input,
            ..echo.clone()
        },
        echo,
    ];
    let ended = run_pipeline(both, &CancellationToken::new())
        .await
        .expect("both start");
    assert_eq!(stdout(&ended[1]), "text");
}

#[tokio::test]
async fn a_stop_reaches_the_whole_tree_inside() {
    let policy = policy(&[], &[]);
    let script = "(setsid sleep 600 & echo $!); sleep 600 & echo $!; echo $$; trap '' TERM; wait";
    let mut spawn = inside(&policy, sh(script, &[]));
    spawn.deadline = Some(SECOND / 2);
    let finished = run(spawn).await;
    assert_eq!(finished.end, End::TimedOut(Some(Exit::Signal(9))));
    let processes: Vec<&str> = stdout(&finished).lines().collect();
    assert!(
        processes.len() == 3 && processes.iter().all(|pid| goes(pid)),
        "{processes:?}"
    );

    let polite = sh(
        "trap 'echo bye; exit 7' TERM; echo up; while :; do sleep 0.01; done",
        &[],
    );
    let cancel = CancellationToken::new();
    let spawn = Spawn {
        grace: MINUTE,
        ..inside(&policy, polite)
    };
    let mut child = start(spawn, &cancel).await;
    assert_eq!(lines(&mut child, 1).await, ["up"]);
    cancel.cancel();
    let finished = child.wait().await;
    assert_eq!(finished.end, End::Cancelled(Some(Exit::Code(7))));
    assert_eq!(stdout(&finished), "up\nbye\n");
}

#[tokio::test]
async fn a_fork_bomb_ends_with_its_deadline() {
    // Each process starts the next one and ends, so that the tree is never complete.
    let bomb = "f() { f & sleep 0.01; }; f; sleep 600";
    let mut spawn = inside(&policy(&[], &[]), sh(bomb, &[]));
    spawn.deadline = Some(SECOND / 5);
    let finished = run(spawn).await;
    assert_eq!(finished.end, End::TimedOut(Some(Exit::Signal(9))));
    assert!(!finished.pipe_held, "{finished:?}");
}

#[tokio::test]
async fn a_verified_program_runs_inside() {
    let (project, state_home) = (folder(), folder());
    let real = |folder: &tempfile::TempDir| folder.path().canonicalize().expect("it is there");
    let (project_path, state_path) = (real(&project), real(&state_home).join("state"));
    let state = StateDir::new(state_path.clone());
    let binary = project_path.join("binary");
    fs::copy("/bin/cat", &binary).expect("there is space");
    fs::write(project_path.join("text"), "beside\n").expect("it is ours");
    let text = "#!/bin/sh\ncat \"$(dirname \"$0\")/text\"\n";
    let script = script(&project_path, "script", text, 0o755);
    let policy = SandboxPolicy {
        hidden: vec![state.clone()],
        ..policy(&[&project_path], &[])
    };
    for (program, argument) in [(binary, "text"), (script, "")] {
        let digest = haft_process::regular_files::hash(&program).expect("it is readable");
        let argument = project_path.join(argument);
        let project = TrustedProject {
            root: &project_path,
            alias: None,
            state: &state,
            digest: &|_| None,
        };
        let program = VerifiedProgram::of_file(&project, &program, digest);
        let finished = run(inside(&policy, Spawn::new(program, [argument]))).await;
        assert_eq!(stdout(&finished), "beside\n", "{finished:?}");
    }
    // The folders of copies are read-only.
    let made = Command::new("chmod")
        .args(["-R", "u+w"])
        .arg(&state_path)
        .status();
    assert!(made.expect("chmod starts").success());
}

#[tokio::test]
async fn a_program_reaches_nothing_of_the_state_but_its_own_image() {
    let (home, state_home) = (folder(), folder());
    let state_path = state_home.path().canonicalize().expect("it is there");
    let state = StateDir::new(state_path.clone());
    let tokens = state.folder(StatePart::Tokens);
    let written = tokens.replace("a.json", b"token\n", Durability::Unsynced);
    written.expect("it is ours");
    let base = SandboxPolicy {
        hidden: vec![state.clone()],
        ..policy(&[home.path()], &[home.path()])
    };
    let sandbox = Sandbox::new(&base).expect("this kernel has what it needs");
    let is_hidden = !sandbox::available().namespaces.is_empty();
    // The script asks for the mode, the lock and the text of files, by its arguments.
    let attempt = "#!/bin/sh
        cat \"$1/text\" \"$2/text\" \"$3/tokens/a.json\" 2>/dev/null
        for path in \"$2\" \"$3/tokens\" \"$3/tokens/a.json\"; do
            flock -n \"$path\" true 2>/dev/null && echo locked
            chmod 777 \"$path\" 2>/dev/null && echo changed
        done
        cd \"$1\" && cat ../../tokens/a.json ../*/text 2>/dev/null; pwd";
    let home_path = home.path().canonicalize().expect("it is there");
    let project = TrustedProject {
        root: &home_path,
        alias: None,
        state: &state,
        digest: &|_| None,
    };
    let programs = ["own", "other"].map(|name| {
        let path = script(&home_path, name, attempt, 0o755);
        let digest = blake3::hash(attempt.as_bytes());
        VerifiedProgram::of_file(&project, &path, digest)
    });
    let images = programs.clone().map(|program| {
        let image = program.make_image().expect("it is ours");
        image.expect("a script has one")
    });
    for (image, name) in images.iter().zip(["own", "other"]) {
        fs::write(image.as_path().join("text"), format!("{name}\n")).expect("it is ours");
    }
    let arguments = [images[0].as_path(), images[1].as_path(), &state_path];
    let arguments = arguments.map(|path| path.display().to_string());
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    for _ in 0..2 {
        let spawn = Spawn {
            sandbox: Some(sandbox.clone()),
            cwd: Some(home.path().to_owned()),
            ..Spawn::new(programs[0].clone(), arguments.clone())
        };
        let finished = run(spawn).await;
        let changed = if is_hidden { "" } else { "changed\n" }.repeat(3);
        let expected = format!("own\n{changed}{}\n", images[0].as_path().display());
        assert_eq!(stdout(&finished), expected, "{finished:?}");
        let mode = |path: &Path| fs::metadata(path).expect("ours").permissions().mode() & 0o777;
        if is_hidden {
            assert_eq!(mode(images[1].as_path()), 0o700);
            assert_eq!(mode(&state_path.join("tokens/a.json")), 0o600);
        }
    }
    // Another program of the same sandbox has no image, and the working directory of its caller.
    let spawn = Spawn {
        sandbox: Some(sandbox),
        cwd: Some(home.path().to_owned()),
        ..sh("cat \"$1/text\" 2>/dev/null; pwd", &arguments[..1])
    };
    let finished = run(spawn).await;
    assert_eq!(stdout(&finished), format!("{}\n", home.path().display()));
}

#[tokio::test]
async fn what_is_granted_below_the_state_stays_visible() {
    let (home, state_home) = (folder(), folder());
    let outputs = state_home.path().join("outputs");
    fs::create_dir(&outputs).expect("it is ours");
    fs::write(outputs.join("long.txt"), "long\n").expect("it is ours");
    fs::write(state_home.path().join("one"), "one\n").expect("it is ours");
    let one = state_home.path().join("one");
    let base = SandboxPolicy {
        hidden: vec![StateDir::new(state_home.path().to_owned())],
        ..policy(&[&outputs, &one], &[home.path()])
    };
    let program = "cat \"$1/outputs/long.txt\" \"$1/one\"; ls \"$1\"; echo x >\"$1/outputs/x\"";
    let path = state_home.path().display().to_string();
    let finished = run(inside(&base, sh(program, &[&path]))).await;
    assert!(stdout(&finished).starts_with("long\none\n"), "{finished:?}");
    assert!(!outputs.join("x").exists());
}

#[tokio::test]
async fn a_program_of_the_list_needs_no_other_right() {
    let place = folder();
    let program = place.path().join("program");
    fs::copy("/bin/cat", &program).expect("there is space");
    let mut policy = policy(&[], &[]);
    policy.execute = Access::Paths(vec![granted(&program)]);
    let policy = policy.with_system_files();
    let finished = run(inside(
        &policy,
        Spawn::new(ChosenProgram::not_of_project(&program), ["/etc/passwd"]),
    ))
    .await;
    assert_eq!(finished.end, End::Exited(0), "{finished:?}");
    // Readable, but not in the list.
    let refused = refusal(inside(&policy, Spawn::new("/bin/cat", [""; 0]))).await;
    assert!(matches!(refused, SpawnError::Sandboxed { .. }), "{refused}");
}

// ---- Memory.

#[tokio::test]
async fn a_tree_that_uses_too_much_memory_is_killed() {
    // A child of the shell holds the memory.
    let hungry = "head -c 300000000 /dev/zero | tail -c 300000000 | cat >/dev/null";
    let mut spawn = inside(&policy(&[], &[]), sh(hungry, &[]));
    spawn.limits.memory = Some(64 << 20);
    spawn.deadline = Some(MINUTE);
    let finished = run(spawn).await;
    assert!(finished.exceeded.is_some(), "{finished:?}");
    assert!(!finished.end.was_stopped(), "{finished:?}");
}

/// Root can use a control group; this user cannot, so that the memory is measured.
#[test]
fn the_memory_of_an_unprivileged_user_is_limited_by_measuring() {
    as_nobody("sandbox::a_tree_that_uses_too_much_memory_is_killed");
}

#[tokio::test]
async fn memory_of_a_tree_is_measured() {
    let hungry = "echo $$; head -c 100000000 /dev/zero | tail -c 100000000 | sleep 600; :";
    let mut child = start(sh(hungry, &[]), &CancellationToken::new()).await;
    let pid = lines(&mut child, 1).await[0].parse().expect("a number");
    let used = sandbox::watch_memory(pid, 50_000_000).await;
    assert!(used > 50_000_000, "{used}");
    assert_eq!(child.wait().await.end, End::Signaled(9));
    assert_eq!(sandbox::tree_memory(pid), 0);
}

// ---- The temporary folder.

#[test]
fn the_temporary_folder_is_private_and_ends_with_its_sandbox() {
    arena::alone(
        "sandbox::the_temporary_folder_is_private_and_ends_with_its_sandbox",
        private_tmp,
    );
}

async fn private_tmp(arena: &Arena) {
    // What a killed process leaves behind, and what a running one uses.
    let left = env::temp_dir().join(format!("haft-tmp-left-{}", std::process::id()));
    let used = env::temp_dir().join(format!("haft-tmp-used-{}", std::process::id()));
    fs::create_dir_all(left.join("below")).expect("it is new");
    fs::create_dir(&used).expect("it is new");
    let lock = File::open(&used).expect("it is there");
    lock.lock().expect("it is ours");

    let policy = SandboxPolicy {
        private_tmp: true,
        ..policy(&[arena.folder()], &[])
    };
    let script =
        "echo text >\"$TMPDIR/file\"; cat \"$TMP/file\"; stat -c %a \"$TEMP\"; echo \"$TMPDIR\"";
    let spawn = inside(&policy, sh(script, &[]));
    let sandbox = spawn.sandbox.clone().expect("it was set");
    let path = sandbox.tmp().expect("the policy asks for it").to_owned();
    assert_eq!(
        stdout(&run(spawn).await),
        format!("text\n700\n{}\n", path.display())
    );
    assert!(path.join("file").exists());
    drop(sandbox);
    assert!(!path.exists());

    // A running program keeps it.
    let spawn = inside(
        &policy,
        sh(
            "echo \"$TMPDIR\"; read -r line; echo >\"$TMPDIR/file\"",
            &[],
        ),
    );
    let spawn = Spawn {
        stdin: Stdin::Open,
        ..spawn
    };
    let mut child = start(spawn, &CancellationToken::new()).await;
    let path = lines(&mut child, 1).await.remove(0);
    child.write(b"go\n").await.expect("it reads");
    assert_eq!(child.wait().await.end, End::Exited(0));
    assert!(!Path::new(&path).exists());
    assert!(!left.exists() && used.exists());
    fs::remove_dir(used).expect("it is ours");
}

// ---- The own process.

/// Environment variable with the file that the restricted process may not read.
const RESTRICTED: &str = "HAFT_TEST_RESTRICTED";

/// Restricts this process if the environment asks for it; without that nothing.
#[test]
fn restrict() {
    let Some(path) = env::var_os(RESTRICTED) else {
        return;
    };
    let policy = SandboxPolicy {
        private_tmp: true,
        ..policy(&[], &[])
    };
    // The test runner has a thread of its own.
    let refused = sandbox::restrict_current_process(&policy);
    assert!(matches!(refused, Err(SandboxError::Threads)), "{refused:?}");
    let read = move || File::open(&path).map(drop).map_err(|error| error.kind());
    assert_eq!(read(), Ok(()));
    #[allow(
        unsafe_code,
        reason = "a process with one thread, in which the test can go on"
    )]
    // SAFETY: the only other thread waits for this one, so that it holds no lock.
    let forked = unsafe { nix::unistd::fork() };
    if let nix::unistd::ForkResult::Parent { child } = forked.expect("there is memory") {
        let status = nix::sys::wait::waitpid(child, None).expect("it is ours");
        assert_eq!(status, nix::sys::wait::WaitStatus::Exited(child, 7));
        return;
    }
    let sandbox = sandbox::restrict_current_process(&policy).expect("the kernel has it");
    assert_eq!(read(), Err(io::ErrorKind::PermissionDenied));
    let in_a_thread = std::thread::spawn(read).join().expect("it does not panic");
    assert_eq!(in_a_thread, Err(io::ErrorKind::PermissionDenied));
    let tmp = sandbox.tmp().expect("the policy asks for it");
    fs::write(tmp.join("file"), "text").expect("it is allowed");
    assert!(std::net::TcpListener::bind("127.0.0.1:0").is_err());
    drop(sandbox);
    std::process::exit(7);
}

#[test]
fn a_process_can_restrict_itself() {
    let place = folder();
    let path = place.path().join("secret");
    fs::write(&path, "secret").expect("it is ours");
    let ended = Command::new(env::current_exe().expect("Linux"))
        .args(["--exact", "sandbox::restrict", "--nocapture"])
        .env(RESTRICTED, &path)
        .output()
        .expect("this program starts");
    let text = String::from_utf8_lossy(&ended.stdout).into_owned();
    let errors = String::from_utf8_lossy(&ended.stderr);
    assert!(
        ended.status.success() && text.contains("1 passed"),
        "{text}{errors}"
    );
}

/// Variable that is set in the process of its own of the test below.
const FIRST: &str = "HAFT_TEST_FIRST_SANDBOX";

/// The first sandbox of a process has a network, and those after it have none or have one.
#[tokio::test]
async fn sandboxes_with_and_without_a_network_follow_each_other() {
    if env::var_os(FIRST).is_none() {
        let name = "sandbox::sandboxes_with_and_without_a_network_follow_each_other";
        let ended = Command::new(env::current_exe().expect("Linux"))
            .args(["--exact", name])
            .env(FIRST, "1")
            .output()
            .expect("this program");
        let said = String::from_utf8_lossy(&ended.stdout);
        assert!(
            ended.status.success() && said.contains("1 passed"),
            "{said}"
        );
        return;
    }
    for net in [Net::All, Net::None, Net::All, Net::None] {
        let policy = SandboxPolicy {
            net: net.clone(),
            ..policy(&[], &[]).with_system_files()
        };
        let sandbox = Sandbox::new(&policy).expect("the kernel has it");
        let mut spawn = sh("exit 7", &[]);
        spawn.sandbox = Some(sandbox);
        assert_eq!(run(spawn).await.end, End::Exited(7), "{net:?}");
    }
}
