//! Programs of a trusted project: which bytes start, and what a command or a first line may start.

use std::collections::HashMap;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use haft_process::{
    ChosenProgram, CommandWord, Environment, Finished, NotVerified, Spawn, SpawnError, StateDir,
    TrustedProject, VerifiedProgram, Wrapper, project_files,
};
use tempfile::TempDir;
use tokio::runtime::Runtime;
use tokio_util::sync::CancellationToken;

/// A trusted project with its files.
struct Project {
    folder: TempDir,
    digests: HashMap<PathBuf, blake3::Hash>,
    runtime: Runtime,
}

impl Project {
    fn new() -> Project {
        let folder = tempfile::tempdir().expect("a folder");
        fs::create_dir(folder.path().join("p")).expect("a folder of ours");
        Project {
            folder,
            digests: HashMap::new(),
            runtime: Runtime::new().expect("a runtime"),
        }
    }

    fn root(&self) -> PathBuf {
        let root = self.folder.path().canonicalize();
        root.expect("a folder of ours").join("p")
    }

    /// Writes a file that is not trusted.
    fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.root().join(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder of ours");
        fs::write(&path, text).expect("a file of ours");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("a file of ours");
        path
    }

    /// Writes a file that is trusted.
    fn trust(&mut self, name: &str, text: &str) -> PathBuf {
        let path = self.write(name, text);
        self.digests
            .insert(path.clone(), blake3::hash(text.as_bytes()));
        path
    }

