//! Executables of trusted projects that change after the grant: only the trusted bytes run.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use crate::sandbox::{Ran, Sandbox};
use crate::served::{Reply, Served};

/// Returns a Kodelet tool that prints `word`, and leaves a trace if that is `EVIL`.
fn tool(interpreter: &str, word: &str) -> String {
    format!(
        "#!{interpreter}\n[ {word} = EVIL ] && echo ran >> \"$HOME/trace\"\n\
         case $1 in\n\
         description) echo '{{\"name\":\"t\",\"description\":\"d\",\"input_schema\":{{\"type\":\"object\"}}}}';;\n\
         run) cat > /dev/null; echo {word};;\nesac\n"
    )
}

fn put(path: &Path, text: &str) {
    fs::write(path, text).expect("a file of ours");
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).expect("a file of ours");
}

struct Project(Sandbox);

impl Project {
    /// Makes a trusted project with one executable.
    fn trusted(text: &str) -> Project {
        let sandbox = Sandbox::with_home();
        let tool = sandbox.write("p/kodelet-tools/t", "");
        put(&tool, text);
        let project = Project(sandbox);
        let ran = project.0.sh("haft trust p --yes");
        assert_eq!(ran.code, 0, "{}", ran.output);
        project
    }

    fn tool(&self) -> PathBuf {
        self.0.path().join("p/kodelet-tools/t")
    }

    fn call(&self) -> Ran {
        self.0.sh("haft --cwd p call t --json")
    }

    fn serve(&self, arguments: &[&str]) -> Served {
        let mut haft = self.0.haft();
        haft.args(["--cwd", "p", "serve", "rest", "--listen", "127.0.0.1:0"]);
        let served = Served::start(haft.args(arguments));
        served.get("/api/catalog");
        served
    }

    fn trace(&self) -> bool {
        self.0.path().join("home/trace").exists()
    }
}

fn called(served: &Served) -> Reply {
    served.post("/api/tools/custom_tool_t/call", "{}")
}

const CHANGED: &str = "changed since you trusted it: kodelet-tools/t (changed)";

/// Returns a path outside of the tools folder, where the file would be a new tool of the same name.
fn outside(tool: &Path) -> PathBuf {
    tool.ancestors()
        .nth(2)
        .expect("the project")
        .join("outside")
}

#[test]
fn a_replaced_executable_of_a_served_project_never_runs() {
    let ways: [fn(&Path, &str); 3] = [
        |path, text| fs::write(path, text).expect("a file of ours"),
        |path, text| {
            let fresh = outside(path);
            put(&fresh, text);
            fs::rename(fresh, path).expect("a file of ours");
        },
        |path, text| {
            let elsewhere = outside(path);
            put(&elsewhere, text);
            // In one step: a scan between two would see that the file is gone.
            let link = elsewhere.with_extension("link");
            symlink(&elsewhere, &link).expect("a folder of ours");
            fs::rename(link, path).expect("a file of ours");
        },
    ];
    let cases: [(&[&str], bool); 3] = [(&[], false), (&[], true), (&["--no-watch"], false)];
    for (arguments, lock) in cases {
        for way in ways {
            let project = Project::trusted(&tool("/bin/sh", "good"));
            if lock {
                project.0.write("p/.git/index.lock", "");
            }
            let served = project.serve(arguments);
            let reply = called(&served);
            assert!(reply.body.contains("good"), "{}", reply.body);
            way(&project.tool(), &tool("/bin/sh", "EVIL"));
            for _ in 0..5 {
                let reply = called(&served);
                assert_ne!(reply.status, 200, "{}", reply.body);
                assert!(
                    reply.body.contains(CHANGED) || reply.status == 404,
                    "{}",
                    reply.body
                );
            }
            assert!(!project.trace());
        }
    }
}

