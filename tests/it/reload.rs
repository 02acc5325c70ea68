//! File changes while a host runs: modules that are loaded again, modules that stay, notifications.

use std::fs::{self, File};
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use haft::catalog::CatalogChange;
use haft::config::Env;
use haft::{
    Call, Config, ErrorKind, Event, Flags, Host, Outcome, Reload, RunningCall, Severity, WatchGuard,
};
use serde_json::value::RawValue;
use tokio::sync::{broadcast, watch};
use tokio::time::timeout;

use crate::arena::{self, Arena, Holding};
use crate::pty::Terminal;
use crate::sandbox::Sandbox;

const USER: &str = "home/.omp/agent/tools";

/// Returns a module with one tool that answers `text` and the number of its calls.
fn module(name: &str, text: &str) -> String {
    format!(
        "let calls = 0;\nexport default () => ({{ name: '{name}', description: 'd', \
         parameters: {{ type: 'object' }}, execute: async () => ({{ content: [{{ type: 'text', \
         text: '{text} ' + ++calls }}] }}) }});\n"
    )
}

struct Fixture {
    sandbox: Sandbox,
    host: Host,
}

impl Fixture {
    fn new() -> Fixture {
        Fixture::with(|_| {})
    }

    fn with(change: impl FnOnce(&mut Config)) -> Fixture {
        let sandbox = Sandbox::with_home();
        let host = sandbox.host(change);
        Fixture { host, sandbox }
    }

    fn tool(&self, name: &str, text: &str) -> PathBuf {
        self.sandbox
            .write(&format!("{USER}/{name}.ts"), &module(name, text))
    }

    fn start(&self, tool: &str) -> RunningCall {
        let call = Call {
            id: "c".into(),
            tool: tool.into(),
            arguments: RawValue::from_string("{}".into()).expect("it is JSON"),
        };
        self.host.call(call, None)
    }

    async fn outcome(&self, tool: &str) -> Outcome {
        self.start(tool).outcome().await.expect("it runs")
    }

    async fn text(&self, tool: &str) -> String {
        self.outcome(tool).await.text()
    }
}

fn names(change: &CatalogChange) -> (u64, Vec<&str>, Vec<&str>, Vec<&str>) {
    fn short(names: &[String]) -> Vec<&str> {
        names.iter().map(String::as_str).collect()
    }
    let CatalogChange {
        generation,
        added,
        removed,
        changed,
    } = change;
    (*generation, short(added), short(removed), short(changed))
}

// ---- Notifications.

#[tokio::test]
async fn a_visible_change_is_notified_once() {
    let fixture = Fixture::new();
    fixture.tool("stays", "1");
    let goes = fixture.tool("goes", "1");
    let mut changes = fixture.host.changes();
    fixture.host.catalog().await;
    assert!(
        !changes.has_changed().expect("the host is there"),
        "the first look is no change"
    );
    fixture.sandbox.write("given.ts", &module("given", "1"));
    fixture.host.load_paths(&["given.ts".into()]).await;
    let first: Arc<CatalogChange> = changes.borrow_and_update().clone();
    assert_eq!(names(&first), (1, vec!["given"], vec![], vec![]));
    fs::remove_file(goes).expect("ours");
    fixture.tool("comes", "1");
    fixture.host.refresh().await;
    let second = changes.borrow_and_update().clone();
    assert_eq!(names(&second), (2, vec!["comes"], vec!["goes"], vec![]));
    fixture.host.refresh().await;
    assert!(
        !changes.has_changed().expect("the host is there"),
        "nothing is different"
    );
    assert_eq!(fixture.text("comes").await, "1 1");
}

// ---- File changes.

/// Longer than anything here takes on a machine under load.
const TEST_TIMEOUT: Duration = Duration::from_secs(60);

/// A host whose files are watched.
struct Watched {
    fixture: Fixture,
    _watching: WatchGuard,
    reloads: broadcast::Receiver<Arc<Reload>>,
    seen: watch::Receiver<Arc<CatalogChange>>,
}

impl Watched {
    async fn start(fixture: Fixture) -> Watched {
        let watching = fixture.host.watch();
        Watched::with(fixture, watching).await
    }