    fn with<T>(&self, make: impl FnOnce(&TrustedProject<'_>) -> T) -> T {
        let state = StateDir::new(self.root().with_file_name("state"));
        make(&TrustedProject {
            root: &self.root(),
            alias: None,
            state: &state,
            digest: &|path| self.digests.get(path).copied(),
        })
    }

    fn command(&self, words: &[&str]) -> Result<VerifiedProgram, NotVerified> {
        let words = words
            .iter()
            .map(|word| CommandWord::Code((*word).to_owned()));
        let words: Vec<CommandWord> = words.collect();
        self.with(|project| VerifiedProgram::of_command(project, &self.root(), &words))
    }

    fn executable(&self, path: &Path) -> VerifiedProgram {
        let digest = self.digests[path];
        self.with(|project| VerifiedProgram::of_file(project, path, digest))
    }

    fn start(&self, program: VerifiedProgram, path: &str) -> Result<Finished, SpawnError> {
        let spawn = Spawn {
            cwd: Some(self.root()),
            env: Environment::explicit([("PATH", path)]),
            ..Spawn::new(program, [""; 0])
        };
        let never = CancellationToken::new();
        self.runtime.block_on(spawn.run(&never))
    }

    fn output(&self, words: &[&str]) -> String {
        let program = self.command(words).expect("its files are trusted");
        let finished = self.start(program, SYSTEM).expect("it starts");
        format!("{}{}", finished.stdout.text(), finished.stderr.text())
    }
}

const SYSTEM: &str = "/usr/bin:/bin";

fn refusal(result: Result<Finished, SpawnError>) -> String {
    match result {
        Ok(finished) => panic!("it ran: {}", finished.stdout.text()),
        Err(error) => error.to_string(),
    }
}

/// Whatever may start more than the interpreter with the script is refused.
#[test]
fn first_lines_that_are_not_understood_start_nothing() {
    let mut project = Project::new();
    project.write("bin/i", "#!/bin/sh\necho RAN\n");
    project.write("Makefile", "all description:\n\t@echo RAN\n");
    project.write("tool.py", "print('RAN')\n");
    project.write("description", "echo RAN\n");
    let root = project.root().display().to_string();
    let long = format!("/bin/sh {}", "-e".repeat(150));
    let through_link = project.folder.path().join("link");
    symlink(project.root().join("bin"), &through_link).expect("a folder of ours");
    for line in [
        "/usr/bin/env -S PATH=./bin:/bin i",
        "/usr/bin/env -S -i PATH=./bin i",
        "/usr/bin/env -S bash -c ./bin/i",
        "/usr/bin/env -S bash ./bin/i",
        "/usr/bin/env -S \"bash\" bin/i",
        "/usr/bin/env -S 'bin/i'",
        "/usr/bin/env -S bin/i",
        "/usr/bin/env -S env bash",
        "/usr/bin/env -S -u HOME bash",
        "/usr/bin/env -S -C bin ./i",
        "/usr/bin/env -S --chdir=bin ./i",
        "/usr/bin/env --split-string=bash",
        "/usr/bin/env -vS bash",
        "/usr/bin/env -i",
        "/usr/bin/env -",
        "/usr/bin/env A=b",
        "/usr/bin/env env",
        "/usr/bin/env ./bin/i",
        "/usr/bin/env bash -e",
        "/usr/bin/env -S python3 -m tool",
        "/usr/bin/env -S python3 -mtool",
        "/usr/bin/env -S sh -s",
        "/usr/bin/env -S make -C .",
        "/usr/bin/env -S xargs -a bin/i sh",
        "/usr/bin/env make",
        "/usr/bin/env\t-S\tsh\tbin/i",
        "/usr/bin/../bin/env -S bin/i",
        "/bin/sh bin/i",
        "/bin/sh -c",
        "/bin/sh -o",
        "/bin/sh -ebin/i",
        "/bin/bash --rcfile",
        "/bin/bash --init-file=bin/i",
        "/bin/bash -O",
        "/bin/sh -e -u",
        "/usr/bin/python3 -mtool",
        "/usr/bin/python3 tool.py",
        "/usr/bin/python3 -W",
        "/usr/bin/perl -Ilib",
        "/usr/bin/perl -Mtool",
        "/usr/bin/make",
        "/usr/bin/make -fMakefile",
        "/usr/bin/nice",
        "/usr/bin/timeout 5",
        "/usr/bin/awk",
        "/usr/bin/awk -fbin/i",
        "/usr/bin/sed -f bin/i",
        "/lib64/ld-linux-x86-64.so.2 bin/i",
        "/proc/self/cwd/bin/i",
        "/proc/self/exe",
        "bin/i",
        "./bin/i",
        "/no/such/interpreter",
        "",
        " ",
        "/bin/sh\u{0}",
        "/bin/sh\u{1}",
        &long,
        &format!("{root}/bin/i"),
        &format!("{root}/../p/bin/i"),
        &format!("/usr/bin/env {root}/bin/i"),
        &format!("{}/i", through_link.display()),
    ] {
        let tool = project.trust("t", &format!("#!{line}\necho RAN\n"));
        let result = project.start(project.executable(&tool), SYSTEM);
        let text = refusal(result);
        assert!(
            text.contains("its interpreter") || text.contains("its first line"),
            "{line}: {text}"
        );
    }
}

/// A name on the path that is found in the project is refused as well.
#[test]
fn an_interpreter_is_not_looked_up_in_the_project() {
    let mut project = Project::new();
    project.write("bin/sh", "#!/bin/sh\necho RAN\n");
    let tool = project.trust("t", "#!/usr/bin/env sh\necho RAN\n");
    let path = format!("{}/bin:{SYSTEM}", project.root().display());
    let text = refusal(project.start(project.executable(&tool), &path));
    assert!(text.contains("lies in the project"), "{text}");
}

#[test]
fn common_first_lines_start_their_interpreter() {
    let mut project = Project::new();
    for line in [
        "/bin/sh",
        " /bin/sh",
        "/bin/sh ",
        "/bin/sh -e",
        "/bin/sh\t-eu",
        "/bin/bash --norc",
        "/usr/bin/env sh",
        "/usr/bin/env bash",
        "/usr/bin/env  bash ",
        "/usr/bin/env /bin/sh",
        "/usr/bin/env -S bash -eu",
        "/usr/bin/env -S bash --norc -e",
    ] {
        let tool = project.trust("t", &format!("#!{line}\necho ran\n"));
        let finished = project.start(project.executable(&tool), SYSTEM);
        let finished = finished.unwrap_or_else(|error| panic!("{line}: {error}"));
        assert_eq!(finished.stdout.text(), "ran\n", "{line}");
    }
    let others = [
        ("/usr/bin/env -S make -f", "description:\n\t@echo ran\n"),
        ("/usr/bin/make -f", "description:\n\t@echo ran\n"),
        ("/usr/bin/sed -nf", "s/.*/ran/p\n"),
        ("/usr/bin/awk -f", "BEGIN { print \"ran\" }\n"),
        ("/usr/bin/perl -w", "print \"ran\\n\";\n"),
        ("/usr/bin/env python3", "print('ran')\n"),
        ("/usr/bin/env -S python3 -Es", "print('ran')\n"),
    ];
    for (line, text) in others {
        let program = line.split(['/', ' ']).rfind(|word| !word.starts_with('-'));
        if !program.is_some_and(haft_process::is_installed) {
            continue;
        }
        let tool = project.trust("t", &format!("#!{line}\n{text}"));
        let spawn = Spawn {
            cwd: Some(project.root()),
            stdin: haft_process::Stdin::Bytes(b"x\n".to_vec()),
            ..Spawn::new(
                project.executable(&tool),
                if line.contains("make") {
                    vec!["description"]
                } else {
                    Vec::new()
                },
            )
        };
        let finished = project
            .runtime
            .block_on(spawn.run(&CancellationToken::new()));
        let finished = finished.unwrap_or_else(|error| panic!("{line}: {error}"));
        assert_eq!(
            finished.stdout.text(),
            "ran\n",
            "{line}: {}",
            finished.stderr.text()
        );
    }
}

/// The kernel starts the loader that a program names in its place.
#[test]
fn a_loader_of_the_project_is_not_started() {
    let mut project = Project::new();
    let bytes = fs::read("/bin/true").expect("a program");
    let Some(at) = bytes.windows(6).position(|part| part == b"/lib64") else {
        return;
    };
    let tool = project.trust("t", "");
    let mut changed = bytes;
    changed[at..at + 6].copy_from_slice(b"./ld\0\0");
    fs::write(&tool, &changed).expect("a file of ours");
    project.digests.insert(tool.clone(), blake3::hash(&changed));
    let text = refusal(project.start(project.executable(&tool), SYSTEM));
    assert!(text.contains("`./ld` is not an absolute path"), "{text}");
}

/// Each form in which a command names a file gets the verified copy of it.
#[test]
fn words_that_name_a_file_run_its_verified_bytes() {
    let mut project = Project::new();
    project.trust("a.sh", "echo ran $0 \"$@\"\n");
    project.trust("sub/b", "#!/bin/sh\necho ran $0 \"$@\"\n");
    let root = project.root().display().to_string();
    for words in [
        &["sh", "a.sh"][..],
        &["sh", "./a.sh"],
        &["sh", "sub/../a.sh"],
        &["sh", &format!("{root}/a.sh")],
        &["./sub/b"],
        &["sub/b", "x"],
        &["env", "sub/b"],
        &["env", "A=b", "sh", "a.sh"],
        &["sh", "-c", "sh a.sh"],
        &["sh", "-c", "true && ./sub/b; exit"],
        &["sh", "-c", "sh './a.sh'"],
        &["bash", "-c", "source a.sh"],
    ] {
        let text = project.output(words);
        assert!(text.starts_with("ran "), "{words:?}: {text}");
        assert!(!text.contains(&root), "{words:?}: {text}");
    }
    // What is no file of the project stays as it is.
    for (words, expected) in [
        (
            &["echo", "a", "sub", "no.sh", "--x=y"][..],
            "a sub no.sh --x=y\n",
        ),
        (&["echo", "-n", "A B"][..], "A B"),
        (&["sh", "-c", "echo \"$0\" $1", "x y", "z"][..], "x y z\n"),
    ] {
        assert_eq!(project.output(words), expected);
    }
}

#[test]
fn variables_of_a_command_name_verified_files_too() {
    let mut project = Project::new();
    project.trust("env.sh", "echo ran\n");
    let words = [
        CommandWord::Code("bash".into()),
        CommandWord::Data("-c".into()),
        CommandWord::Data(":".into()),
    ];
    let program = project.with(|trusted| {
        let mut program = VerifiedProgram::of_command(trusted, trusted.root, &words)?;
        let file = CommandWord::Code("./env.sh".to_owned());
        program.set_variable(trusted, "BASH_ENV", &file)?;
        Ok::<_, NotVerified>(program)
    });
    let program = program.expect("its file is trusted");
    fs::write(project.root().join("env.sh"), "echo EVIL\n").expect("a file of ours");
    let text = refusal(project.start(program, SYSTEM));
    assert!(text.contains("changed since you trusted it"), "{text}");
}

/// Files that were not trusted are refused when the command is read, and again when it starts.
#[test]
fn words_that_name_another_file_start_nothing() {
    let mut project = Project::new();
    project.trust("a.sh", "echo RAN\n");
    project.write("evil.sh", "echo RAN\n");
    project.write("bin/tool", "#!/bin/sh\necho RAN\n");
    fs::write(project.folder.path().join("outside.sh"), "echo OUTSIDE\n").expect("a file of ours");
    symlink("../outside.sh", project.root().join("out.sh")).expect("a file of ours");
    symlink("evil.sh", project.root().join("in.sh")).expect("a file of ours");
    for words in [
        &["sh", "evil.sh"][..],
        &["sh", "./evil.sh"],
        &["sh", "in.sh"],
        &["sh", "out.sh"],
        &["sh", "-c", "sh evil.sh"],
        &["sh", "--x=evil.sh"],
        &["sh", "-revil.sh"],
        &["bin/tool"],
        &["env", "bin/tool"],
        &["sh", "a.sh", "evil.sh"],
    ] {
        let error = project.command(words).err();
        assert!(
            matches!(
                error,
                Some(NotVerified::Unlisted(_) | NotVerified::LeadsOut(_))
            ),
            "{words:?}: {error:?}"
        );
    }
    let late = project
        .command(&["sh", "late.sh"])
        .expect("it names no file");
    project.write("late.sh", "echo RAN\n");
    let text = refusal(project.start(late, SYSTEM));
    assert!(text.contains("is not part of what was trusted"), "{text}");

    // A name is looked up, but not in the project.
    let named = project.command(&["tool"]).expect("it is a name");
    let path = format!("{}/bin:{SYSTEM}", project.root().display());
    let text = refusal(project.start(named.clone(), &path));
    assert!(text.contains("is found in the project"), "{text}");
    let text = refusal(project.start(named, "bin"));
    assert!(text.contains("is found in the project"), "{text}");

    // A trusted file that becomes a link to another one.
    let program = project.command(&["sh", "a.sh"]).expect("it is trusted");
    fs::remove_file(project.root().join("a.sh")).expect("a file of ours");
    let text = refusal(project.start(program.clone(), SYSTEM));
    assert!(text.contains("No such file"), "{text}");
    symlink("../outside.sh", project.root().join("a.sh")).expect("a file of ours");
    let text = refusal(project.start(program, SYSTEM));
    assert!(text.contains("changed since you trusted it"), "{text}");
}

/// The files of a command are swapped continuously: their trusted bytes run, or none.
#[test]
fn a_race_over_the_files_of_a_command_is_never_won() {
    let mut project = Project::new();
    let good = "echo good\n";
    project.trust("a.sh", good);
    project.trust("b", "#!/bin/sh\necho good\n");
    let commands: [&[&str]; 4] = [
        &["sh", "a.sh"],
        &["sh", "-c", "sh a.sh"],
        &["./b"],
        &["env", "./b"],
    ];
    let programs: Vec<VerifiedProgram> = commands
        .iter()
        .map(|words| project.command(words).expect("its files are trusted"))
        .collect();
    let stop = AtomicBool::new(false);
    let root = project.root();
    thread::scope(|scope| {
        scope.spawn(|| {
            let swap = |name: &str, text: &str| {
                let fresh = root.join("fresh");
                fs::write(&fresh, text).expect("a file of ours");
                fs::set_permissions(&fresh, fs::Permissions::from_mode(0o755))
                    .expect("a file of ours");
                fs::rename(&fresh, root.join(name)).expect("a file of ours");
            };
            while !stop.load(Ordering::Relaxed) {
                swap("a.sh", "echo EVIL\n");
                swap("b", "#!/bin/sh\necho EVIL\n");
                swap("a.sh", good);
                swap("b", "#!/bin/sh\necho good\n");
            }
        });
        for round in 0..200 {
            let program = programs[round % programs.len()].clone();
            if let Ok(finished) = project.start(program, SYSTEM) {
                assert_eq!(
                    finished.stdout.text(),
                    "good\n",
                    "{}",
                    finished.stderr.text()
                );
            }
        }
        stop.store(true, Ordering::Relaxed);
    });
}

/// A wrapper of haft's own starts the verified copy.
#[test]
fn a_wrapper_starts_the_verified_program() {
    let mut project = Project::new();
    project.trust("t", "#!/bin/sh\necho ran $0 \"$@\"\n");
    let wrapper = Wrapper {
        name: "env",
        finds_program: true,
    };
    let start = |words: &[&str]| {
        let program = project.command(words).expect("its files are trusted");
        let spawn = Spawn {
            cwd: Some(project.root()),
            env: Environment::explicit([("PATH", SYSTEM)]),
            ..Spawn::new(program, ["last"])
        };
        let spawn = spawn.behind(&wrapper, &["A=b"]);
        let finished = project
            .runtime
            .block_on(spawn.run(&CancellationToken::new()));
        finished.map(|finished| finished.stdout.text())
    };
    let text = start(&["./t", "x"]).expect("it starts");
    assert!(
        text.starts_with("ran ") && text.ends_with(" x last\n"),
        "{text}"
    );
    assert!(
        !text.contains(&project.root().display().to_string()),
        "{text}"
    );
    assert_eq!(start(&["echo", "x"]).expect("it starts"), "x last\n");
    project.write("t", "#!/bin/sh\necho EVIL\n");
    assert!(start(&["./t"]).is_err());
}

/// The files that a project's commands name belong to those that the user trusts.
#[test]
fn the_files_that_a_command_names_are_found() {
    let project = Project::new();
    for name in ["a.sh", "sub/b.mjs", "c"] {
        project.write(name, "");
    }
    let words = ["./c", "--import=./sub/b.mjs", "x; sh a.sh", "no.sh", "sub"];
    let words = words.map(|word| CommandWord::Code(word.to_owned()));
    let mut found = project_files(&project.root(), &project.root(), &words);
    found.sort();
    let expected = ["a.sh", "c", "sub/b.mjs"].map(|name| project.root().join(name));
    assert_eq!(found, expected);
    let data = words.map(|word| CommandWord::Data(word.text().to_owned()));
    assert!(project_files(&project.root(), &project.root(), &data).is_empty());
}

/// A program of the user is started by its path, whatever its bytes are.
#[test]
fn a_program_of_the_user_is_not_compared() {
    let project = Project::new();
    let path = project.write("t", "#!/usr/bin/env -S sh -e\necho ran\n");
    let spawn = Spawn::new(ChosenProgram::not_of_project(path), [""; 0]);
    let finished = project
        .runtime
        .block_on(spawn.run(&CancellationToken::new()));
    assert_eq!(finished.expect("it starts").stdout.text(), "ran\n");
}

/// A database, a log or an output file changes at each use.
#[test]
fn arguments_that_name_data_may_change_and_those_that_name_code_may_not() {
    let mut project = Project::new();
    project.trust("run.sh", "#!/bin/sh\ncat \"$1\"\n");
    project.write("program", "echo RAN\n");
    let data = project.root().join("data.txt");
    let command = |argument: CommandWord| {
        let words = [
            CommandWord::Code("/bin/sh".to_owned()),
            CommandWord::Code("run.sh".to_owned()),
            argument,
        ];
        project.with(|trusted| VerifiedProgram::of_command(trusted, &project.root(), &words))
    };
    let argument = |text: &str| CommandWord::Argument(text.to_owned());
    let reads = command(argument("data.txt")).expect("data is not verified");
    for text in ["one", "two"] {
        fs::write(&data, text).expect("a file of ours");
        let finished = project.start(reads.clone(), SYSTEM).expect("it starts");
        assert_eq!(finished.stdout.text(), text);
    }
    for name in ["hook.mjs", "Makefile", "rules.MK"] {
        fs::write(project.root().join(name), "").expect("a file of ours");
    }
    for word in [
        argument("hook.mjs"),
        argument("--import=./hook.mjs"),
        argument("-r./hook.mjs"),
        argument("a,program"),
        argument("--justfile=Makefile"),
        argument("rules.MK"),
        CommandWord::Code("data.txt".to_owned()),
        argument("./program"),
    ] {
        let refused = command(word.clone());
        assert!(
            matches!(refused, Err(NotVerified::Unlisted(_))),
            "{word:?}: {refused:?}"
        );
    }
}