/// Two files are swapped continuously: a call runs the trusted one, or none.
#[test]
fn a_race_of_renames_is_never_won() {
    for interpreter in ["/bin/sh", "/usr/bin/env bash"] {
        let good = tool(interpreter, "good");
        let project = Project::trusted(&good);
        let served = project.serve(&["--no-watch"]);
        let (path, stop) = (project.tool(), Arc::new(AtomicBool::new(false)));
        let until = stop.clone();
        let evil = tool(interpreter, "EVIL");
        let swapper = thread::spawn(move || {
            let fresh = path.with_extension("new");
            while !until.load(Ordering::Relaxed) {
                for text in [&evil, &good] {
                    put(&fresh, text);
                    fs::rename(&fresh, &path).expect("a file of ours");
                }
            }
        });
        let (mut ran, mut refused) = (0, 0);
        for _ in 0..300 {
            let reply = called(&served);
            if reply.body.contains("good") {
                ran += 1
            } else {
                refused += 1
            }
            assert!(!reply.body.contains("EVIL"), "{}", reply.body);
        }
        stop.store(true, Ordering::Relaxed);
        swapper.join().expect("it swaps");
        assert!(!project.trace(), "{ran} ran, {refused} were refused");
        assert_eq!(ran + refused, 300);
    }
}

/// The same with a program of the machine, which the kernel reads itself.
#[test]
fn a_race_over_a_program_is_never_won() {
    // `env` prints its variables, `true` nothing.
    let project = Project::trusted(&tool("/bin/sh", "good"));
    let find = |name: &str| {
        let ran = project.0.sh(&format!("command -v {name}"));
        PathBuf::from(ran.output.trim())
    };
    let (good, evil) = (find("cat"), find("env"));
    let path = project.0.path().join("p/kodelet-tools/t");
    let finished = |expected: bool| {
        let copy = |from: &Path| {
            let fresh = path.with_extension("new");
            fs::copy(from, &fresh).expect("a file of ours");
            fs::rename(&fresh, &path).expect("a file of ours");
        };
        copy(if expected { &good } else { &evil });
    };
    finished(true);
    let digest = blake3::hash(&fs::read(&good).expect("a program"));
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let root = project.0.path().join("p");
    let state = haft_process::StateDir::new(project.0.path().join("state"));
    let trusted = haft_process::TrustedProject {
        root: &root,
        alias: None,
        state: &state,
        digest: &|_| None,
    };
    let verified = haft_process::VerifiedProgram::of_file(&trusted, &path, digest);
    let stop = Arc::new(AtomicBool::new(false));
    thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                finished(false);
                finished(true);
            }
        });
        let mut ran = 0;
        for _ in 0..200 {
            let spawn = haft_process::Spawn {
                stdin: haft_process::Stdin::Bytes(b"from cat".to_vec()),
                ..haft_process::Spawn::new(verified.clone(), [""; 0])
            };
            let never = tokio_util::sync::CancellationToken::new();
            if let Ok(finished) = runtime.block_on(spawn.run(&never)) {
                assert_eq!(finished.stdout.text(), "from cat");
                ran += 1;
            }
        }
        stop.store(true, Ordering::Relaxed);
        assert!(ran <= 200);
    });
    finished(true);
    let spawn = haft_process::Spawn {
        stdin: haft_process::Stdin::Bytes(b"again".to_vec()),
        ..haft_process::Spawn::new(verified, [""; 0])
    };
    let never = tokio_util::sync::CancellationToken::new();
    let finished = runtime
        .block_on(spawn.run(&never))
        .expect("it is what was trusted");
    assert_eq!(finished.stdout.text(), "again");
}