    async fn with(fixture: Fixture, watching: WatchGuard) -> Watched {
        let reloads = watching.reloads();
        timeout(TEST_TIMEOUT, watching.ready())
            .await
            .expect("it watches");
        let seen = fixture.host.changes();
        Watched {
            fixture,
            _watching: watching,
            reloads,
            seen,
        }
    }

    async fn next(&mut self) -> Arc<Reload> {
        let reload = timeout(TEST_TIMEOUT, self.reloads.recv()).await;
        reload.expect("the change is noticed").expect("it watches")
    }

    /// Waits for the next change; returns the tools that are new, gone, changed, and loaded again.
    async fn change(&mut self) -> [Vec<String>; 4] {
        let reload = self.next().await;
        let change = reload.change.as_deref().cloned().unwrap_or_default();
        [
            change.added,
            change.removed,
            change.changed,
            reload.reloaded.clone(),
        ]
    }

    async fn text(&self, tool: &str) -> String {
        self.fixture.text(tool).await
    }

    fn path(&self, path: &str) -> PathBuf {
        self.fixture.sandbox.path().join(path)
    }

    /// Returns true if callers were notified since the last call of this function.
    fn was_notified(&mut self) -> bool {
        let told = self.seen.has_changed().expect("the host is there");
        self.seen.mark_unchanged();
        told
    }
}

fn just(names: &[&str]) -> Vec<String> {
    names.iter().map(|&name| name.to_owned()).collect()
}

fn nothing() -> Vec<String> {
    Vec::new()
}

#[tokio::test]
async fn a_saved_file_is_loaded_again_and_the_other_files_are_not() {
    let fixture = Fixture::new();
    fixture.tool("edited", "old");
    fixture.tool("other", "as it was");
    let mut watched = Watched::start(fixture).await;
    assert_eq!(watched.text("edited").await, "old 1");
    assert_eq!(watched.text("other").await, "as it was 1");
    watched.fixture.tool("edited", "new");
    assert_eq!(
        watched.change().await,
        [nothing(), nothing(), nothing(), just(&["edited"])]
    );
    assert_eq!(watched.text("edited").await, "new 1");
    assert_eq!(watched.text("other").await, "as it was 2");
    assert!(!watched.was_notified(), "callers see no difference");
    let described = module("edited", "new").replace("'d'", "'another text'");
    watched
        .fixture
        .sandbox
        .write(&format!("{USER}/edited.ts"), &described);
    assert_eq!(
        watched.change().await,
        [nothing(), nothing(), just(&["edited"]), just(&["edited"])]
    );
    assert!(watched.was_notified());
    assert_eq!(watched.text("other").await, "as it was 3");
}

#[tokio::test]
async fn a_helper_that_modules_import_is_fresh_in_each() {
    let fixture = Fixture::new();
    let importing = |name: &str| {
        let module = module(name, "TEXT").replace("'TEXT '", "says() + ' '");
        format!("import {{ says }} from '../../lib/middle';\n{module}")
    };
    let root = "home/.omp";
    fixture
        .sandbox
        .write(&format!("{USER}/one.ts"), &importing("one"));
    fixture
        .sandbox
        .write(&format!("{USER}/two.ts"), &importing("two"));
    fixture.tool("alone", "alone");
    let middle = "import { word } from './deep.js';\nexport const says = () => word;\n";
    fixture
        .sandbox
        .write(&format!("{root}/lib/middle.ts"), middle);
    let deep = |word: &str| format!("export const word: string = '{word}';\n");
    fixture
        .sandbox
        .write(&format!("{root}/lib/deep.ts"), &deep("old"));
    let mut watched = Watched::start(fixture).await;
    assert_eq!(watched.text("one").await, "old 1");
    assert_eq!(watched.text("alone").await, "alone 1");
    for word in ["new", "newer"] {
        watched
            .fixture
            .sandbox
            .write(&format!("{root}/lib/deep.ts"), &deep(word));
        let [added, removed, changed, reloaded] = watched.change().await;
        assert_eq!([added, removed, changed], [nothing(), nothing(), nothing()]);
        assert_eq!(reloaded, just(&["one", "two"]));
        assert_eq!(watched.text("one").await, format!("{word} 1"));
        assert_eq!(watched.text("two").await, format!("{word} 1"));
    }
    assert_eq!(watched.text("alone").await, "alone 2");
    // The import now means another file, although no file that was read has changed.
    watched.fixture.sandbox.write(
        &format!("{root}/lib/middle.tsx"),
        &middle.replace("word;", "'tsx';"),
    );
    assert_eq!(watched.change().await[3], just(&["one", "two"]));
    assert_eq!(watched.text("one").await, "tsx 1");
}