/// A writer that has the file open, or opens it during verification, does not change the running
/// code.
#[test]
fn a_race_of_writes_in_place_is_never_won() {
    let good = tool("/bin/sh", "good");
    let project = Project::trusted(&good);
    let served = project.serve(&["--no-watch"]);
    let (path, stop) = (project.tool(), Arc::new(AtomicBool::new(false)));
    let until = stop.clone();
    let evil = tool("/bin/sh", "EVIL");
    let writer = thread::spawn(move || {
        while !until.load(Ordering::Relaxed) {
            for text in [&evil, &good] {
                fs::write(&path, text).expect("a file of ours");
            }
        }
    });
    for _ in 0..300 {
        let reply = called(&served);
        assert!(!reply.body.contains("EVIL"), "{}", reply.body);
    }
    stop.store(true, Ordering::Relaxed);
    writer.join().expect("it writes");
    assert!(!project.trace());
}

#[test]
fn a_new_process_refuses_a_changed_executable_with_its_name() {
    let project = Project::trusted(&tool("/bin/sh", "good"));
    assert!(project.call().output.contains("good"));
    put(&project.tool(), &tool("/bin/sh", "EVIL"));
    let ran = project.0.sh("haft --cwd p call custom_tool_t");
    assert_eq!(ran.code, 4, "{}", ran.output);
    assert!(ran.output.contains(CHANGED), "{}", ran.output);
    assert!(!project.trace());
    put(&project.tool(), &tool("/bin/sh", "good"));
    assert!(project.call().output.contains("good"));
}

/// Scripts find files beside them by their own path, in every way that authors use.
#[test]
fn scripts_find_files_beside_them() {
    let describe = "if [ \"$1\" = description ]; then echo '{\"name\":\"t\",\"description\":\"d\",\
                    \"input_schema\":{\"type\":\"object\"}}'; exit; fi\ncat > /dev/null\n";
    let shell: &[(&str, &str, &str)] = &[
        (
            "/bin/sh",
            "dirname",
            ". \"$(dirname \"$0\")/lib.sh\"; word\n",
        ),
        (
            "/bin/sh",
            "cd",
            "cd \"$(dirname \"$0\")\" && . ./lib.sh; word\n",
        ),
        (
            "/bin/bash",
            "source",
            ". \"${BASH_SOURCE[0]%/*}/lib.sh\"; word\n",
        ),
        (
            "/usr/bin/env bash",
            "readlink",
            ". \"$(dirname \"$(readlink -f \"$0\")\")/lib.sh\"; word\n",
        ),
        (
            "/usr/bin/env -S bash -u",
            "above",
            "cat \"$(dirname \"$0\")/../data.txt\"\n",
        ),
        (
            "/bin/sh -e",
            "above by cd",
            "cd \"$(dirname \"$0\")/..\"; cat data.txt\n",
        ),
        (
            "/bin/sh",
            "name",
            "[ \"$(basename \"$0\")\" = t ] && cat data.txt\n",
        ),
        ("/bin/sh", "working directory", "cat data.txt\n"),
    ];
    let mut cases: Vec<(String, String)> = shell
        .iter()
        .map(|(interpreter, name, rest)| {
            (
                (*name).to_owned(),
                format!("#!{interpreter}\n{describe}{rest}"),
            )
        })
        .collect();
    let python = "import sys, json, os\nif sys.argv[1] == 'description':\n    \
                  print(json.dumps({'name': 't', 'description': 'd', 'input_schema': {'type': 'object'}}))\n    \
                  sys.exit()\nsys.stdin.read()\n";
    for (name, rest) in [
        ("python import", "import lib\nprint(lib.word)\n"),
        (
            "python file",
            "print(open(os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'data.txt')).read())\n",
        ),
    ] {
        cases.push((
            name.into(),
            format!("#!/usr/bin/env python3\n{python}{rest}"),
        ));
    }
    let node = "#!/usr/bin/env node\nconst fs = require('node:fs');\n\
                if (process.argv[2] === 'description') { console.log(JSON.stringify({name: 't', description: 'd', \
                input_schema: {type: 'object'}})); process.exit(); }\nfs.readFileSync(0);\n";
    for (name, rest) in [
        ("node require", "console.log(require('./lib.js').word);\n"),
        (
            "node dirname",
            "console.log(fs.readFileSync(__dirname + '/../data.txt', 'utf8'));\n",
        ),
        ("node package", "console.log(require('pack').word);\n"),
    ] {
        cases.push((name.into(), format!("{node}{rest}")));
    }
    for (name, text) in cases {
        let project = Project::trusted(&text);
        let sandbox = &project.0;
        sandbox.write("p/kodelet-tools/lib.sh", "word() { echo neighbour; }\n");
        sandbox.write("p/kodelet-tools/lib.py", "word = 'neighbour'\n");
        sandbox.write("p/kodelet-tools/lib.js", "exports.word = 'neighbour';\n");
        sandbox.write(
            "p/node_modules/pack/index.js",
            "exports.word = 'neighbour';\n",
        );
        sandbox.write("p/data.txt", "neighbour\n");
        let ran = project.call();
        assert!(ran.output.contains("neighbour"), "{name}: {}", ran.output);
        // Files that are added later are found as well.
        assert!(project.call().output.contains("neighbour"), "{name}");
    }
}