#[tokio::test]
async fn tools_come_and_go_with_their_files_and_folders() {
    let mut watched = Watched::start(Fixture::new()).await;
    let folder = watched.path("home/.omp");
    for round in 1..=2 {
        // Nothing of the path exists.
        watched.fixture.tool("greet", "hello");
        assert_eq!(watched.change().await[0], just(&["greet"]), "{round}");
        assert_eq!(watched.text("greet").await, "hello 1");
        // Editors save like this: another file takes the place.
        let aside = watched
            .fixture
            .sandbox
            .write("aside.ts", &module("greet", "good day"));
        fs::rename(aside, watched.path(&format!("{USER}/greet.ts"))).expect("ours");
        assert_eq!(watched.change().await[3], just(&["greet"]));
        assert_eq!(watched.text("greet").await, "good day 1");
        // A folder with an index is one tool.
        watched.fixture.sandbox.write(
            &format!("{USER}/nested/index.ts"),
            &module("nested", "deep"),
        );
        assert_eq!(watched.change().await[0], just(&["nested"]));
        watched.fixture.sandbox.write(
            &format!("{USER}/nested/index.ts"),
            &module("nested", "deeper"),
        );
        assert_eq!(watched.change().await[3], just(&["nested"]));
        assert_eq!(watched.text("nested").await, "deeper 1");
        fs::remove_dir_all(&folder).expect("ours");
        assert_eq!(watched.change().await[1], just(&["greet", "nested"]));
    }
}

#[tokio::test]
async fn what_runs_ends_with_the_code_that_it_began_with() {
    let fixture = Fixture::new();
    let waiting = |text: &str| {
        format!(
            "export default (pi) => ({{ name: 'wait', description: 'd', \
             parameters: {{ type: 'object' }}, execute: async (_id, _params, update) => {{ \
             update({{ content: [] }}); await pi.exec('head', ['-n1', '{text}']); \
             return {{ content: [{{ type: 'text', text: '{text}' }}] }}; }} }});\n"
        )
    };
    // Opened for both directions: opening does not block, and a line stays in the pipe.
    let pipes = ["old", "newest"].map(|pipe| {
        let path = fixture.sandbox.fifo(pipe);
        let pipe = File::options().read(true).write(true).open(path);
        pipe.expect("a pipe of ours")
    });
    fixture
        .sandbox
        .write(&format!("{USER}/wait.ts"), &waiting("old"));
    let mut watched = Watched::start(fixture).await;
    let mut running = watched.fixture.start("wait");
    while !matches!(running.next_event().await, Event::Update(_)) {}
    for text in ["newer", "newest"] {
        watched
            .fixture
            .sandbox
            .write(&format!("{USER}/wait.ts"), &waiting(text));
        assert_eq!(watched.change().await[3], just(&["wait"]));
    }
    let second = watched.fixture.start("wait");
    for mut pipe in &pipes {
        pipe.write_all(b"\n").expect("a pipe of ours");
    }
    let texts =
        [running, second].map(|call| async { call.outcome().await.expect("it runs").text() });
    let [first, second] = texts;
    assert_eq!(
        (first.await, second.await),
        ("old".to_owned(), "newest".to_owned())
    );
}

#[tokio::test]
async fn a_broken_save_keeps_the_last_good_version() {
    let fixture = Fixture::new();
    fixture.tool("sound", "sound");
    fixture.tool("edited", "good");
    let mut watched = Watched::start(fixture).await;
    assert_eq!(watched.text("edited").await, "good 1");
    for broken in [
        "export default () => ({\n  name: 'edited',,\n});\n",
        "throw new Error('boom');\n",
    ] {
        watched
            .fixture
            .sandbox
            .write(&format!("{USER}/edited.ts"), broken);
        let reload = watched.next().await;
        assert!(
            reload.change.is_none() && reload.reloaded.is_empty(),
            "{reload:?}"
        );
        let [problem] = reload.problems.as_slice() else {
            panic!("{reload:?}");
        };
        assert_eq!(problem.severity, Severity::Error);
        assert!(problem.line.is_some(), "{problem:?}");
        let frame = problem.frame.as_deref().expect("the author's lines");
        assert!(
            frame.contains(broken.lines().next().expect("a line")),
            "{frame}"
        );
        let hint = problem.hint.as_deref().expect("what becomes of it");
        assert!(hint.contains("last good version"), "{hint}");
    }
    assert_eq!(watched.text("edited").await, "good 2");
    assert!(!watched.was_notified());
    watched.fixture.tool("edited", "better");
    let reload = watched.next().await;
    assert_eq!(reload.reloaded, just(&["edited"]));
    assert_eq!(reload.solved.len(), 1);
    assert_eq!(watched.text("edited").await, "better 1");
    assert_eq!(watched.text("sound").await, "sound 1");
}