#[test]
fn an_interpreter_in_the_project_does_not_start() {
    let project = Project::trusted("");
    let interpreter = project.0.write("p/bin/interp", "");
    put(&interpreter, "#!/bin/sh\necho ran >> \"$HOME/trace\"\n");
    for line in [
        interpreter.display().to_string(),
        "/usr/bin/env interp".into(),
        "bin/interp".into(),
    ] {
        put(&project.tool(), &tool(&line, "good"));
        let ran = project
            .0
            .sh("haft trust p --yes; PATH=$CASE/p/bin:$PATH haft --cwd p list");
        assert!(!project.trace(), "{line}: {}", ran.output);
        assert!(
            ran.output.contains("its interpreter"),
            "{line}: {}",
            ran.output
        );
    }
}

#[test]
fn an_interpreter_that_others_can_replace_does_not_start() {
    let project = Project::trusted("");
    let interpreter = project.0.write("open/interp", "");
    put(&interpreter, "#!/bin/sh\necho ran >> \"$HOME/trace\"\n");
    let open = project.0.path().join("open");
    fs::set_permissions(&open, fs::Permissions::from_mode(0o777)).expect("a folder of ours");
    put(
        &project.tool(),
        &tool(&interpreter.display().to_string(), "good"),
    );
    let ran = project.0.sh("haft trust p --yes; haft --cwd p list");
    assert!(!project.trace(), "{}", ran.output);
    assert!(
        ran.output.contains("everybody may write to `$CASE/open`"),
        "{}",
        ran.output
    );
}

/// A verified copy of a script that was changed is made anew.
#[test]
fn the_copy_of_a_script_is_verified_too() {
    let project = Project::trusted(&tool("/bin/sh", "good"));
    assert!(project.call().output.contains("good"));
    let ran = project
        .0
        .sh("find home/.local/state/haft/verified -name t -type f");
    let copy = project
        .0
        .path()
        .join(ran.output.trim().replace("$CASE/", ""));
    assert!(copy.is_file(), "{}", ran.output);
    fs::remove_file(&copy).expect("root may, and so may its owner after chmod");
    put(&copy, &tool("/bin/sh", "EVIL"));
    assert!(project.call().output.contains("good"));
    assert!(!project.trace());
}