#[tokio::test]
async fn a_module_that_shares_with_others_takes_them_along() {
    let fixture = Fixture::new();
    let sharing = |name: &str, text: &str| {
        format!(
            "globalThis.{name} = '{text}';\nexport default () => ({{ name: '{name}', description: 'd', \
             parameters: {{ type: 'object' }}, execute: async () => ({{ content: [{{ type: 'text', \
             text: globalThis.one + ' ' + globalThis.two }}] }}) }});\n"
        )
    };
    fixture
        .sandbox
        .write(&format!("{USER}/one.ts"), &sharing("one", "1"));
    fixture
        .sandbox
        .write(&format!("{USER}/two.ts"), &sharing("two", "2"));
    let mut watched = Watched::start(fixture).await;
    assert_eq!(watched.text("one").await, "1 2");
    watched
        .fixture
        .sandbox
        .write(&format!("{USER}/two.ts"), &sharing("two", "3"));
    assert_eq!(watched.change().await[3], just(&["one", "two"]));
    for tool in ["one", "two"] {
        assert_eq!(watched.text(tool).await, "1 3");
    }
}

#[tokio::test]
async fn a_checkout_is_one_change() {
    let fixture = Fixture::new();
    let folder = fixture.sandbox.path().join(USER);
    let git = |line: &str| {
        let ran = fixture
            .sandbox
            .sh(&format!("cd {} && {line}", folder.display()));
        assert_eq!(ran.code, 0, "{}", ran.output);
    };
    let many = |text: &str| {
        for number in 0..40 {
            fixture.tool(&format!("t{number}"), text);
        }
    };
    many("one");
    fixture.tool("goes", "one");
    git("git init -q -b main . && git add . && git commit -qm one && git checkout -qb other");
    many("two");
    fs::remove_file(folder.join("goes.ts")).expect("ours");
    git("git add -A . && git commit -qm two && git checkout -q main");
    let sandbox = fixture.sandbox.path();
    let mut watched = Watched::start(fixture).await;
    assert_eq!(watched.text("t7").await, "one 1");
    let ran = watched.fixture.sandbox.sh(&format!(
        "cd {}/{USER} && git checkout -q other",
        sandbox.display()
    ));
    assert_eq!(ran.code, 0, "{}", ran.output);
    let [_, removed, _, reloaded] = watched.change().await;
    assert_eq!((removed, reloaded.len()), (just(&["goes"]), 40));
    assert_eq!(watched.text("t39").await, "two 1");
    assert!(watched.reloads.is_empty());
}