/// A native program is executed through its descriptor and still knows its path.
#[test]
fn a_binary_runs_and_knows_its_path() {
    let sandbox = Sandbox::with_home();
    let ran = sandbox.sh("cp \"$(command -v readlink)\" tool && ./tool -f /proc/self/exe");
    assert_eq!(ran.output.trim(), "$CASE/tool");
    let path = sandbox.path().join("tool");
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    for cwd in [None, Some(sandbox.path().join("home"))] {
        for memory in [None, Some(1 << 32)] {
            let root = sandbox.path();
            let state = haft_process::StateDir::new(root.join("state"));
            let trusted = haft_process::TrustedProject {
                root: &root,
                alias: None,
                state: &state,
                digest: &|_| None,
            };
            let digest = blake3::hash(&fs::read(&path).expect("a program"));
            let program = haft_process::VerifiedProgram::of_file(&trusted, &path, digest);
            let spawn = haft_process::Spawn {
                cwd: cwd.clone(),
                limits: haft_process::Limits {
                    address_space: memory,
                    ..Default::default()
                },
                ..haft_process::Spawn::new(program, ["-f", "/proc/self/exe"])
            };
            let never = tokio_util::sync::CancellationToken::new();
            let finished = runtime.block_on(spawn.run(&never)).expect("it starts");
            assert_eq!(finished.stdout.text().trim(), path.display().to_string());
        }
    }
}

/// YAML tools and JSON plugins consist of their text only: it is read and hashed in one step.
#[test]
fn a_changed_declaration_is_not_read() {
    let sandbox = Sandbox::with_home();
    let yaml = |word: &str| format!("name: t\ndescription: d\nbash: echo {word}\n");
    let file = sandbox.write("p/.cycod/tools/t.yaml", &yaml("good"));
    let ran = sandbox.sh("haft trust p --yes && haft --cwd p --auto-approve tool:t call t");
    assert!(ran.output.contains("good"), "{}", ran.output);
    fs::write(&file, yaml("EVIL")).expect("a file of ours");
    let ran = sandbox.sh("haft --cwd p --auto-approve tool:t call t");
    assert!(
        ran.output.contains("changed since you trusted it"),
        "{}",
        ran.output
    );
    assert!(!ran.output.contains("EVIL"), "{}", ran.output);
}

/// A server of MCP in shell, with one tool that says `word`.
fn server(word: &str) -> String {
    format!(
        "#!/bin/sh\n[ {word} = EVIL ] && echo ran >> \"$HOME/trace\"\n\
         while read -r line; do\n\
         id=$(printf '%s' \"$line\" | sed -n 's/.*\"id\":\\([0-9]*\\).*/\\1/p')\n\
         [ -n \"$id\" ] || continue\n\
         case $line in\n\
         *'\"initialize\"'*) r='\"result\":{{\"protocolVersion\":\"2025-06-18\",\"capabilities\":{{\"tools\":{{}}}},\
         \"serverInfo\":{{\"name\":\"s\",\"version\":\"1\"}}}}';;\n\
         *'\"tools/list\"'*) r='\"result\":{{\"tools\":[{{\"name\":\"t\",\"inputSchema\":{{\"type\":\"object\"}}}}]}}';;\n\
         *'\"tools/call\"'*) r='\"result\":{{\"content\":[{{\"type\":\"text\",\"text\":\"{word}\"}}]}}';;\n\
         *) r='\"error\":{{\"code\":-32601,\"message\":\"unknown\"}}';;\n\
         esac\n\
         printf '{{\"jsonrpc\":\"2.0\",\"id\":%s,%s}}\\n' \"$id\" \"$r\"\n\
         done\n"
    )
}

/// Returns a program that lists the tool `t` of Gemini CLI, and calls it.
fn gemini(word: &str) -> String {
    format!(
        "#!/bin/sh\n[ {word} = EVIL ] && echo ran >> \"$HOME/trace\"\n\
         case $1 in t) cat > /dev/null; echo {word};; *) echo '[{{\"name\":\"t\"}}]';; esac\n"
    )
}

/// Returns a tool of Amp.
fn amp(word: &str) -> String {
    format!(
        "#!/bin/sh\n[ {word} = EVIL ] && echo ran >> \"$HOME/trace\"\n\
         case $TOOLBOX_ACTION in describe) echo 'name: t';; *) cat > /dev/null; echo {word};; esac\n"
    )
}