#[tokio::test]
async fn files_that_are_no_modules_are_watched_too() {
    let fixture = Fixture::new();
    let root = fixture.sandbox.path();
    let program = |word: &str| {
        let text = format!(
            "#!/bin/sh\nif [ \"$1\" = description ]; then echo asked >> {}/asked; echo \
             '{{\"name\":\"prog\",\"description\":\"{word}\"}}'; exit; fi\necho {word}\n",
            root.display()
        );
        let aside = fixture.sandbox.write("aside", &text);
        fs::set_permissions(&aside, fs::Permissions::from_mode(0o755)).expect("ours");
        let folder = root.join("home/.kodelet/tools");
        fs::create_dir_all(&folder).expect("ours");
        fs::rename(aside, folder.join("prog")).expect("ours");
    };
    let yaml = |text: &str| {
        let text = format!("name: say\ndescription: d\ntags: [read]\nbash: echo {text}\n");
        fixture.sandbox.write("home/.cycod/tools/say.yaml", &text);
    };
    program("one");
    yaml("one");
    let watching = fixture.host.watch();
    let mut reloads = watching.reloads();
    timeout(TEST_TIMEOUT, watching.ready())
        .await
        .expect("it watches");
    let next = async |reloads: &mut broadcast::Receiver<Arc<Reload>>| {
        let reload = timeout(TEST_TIMEOUT, reloads.recv()).await;
        reload.expect("it is noticed").expect("it watches")
    };
    assert!(fixture.text("say").await.contains("one"));
    yaml("two");
    assert_eq!(next(&mut reloads).await.reloaded, just(&["say"]));
    assert!(fixture.text("say").await.contains("two"));
    fixture
        .sandbox
        .write("home/.cycod/tools/say.yaml", "name: say\nbash: [\n");
    let broken = next(&mut reloads).await;
    assert!(
        broken.change.is_none() && !broken.problems.is_empty(),
        "{broken:?}"
    );
    assert!(fixture.text("say").await.contains("two"));
    let asked = || {
        fs::read_to_string(root.join("asked"))
            .expect("it was asked")
            .lines()
            .count()
    };
    assert_eq!(asked(), 1, "what did not change is not asked again");
    program("two");
    let changed = next(&mut reloads).await;
    let change = changed.change.as_deref().expect("callers see it");
    assert_eq!(change.changed, just(&["custom_tool_prog"]));
    fs::remove_file(root.join("home/.kodelet/tools/prog")).expect("ours");
    let gone = next(&mut reloads).await;
    let change = gone.change.as_deref().expect("callers see it");
    assert_eq!(change.removed, just(&["custom_tool_prog"]));
}

#[tokio::test]
async fn a_trusted_projects_file_that_changes_is_not_run() {
    let fixture = Fixture::new();
    let path = ".omp/tools/project.ts";
    fixture.sandbox.write(path, &module("project", "one"));
    let trust = |fixture: &Fixture| {
        let ran = fixture.sandbox.sh("haft trust --yes");
        assert_eq!(ran.code, 0, "{}", ran.output);
    };
    trust(&fixture);
    let mut watched = Watched::start(fixture).await;
    assert_eq!(watched.text("project").await, "one 1");
    watched
        .fixture
        .sandbox
        .write(path, &module("project", "two"));
    assert_eq!(watched.change().await[2], just(&["project"]));
    let refused = watched.fixture.start("project").outcome().await;
    assert_eq!(
        refused.expect_err("nobody trusts it").kind(),
        ErrorKind::Untrusted
    );
    trust(&watched.fixture);
    assert_eq!(watched.change().await[2], just(&["project"]));
    assert_eq!(watched.text("project").await, "two 1");
}

// ---- Rights that change.

/// Two tools of one module: one reads a file, the other waits for a named pipe before that.
const READERS: &str = r#"
import { readFile } from "node:fs/promises";

const reads = async () => {
  const text = await readFile("ROOT/closed/data", "utf8").catch((error) => error.message.split("\n")[0]);
  return { content: [{ type: "text", text }] };
};
export default () => [
  { name: "reads", description: "d", parameters: { type: "object" }, execute: reads },
  { name: "waits", description: "d", parameters: { type: "object" },
    async execute(_id, _params, onUpdate) {
      onUpdate({ content: [{ type: "text", text: "waiting" }] });
      await readFile("ROOT/open/pipe");
      return reads();
    } },
];
"#;