/// Returns a tool of ikigai.
fn ikigai(word: &str) -> String {
    format!(
        "#!/bin/sh\n[ {word} = EVIL ] && echo ran >> \"$HOME/trace\"\n\
         case $1 in --schema) echo '{{\"name\":\"t\",\"description\":\"d\",\"parameters\":{{}}}}';;\n\
         *) cat > /dev/null; echo '\"{word}\"';; esac\n"
    )
}

fn plain(word: &str) -> String {
    format!("#!/bin/sh\n[ {word} = EVIL ] && echo ran >> \"$HOME/trace\"\necho {word}\n")
}

/// A way in which a family names a program of its project.
struct ProgramUse {
    /// The file that names it, with its text.
    file: &'static str,
    text: &'static str,
    /// The program.
    program: &'static str,
    content: fn(&str) -> String,
}

const fn program_use(
    file: &'static str,
    text: &'static str,
    program: &'static str,
    content: fn(&str) -> String,
) -> ProgramUse {
    ProgramUse {
        file,
        text,
        program,
        content,
    }
}

const USES: &[ProgramUse] = &[
    program_use(
        ".gemini/settings.json",
        r#"{"tools": {"discoveryCommand": "sh bin/x", "callCommand": "./bin/x"}}"#,
        "bin/x",
        gemini,
    ),
    program_use(
        ".gemini/settings.json",
        r#"{"tools": {"discoveryCommand": "sh -c 'exec sh ./bin/x'", "callCommand": "bin/x"}}"#,
        "bin/x",
        gemini,
    ),
    program_use(
        ".mcp.json",
        r#"{"mcpServers": {"s": {"command": "sh", "args": ["bin/x.sh"]}}}"#,
        "bin/x.sh",
        server,
    ),
    program_use(
        ".mcp.json",
        r#"{"mcpServers": {"s": {"command": "./bin/x"}}}"#,
        "bin/x",
        server,
    ),
    program_use(
        ".mcp.json",
        r#"{"mcpServers": {"s": {"command": "sh", "args": ["x.sh"], "cwd": "bin"}}}"#,
        "bin/x.sh",
        server,
    ),
    program_use(
        ".mcp.json",
        r#"{"mcpServers": {"s": {"command": "env", "args": ["A=b", "sh", "-c", "exec sh ./bin/x"]}}}"#,
        "bin/x",
        server,
    ),
    program_use(
        ".mcp.json",
        r#"{"mcpServers": {"s": {"command": "bash", "args": ["-c", ":"], "env": {"BASH_ENV": "bin/x"}}}}"#,
        "bin/x",
        server,
    ),
    program_use(
        ".cycod/tools/t.yaml",
        "name: t\ndescription: d\nrun: ./bin/x\n",
        "bin/x",
        plain,
    ),
    program_use(
        ".cycod/tools/t.yaml",
        "name: t\ndescription: d\nrun: sh bin/x {A}\nparameters: {A: {type: string, description: a, default: b}}\n",
        "bin/x",
        plain,
    ),
    program_use(
        ".cycod/tools/t.yaml",
        "name: t\ndescription: d\nsteps:\n  - name: a\n    run: sh x\n    working-directory: bin\n",
        "bin/x",
        plain,
    ),
    program_use(
        ".cycod/tools/t.yaml",
        "name: t\ndescription: d\nscript: echo unused\nshell: ./bin/x\n",
        "bin/x",
        plain,
    ),
    program_use(
        ".cycod/tools/t.yaml",
        "name: t\ndescription: d\nrun: ./bin/x\nsecurity: {execution-privilege: reduced}\n",
        "bin/x",
        plain,
    ),
    program_use("kodelet-tools/t", "", "kodelet-tools/t", |word| {
        tool("/bin/sh", word)
    }),
    program_use(".ikigai/tools/t", "", ".ikigai/tools/t", ikigai),
    program_use(".agents/tools/t", "", ".agents/tools/t", amp),
];