#[tokio::test]
async fn a_permit_counts_from_the_next_call_on() {
    let sandbox = Sandbox::with_home();
    sandbox.write(
        "home/.config/haft/config.yaml",
        "profiles: {some: {extends: full, read: [./open], env: [PATH]}}\nsandbox: {user: some}\n",
    );
    sandbox.write("closed/data", "the data");
    sandbox.write("open/empty", "");
    let pipe = sandbox.fifo("open/pipe");
    let root = sandbox.path().display().to_string();
    let readers = READERS.replace("ROOT", &root);
    sandbox.write(&format!("{USER}/readers.ts"), &readers);
    sandbox.write(&format!("{USER}/other.ts"), &module("other", "one"));
    let program = sandbox.write(
        "home/.kodelet/tools/prog",
        r#"#!/bin/sh
if [ "$1" = description ]; then echo '{"name":"prog","description":"d"}'
else echo "home: ${HOME-unset}"; fi
"#,
    );
    fs::set_permissions(program, fs::Permissions::from_mode(0o755)).expect("ours");
    let host = sandbox.host(|_| {});
    let mut watched = Watched::start(Fixture { sandbox, host }).await;
    let permit = |watched: &Watched, arguments: &str| {
        let ran = watched
            .fixture
            .sandbox
            .sh(&format!("haft permit {arguments}"));
        assert_eq!(ran.code, 0, "{}", ran.output);
    };
    let refused = "`read` access to";
    assert!(watched.text("reads").await.starts_with(refused));
    assert_eq!(watched.text("other").await, "one 1");
    let mut waits = watched.fixture.start("waits");
    while !matches!(
        waits.next_event().await,
        Event::Update(_) | Event::Finished(_)
    ) {}

    permit(&watched, "reads --allow read=closed");
    let reloaded = watched.change().await;
    let others = [nothing(), nothing(), nothing()];
    assert_eq!(reloaded[..3], others, "callers see no difference");
    assert_eq!(reloaded[3], just(&["reads", "waits"]));
    assert_eq!(watched.text("reads").await, "the data");
    assert_eq!(watched.text("other").await, "one 2", "it was left alone");
    let writer = tokio::task::spawn_blocking(move || File::options().write(true).open(pipe));
    drop(writer.await.expect("a thread"));
    let outcome = waits.outcome().await.expect("it runs");
    assert!(outcome.text().starts_with(refused), "{}", outcome.text());

    permit(&watched, "reads --remove read");
    assert_eq!(watched.change().await[3], just(&["reads", "waits"]));
    assert!(watched.text("reads").await.starts_with(refused));

    let home = watched.text("custom_tool_prog").await;
    assert!(home.contains("home: unset"), "{home}");
    permit(&watched, "custom_tool_prog --allow env=HOME");
    assert_eq!(watched.change().await[3], just(&["custom_tool_prog"]));
    let home = watched.text("custom_tool_prog").await;
    assert!(!home.contains("unset"), "{home}");
}

#[tokio::test]
async fn changed_rights_in_the_configuration_count_from_the_next_call_on() {
    let config = "home/.config/haft/config.yaml";
    let rights = |rest: &str| format!("sandbox: {{user: some}}\n{rest}");
    let profile = |read: &str| {
        rights(&format!(
            "profiles: {{some: {{extends: full, read: [{read}]}}}}\n"
        ))
    };
    let sandbox = Sandbox::with_home();
    sandbox.write(config, &profile("./open"));
    sandbox.write("closed/data", "the data");
    let root = sandbox.path().display().to_string();
    let readers = READERS.replace("ROOT", &root);
    sandbox.write(&format!("{USER}/readers.ts"), &readers);
    let host = sandbox.host(|_| {});
    let mut watched = Watched::start(Fixture { sandbox, host }).await;
    let refused = "`read` access to";
    assert!(watched.text("reads").await.starts_with(refused));

    watched.fixture.sandbox.write(config, &profile("./closed"));
    assert_eq!(watched.change().await[3], just(&["reads", "waits"]));
    assert_eq!(watched.text("reads").await, "the data");

    // An invalid file changes nothing, and is reported.
    watched.fixture.sandbox.write(config, &rights(""));
    let reported = watched.next().await;
    assert_eq!(reported.problems.len(), 1, "{reported:?}");
    let message = &reported.problems[0].message;
    assert!(
        message.starts_with("the changed configuration is not used: "),
        "{message}"
    );
    assert_eq!(watched.text("reads").await, "the data");

    // Other settings wait for the next start.
    let other = profile("./open") + "limits: {grace: 9s}\n";
    watched.fixture.sandbox.write(config, &other);
    let reported = watched.next().await;
    let message = &reported.problems[0].message;
    assert!(message.contains("the next start"), "{message}");
    assert_eq!(reported.solved.len(), 1, "{reported:?}");
    assert!(watched.text("reads").await.starts_with(refused));
}

/// A broken file goes on offering its last good version, but not with rights that it had once.
#[tokio::test]
async fn a_broken_file_does_not_keep_the_rights_of_its_last_good_version() {
    let fixture = Fixture::new();
    let path = fixture.tool("kept", "good");
    let ran = fixture.sandbox.sh("haft permit kept --deny read=closed");
    assert_eq!(ran.code, 0, "{}", ran.output);
    let mut watched = Watched::start(fixture).await;
    fs::write(&path, "export default (\n").expect("ours");
    assert_eq!(watched.next().await.problems.len(), 1);
    assert_eq!(watched.text("kept").await, "good 1");
    fs::remove_dir_all(watched.path("home/.local/state/haft/permits")).expect("ours");
    assert_eq!(watched.change().await[1], just(&["kept"]));
}