impl ProgramUse {
    /// Makes a trusted project that uses the program.
    fn project(&self) -> Project {
        let mut sandbox = Sandbox::with_home();
        let folder = sandbox.path().join("p/.agents/tools");
        sandbox.set("AMP_TOOLBOX", folder.display().to_string());
        sandbox.set("HAFT_IKIGAI_PROJECT", "true".to_owned());
        sandbox.write(&format!("p/{}", self.file), self.text);
        let program = sandbox.write(&format!("p/{}", self.program), "");
        put(&program, &(self.content)("good"));
        let project = Project(sandbox);
        let ran = project.0.sh("haft trust p --yes");
        assert_eq!(ran.code, 0, "{} {}: {}", self.file, self.text, ran.output);
        assert!(
            ran.output.contains(self.program),
            "{} {}: {}",
            self.file,
            self.text,
            ran.output
        );
        project
    }

    fn call(&self, project: &Project) -> Ran {
        project
            .0
            .sh("haft --cwd p call t '{}' --approval-mode yolo")
    }
}

/// Whichever family names a program of the project: its trusted bytes run, or none.
#[test]
fn no_family_starts_a_program_that_changed() {
    for used in USES {
        let (file, text) = (used.file, used.text);
        let project = used.project();
        let ran = used.call(&project);
        assert!(ran.output.contains("good"), "{file} {text}: {}", ran.output);
        let path = project.0.path().join("p").join(used.program);
        put(&path, &(used.content)("EVIL"));
        let ran = used.call(&project);
        assert_ne!(ran.code, 0, "{file} {text}: {}", ran.output);
        assert!(!project.trace(), "{file} {text}: {}", ran.output);
    }
}

/// The program is swapped continuously, also between the look at the project and the start.
#[test]
fn no_family_loses_a_race_of_renames() {
    for used in USES {
        let project = used.project();
        let path = project.0.path().join("p").join(used.program);
        let stop = Arc::new(AtomicBool::new(false));
        let until = stop.clone();
        let texts = ["EVIL", "good"].map(used.content);
        let fresh = project.0.path().join("fresh");
        let swapper = thread::spawn(move || {
            while !until.load(Ordering::Relaxed) {
                for text in &texts {
                    put(&fresh, text);
                    fs::rename(&fresh, &path).expect("a file of ours");
                }
            }
        });
        for _ in 0..12 {
            let ran = used.call(&project);
            assert!(!ran.output.contains("EVIL"), "{}", ran.output);
        }
        stop.store(true, Ordering::Relaxed);
        swapper.join().expect("it swaps");
        assert!(!project.trace(), "{} {}", used.file, used.text);
    }
}

/// A file that a command names and that was not there when the project was trusted.
#[test]
fn a_program_that_appears_later_does_not_start() {
    for used in USES.iter().filter(|used| used.file != used.program) {
        let project = used.project();
        let path = project.0.path().join("p").join(used.program);
        fs::remove_file(&path).expect("a file of ours");
        let _ = project.0.sh("haft trust p --yes");
        put(&path, &(used.content)("EVIL"));
        let ran = used.call(&project);
        assert_ne!(ran.code, 0, "{}: {}", used.text, ran.output);
        assert!(!project.trace(), "{}: {}", used.text, ran.output);
    }
}

/// Data that a tool reads is not code, and may change.
#[test]
fn files_that_a_tool_reads_may_change() {
    let sandbox = Sandbox::with_home();
    sandbox.write(
        "p/.cycod/tools/t.yaml",
        "name: t\ndescription: d\nrun: cat data.txt {FILE}\nparameters: {FILE: {type: string, description: f, default: tool.py}}\n",
    );
    sandbox.write("p/data.txt", "one\n");
    sandbox.write("p/tool.py", "two\n");
    let ran = sandbox.sh("haft trust p --yes");
    assert!(!ran.output.contains("data.txt"), "{}", ran.output);
    sandbox.write("p/data.txt", "three\n");
    sandbox.write("p/tool.py", "four\n");
    let ran = sandbox.sh("haft --cwd p call t '{}' --approval-mode yolo");
    assert_eq!(ran.output, "three\nfour\n");
}