#[tokio::test]
async fn without_notifications_of_the_kernel_files_are_polled() {
    let fixture = Fixture::new();
    fixture.tool("edited", "old");
    let watching = fixture.host.watch_polling(Duration::from_millis(40));
    let mut watched = Watched::with(fixture, watching).await;
    assert_eq!(watched.text("edited").await, "old 1");
    watched.fixture.tool("edited", "new");
    assert_eq!(watched.change().await[3], just(&["edited"]));
    watched.fixture.tool("added", "new");
    assert_eq!(watched.change().await[0], just(&["added"]));
    fs::remove_file(watched.path(&format!("{USER}/edited.ts"))).expect("ours");
    assert_eq!(watched.change().await[1], just(&["edited"]));
}

// ---- A reload leaves nothing behind.

#[test]
fn slow_a_thousand_reloads_leave_nothing_behind() {
    arena::alone(
        "reload::slow_a_thousand_reloads_leave_nothing_behind",
        reload_a_thousand_times,
    );
}

/// After so many reloads the caches of V8, of the allocator and of haft are full.
const WARM: usize = 100;

async fn reload_a_thousand_times(arena: &Arena) {
    let root = arena.folder();
    let tools = root.join("home/.omp/agent/tools");
    fs::create_dir_all(&tools).expect("ours");
    let env = Env {
        current_dir: Some(root.to_owned()),
        home: Some(root.join("home")),
        ..Env::default()
    };
    let config = crate::sandbox::resolve(Flags::default(), &env).expect("a configuration");
    let host = Host::new(config);
    fs::write(tools.join("stays.ts"), module("stays", "stays")).expect("ours");
    // A megabyte of code and data each time, so that a leak shows at once.
    let ballast = format!(
        "const ballast = new Array(60_000).fill(0).map((_, at) => ({{ at }}));\n// {}\n",
        "x".repeat(100_000)
    );
    let mut before = None;
    for number in 0..1000 {
        let text = format!("{ballast}{}", module("edited", &number.to_string()));
        fs::write(tools.join("edited.ts"), text).expect("ours");
        host.refresh().await;
        // Each version is really loaded: its ballast is made at load time.
        if number % 50 == 0 {
            assert_eq!(text_of(&host, "edited").await, format!("{number} 1"));
        }
        if number == WARM {
            // It comes from the cache, and has no isolate before its first call.
            assert_eq!(text_of(&host, "stays").await, "stays 1");
            before = Some(Holding::now());
        }
    }
    assert_eq!(text_of(&host, "edited").await, "999 1");
    assert_eq!(text_of(&host, "stays").await, "stays 2");
    let before = before.expect("it was warm");
    Holding::once_back_to(&before).assert_back_to(&before, 48);
    host.shutdown().await;
}

async fn text_of(host: &Host, tool: &str) -> String {
    let call = Call {
        id: "c".into(),
        tool: tool.into(),
        arguments: RawValue::from_string("{}".into()).expect("it is JSON"),
    };
    host.call(call, None)
        .outcome()
        .await
        .expect("it runs")
        .text()
}

// ---- The program.

#[test]
fn watch_shows_changes_at_a_terminal() {
    let sandbox = Sandbox::with_home();
    let path = format!("{USER}/greet.ts");
    sandbox.write(&path, &module("greet", "one"));
    let mut command = sandbox.haft();
    command.arg("watch");
    let mut terminal = Terminal::start(100, &command);
    terminal.shows("watching 1 tool; Ctrl-C ends");
    sandbox.write(&path, &module("greet", "two"));
    terminal.shows(" greet");
    sandbox.write(&path, "export default () => ({\n  name:: 'greet' });\n");
    terminal.shows("error");
    terminal.shows("name:: 'greet'");
    terminal.shows("last good version");
    sandbox.write(&format!("{USER}/more.ts"), &module("more", "one"));
    terminal.shows(" more");
    terminal.types("\u{3}");
    let (_, code) = terminal.end();
    assert_eq!(code, Some(0));
}