/// A command of settings reads data that changes, whichever family it belongs to. What it runs, or
/// takes as code behind an option, is what was trusted.
#[test]
fn data_of_commands_may_change_and_their_code_may_not() {
    const LIST: &str = r#"[{"name": "t"}]"#;
    const LIST_SCRIPT: &str = "cat \"$1\" | tr -d '\\n'\n";
    let server = server("good");
    // The command, its code with a text, its data.
    let uses = [
        ("gemini", "sh bin/list data", "bin/list", LIST_SCRIPT, LIST),
        (
            "gemini",
            "awk -f bin/list data",
            "bin/list",
            "{ print }\n",
            LIST,
        ),
        (
            "gemini",
            "sed --file=bin/list data",
            "bin/list",
            "s/x/x/\n",
            LIST,
        ),
        (
            "gemini",
            "env A=b timeout 9 sh ./bin/list data",
            "bin/list",
            LIST_SCRIPT,
            LIST,
        ),
        ("mcp", "sh bin/server data", "bin/server", &*server, ""),
        (
            "mcp",
            "nice -n 1 bash bin/server --db=data",
            "bin/server",
            &*server,
            "",
        ),
    ];
    for (family, command, code, text, data) in uses {
        let sandbox = Sandbox::with_home();
        if family == "gemini" {
            let settings = serde_json::json!({"tools": {
                "discoveryCommand": command, "callCommand": "cat",
            }});
            sandbox.write("p/.gemini/settings.json", &settings.to_string());
        } else {
            let words: Vec<&str> = command.split(' ').collect();
            let settings = serde_json::json!({"mcpServers": {"s": {
                "command": words[0], "args": words[1..],
            }}});
            sandbox.write("p/.mcp.json", &settings.to_string());
        }
        sandbox.write(&format!("p/{code}"), text);
        sandbox.write("p/data", data);
        let ran = sandbox.sh("haft trust p --yes");
        assert!(ran.output.contains(code), "{command}: {}", ran.output);
        let is_listed = |line: &str| line.trim_start().starts_with("data");
        let has_data = ran.output.lines().any(is_listed);
        assert!(!has_data, "{command}: {}", ran.output);
        sandbox.write("p/data", &format!("{data} "));
        let ran = sandbox.sh("haft --cwd p list --json");
        assert!(!ran.output.contains("changed"), "{command}: {}", ran.output);
        assert!(
            ran.output.contains(r#""t""#) || ran.output.contains("s_t"),
            "{command}: {}",
            ran.output
        );
        sandbox.write(&format!("p/{code}"), &format!("{text}\n"));
        let ran = sandbox.sh("haft --cwd p list");
        let is_refused = ran.output.contains(&format!("{code} (changed)"));
        assert!(is_refused, "{command}: {}", ran.output);
    }
}

/// An interpreter line may not lead to another program of the project.
#[test]
fn a_first_line_that_starts_another_program_starts_nothing() {
    for line in [
        "/usr/bin/env -S PATH=./bin:/bin i",
        "/usr/bin/env -S -i PATH=./bin i",
        "/usr/bin/env -S 'bash' bin/i",
        "/bin/bash bin/i",
        "/usr/bin/env make",
    ] {
        let project = Project::trusted("");
        let interpreter = project.0.write("p/bin/i", "");
        put(&interpreter, "#!/bin/sh\necho ran >> \"$HOME/trace\"\n");
        project.0.write(
            "p/Makefile",
            "description run:\n\techo ran >> \"$$HOME/trace\"\n",
        );
        put(&project.tool(), &tool(line, "good"));
        let ran = project.0.sh("haft trust p --yes; haft --cwd p list");
        assert!(!project.trace(), "{line}: {}", ran.output);
        assert!(
            ran.output
                .contains("haft does not know what its first line starts"),
            "{line}: {}",
            ran.output
        );
    }
}
