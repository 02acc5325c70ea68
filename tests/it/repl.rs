//! `haft repl` at a real terminal, key by key, and without one (`docs/repl.md`).

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use crate::programs::goes;
use crate::pty::Terminal;
use crate::sandbox::Sandbox;

const CTRL_C: &str = "\x03";
const CTRL_D: &str = "\x04";
const TAB: &str = "\t";
const UP: &str = "\x1b[A";

/// Escape sequence at the beginning of a line; the prompt itself is redrawn with every key.
const BEGINS: &str = "\x1b[?2004h";
const PROMPT: &str = "haft> ";

const TOOLS: &str = r#"
const says = (text) => ({ content: [{ type: "text", text }] });
const tool = (name, execute, more) => ({ name, description: `About ${name}.`, parameters: { type: "object" }, execute, ...more });

export default (pi) => [
  tool("greet", async (_id, args) => says(`Hello ${JSON.stringify(args)}`), { parameters: pi.zod.object({
    name: pi.zod.string().describe("whom"),
    mood: pi.zod.enum(["calm", "merry"]).optional(),
    loud: pi.zod.boolean().optional(),
    times: pi.zod.number().optional(),
    tags: pi.zod.array(pi.zod.string()).optional(),
    where: pi.zod.object({ city: pi.zod.string() }).optional(),
  }) }),
  tool("fails", async () => { throw new Error("not today"); }),
  tool("waits", (_id, _params, onUpdate, _ctx, signal) => {
    onUpdate(says("step 1 of 2"));
    return new Promise((resolve) => signal.addEventListener("abort", () => resolve(says("asked to stop"))));
  }),
  tool("deaf", (_id, _params, onUpdate) => { onUpdate(says("deaf to everything")); return new Promise(() => {}); }),
  tool("boxed", async () => says("plain words"), {
    renderResult: () => ({ render: () => ["+-------+", "| drawn |", "+-------+"], invalidate() {} }),
  }),
  tool("asks", async () => says(`answered ${await pi.ui.confirm("Go on?", "")}`)),
  tool("stages", async () => {
    pi.pushPendingAction({ label: "Rename 3 files", apply: async () => says("they are renamed") });
    return says("staged");
  }),
  tool("holds", () => {
    void pi.exec("sh", ["-c", "trap '' TERM; echo $$ >pid; exec sleep 1000"]);
    return new Promise(() => {});
  }),
  tool("spins", async (_id, _params, onUpdate) => {
    onUpdate(says("round and round"));
    await new Promise((resolve) => setTimeout(resolve));
    for (;;);
  }),
  tool("looks", async (_id, _params, _onUpdate, ctx) => says(`looked ${ctx.autoApprove ? "freely" : "with care"}`), { approval: "read" }),
  tool("starts", async (_id, _params, _onUpdate, _ctx, signal) => {
    void pi.exec("sh", ["-c", "echo $$ >pid; exec sleep 1000"]);
    return says("started");
  }),
];
"#;

struct Fixture(Sandbox);

impl Fixture {
    fn new() -> Fixture {
        let sandbox = Sandbox::with_home();
        sandbox.write("tools.ts", TOOLS);
        Fixture(sandbox)
    }

    /// Makes a fixture with the todo list of the examples.
    fn with_todo() -> Fixture {
        let fixture = Fixture::new();
        let example = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/example-tools/js/state/index.ts"
        );
        let text = fs::read_to_string(example).expect("an example");
        fixture.0.write(".omp/tools/todo.ts", &text);
        fixture
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = self.0.haft();
        command
            .args(["--tool", "tools.ts", "--trust-project", "repl"])
            .args(arguments)
            .env("NO_COLOR", "1");
        command
    }

    fn at_terminal(&self, arguments: &[&str]) -> Repl {
        Repl::start(&self.command(arguments))
    }

    /// Runs these lines as standard input; returns the output and the exit code.
    fn script(&self, lines: &str) -> (String, i32) {
        self.0.write("lines", lines);
        let line = "haft --tool tools.ts --trust-project repl --session script <lines";
        let ran = self.0.sh(line);
        (ran.output, ran.code)
    }
}

/// Waits for the next prompt.
fn prompt(terminal: &mut Terminal) {
    terminal.shows(BEGINS);
    terminal.shows(PROMPT);
}

/// A repl whose prompt is there.
struct Repl(Terminal);

impl Repl {
    fn start(command: &Command) -> Repl {
        let mut terminal = Terminal::start(100, command);
        terminal.shows("Ctrl-D leaves\r\n");
        prompt(&mut terminal);
        Repl(terminal)
    }

    /// Types a line, and waits for its results and for the next prompt.
    fn line(&mut self, line: &str, comes_to: &[&str]) {
        self.keys(&format!("{line}\r"), comes_to);
    }

    fn keys(&mut self, keys: &str, comes_to: &[&str]) {
        self.0.types(keys);
        for text in comes_to {
            self.0.shows(text);
        }
        prompt(&mut self.0);
    }

    /// Leaves the repl; returns its output without control sequences.
    fn leave(mut self) -> String {
        self.0.types(CTRL_D);
        let (written, code) = self.0.end();
        assert_eq!(code, Some(0), "{written:?}");
        console::strip_ansi_codes(&written).replace('\r', "")
    }
}

// ---- Calls.

#[test]
fn a_line_calls_a_tool_however_its_arguments_are_written() {
    let fixture = Fixture::new();
    let mut repl = fixture.at_terminal(&["--plain"]);
    let cases = [
        ("greet name=Ada", r#"Hello {"name":"Ada"}"#),
        (
            r#"greet name="Ada Lovelace" times=2 loud=true"#,
            r#"Hello {"name":"Ada Lovelace","times":2,"loud":true}"#,
        ),
        (
            r#"greet name='it''s' tags=a tags=b where.city=Paris"#,
            r#"Hello {"name":"its","tags":["a","b"],"where":{"city":"Paris"}}"#,
        ),
        (
            r#"greet name=A tags:=["a b", "c"] where={"city": "New York"}"#,
            r#"Hello {"name":"A","tags":["a b","c"],"where":{"city":"New York"}}"#,
        ),
        (
            "greet --name Ada --loud --times=3",
            r#"Hello {"name":"Ada","loud":true,"times":3}"#,
        ),
        (
            "greet --loud name=B --arg times=1",
            r#"Hello {"loud":true,"name":"B","times":1}"#,
        ),
        (r#"greet {"name": "Ada"}"#, r#"Hello {"name":"Ada"}"#),
    ];
    for (line, result) in cases {
        // And how long it took.
        repl.line(line, &[result, "greet: "]);
    }
    repl.leave();
}

#[test]
fn a_script_is_run_and_asks_at_the_same_terminal() {
    let fixture = Fixture::new();
    let mut repl = fixture.at_terminal(&["--plain"]);
    let upper = "/run (await tools.looks()).toUpperCase()";
    repl.line(upper, &["LOOKED WITH CARE", "run_code: "]);
    repl.line(
        "/run null.x",
        &[
            "TypeError: Cannot read properties of null (reading 'x')",
            "at script.ts:1:6",
            "`run_code` reported an error",
        ],
    );
    repl.line("/run", &["`/run` wants code behind it"]);
    repl.0.types("/run await tools.greet({ name: 'Ada' })\r");
    repl.0.shows("A script waits for the approval of 1 call");
    repl.0.shows("❯ Approve for this run");
    repl.keys("\r", &[r#"Hello {"name":"Ada"}"#]);
    // The code mode ends with the script.
    repl.line("run_code code=1", &["there is no tool `run_code`"]);
    repl.leave();

    let (output, code) = fixture.script("/run await tools.looks()\n/run 20 + 22\n");
    assert!(output.ends_with("looked with care\n42\n"), "{output}");
    assert_eq!(code, 0);
    let (output, code) = fixture.script("/run await tools.greet({ name: 'Ada' })\n");
    assert!(output.contains("requires approval"), "{output}");
    assert_eq!(code, 1);
}

#[test]
fn errors_are_shown_with_a_hint_and_the_prompt_returns() {
    let fixture = Fixture::new();
    fixture.0.write("broken.ts", "throw new Error('boom');");
    let mut command = fixture.0.haft();
    command.args(["--tool", "tools.ts", "--tool", "broken.ts", "repl"]);
    let mut terminal = Terminal::start(100, command.env("NO_COLOR", "1"));
    terminal.shows("haft 0.1.0: 11 tools, 1 problem (/problems). Tab completes");
    prompt(&mut terminal);
    let mut repl = Repl(terminal);
    let cases = [
        (
            "gret name=Ada",
            "there is no tool `gret`",
            "did you mean `greet`?",
        ),
        (
            "greet nmae=Ada",
            "there is no argument `nmae`",
            "did you mean `name`?",
        ),
        (
            "greet Ada",
            "`Ada` has no name",
            "write `name=Ada`; there are `name`, `mood`",
        ),
        ("greet {name: 1}", "not valid JSON", "JSON"),
        ("greet times=many", "Validation failed", "expected number"),
        ("fails", "not today", "`fails` reported an error"),
        (
            "/tols",
            "there is no command `/tols`",
            "did you mean `/tools`?",
        ),
        (
            "/tool gret",
            "there is no tool `gret`",
            "did you mean `greet`?",
        ),
        (
            "/session swich a",
            "`/session swich` means nothing",
            "did you mean `/session switch`?",
        ),
        (
            "/session switch nowhere",
            "there is no session `nowhere`",
            "`/session new nowhere`",
        ),
        (
            "/session branch 12",
            "has no entry `12`",
            "`/session` lists the entries",
        ),
        (
            "/approve yollo",
            "`yollo` is no mode",
            "did you mean `yolo`?",
        ),
        ("/problems", "Failed to load tool: boom", "broken.ts:1:7"),
    ];
    for (line, wrong, hint) in cases {
        repl.line(line, &[wrong, hint]);
    }
    repl.line("greet name=Ada", &["Hello"]);
    repl.leave();
}

#[test]
fn an_open_bracket_or_quote_goes_on_in_the_next_line() {
    let fixture = Fixture::new();
    let mut repl = fixture.at_terminal(&["--plain"]);
    repl.0.types("greet {\r");
    repl.0.shows("  ... ");
    repl.line("\"name\": \"Ada\"}", &[r#"Hello {"name":"Ada"}"#]);
    repl.0.types("greet name='two\r");
    repl.0.shows("  ... ");
    repl.line("lines'", &[r#"Hello {"name":"two\nlines"}"#]);
    repl.leave();
}

#[test]
fn results_are_drawn_as_their_tools_draw_them_and_updates_while_they_come() {
    let fixture = Fixture::new();
    let mut repl = fixture.at_terminal(&[]);
    repl.line("boxed", &["+-------+", "| drawn |"]);
    repl.0.types("waits\r");
    repl.0.shows("step 1 of 2");
    repl.0.types(CTRL_C);
    repl.0.shows("cancelling `waits`; Ctrl-C again kills it");
    repl.0.shows("asked to stop");
    prompt(&mut repl.0);
    repl.leave();
    let mut repl = fixture.at_terminal(&["--plain"]);
    repl.line("boxed", &["plain words"]);
    assert!(!repl.leave().contains("| drawn |"));
}

#[test]
fn ctrl_c_cancels_the_call_and_not_the_repl() {
    let fixture = Fixture::new();
    let mut repl = fixture.at_terminal(&["--plain"]);
    // A tool that reacts to the signal returns its last words; a tool that does not is killed.
    repl.0.types("waits\r");
    repl.0.shows("step 1 of 2");
    repl.keys(
        CTRL_C,
        &["cancelling `waits`", "asked to stop", "(cancelled)"],
    );
    repl.0.types("deaf\r");
    repl.0.shows("deaf to everything");
    repl.0.types(CTRL_C);
    repl.0.shows("cancelling `deaf`; Ctrl-C again kills it");
    repl.keys(CTRL_C, &["`deaf` was killed"]);
    repl.line("greet name=Ada", &["Hello"]);
    // Without a call it drops the line, or says how to leave.
    repl.0.types("greet name=Bob");
    repl.0.shows("name=Bob");
    repl.keys(CTRL_C, &[]);
    repl.keys(
        CTRL_C,
        &["Ctrl-D leaves; while a call runs, Ctrl-C cancels it"],
    );
    assert!(!repl.leave().contains("Hello {\"name\":\"Bob\"}"));
}

#[test]
fn a_second_ctrl_c_ends_the_call_by_force_however_long_its_grace_is() {
    const STAYS: &str = "trap '' TERM; echo $$ >pid; exec sleep 1000";
    let fixture = Fixture::new();
    let config = "home/.config/haft/config.yaml";
    fixture.0.write(config, "limits: {grace: 1h}\n");
    let described = r#"{"name":"stays","description":"d"}"#;
    let script = fixture.0.write(
        "home/.ikigai/tools/stays",
        &format!(
            "#!/bin/sh\nif [ \"$1\" = --schema ]; then echo '{described}'; exit; fi\n{STAYS}\n"
        ),
    );
    fs::set_permissions(script, fs::Permissions::from_mode(0o755)).expect("it is ours");
    let yaml = format!("name: shell\ndescription: d\nbash: \"{STAYS}\"\n");
    fixture.0.write(".cycod/tools/shell.yaml", &yaml);
    fixture.0.fifo("pid");
    let mut repl = fixture.at_terminal(&["--plain", "--yolo"]);
    // A module's child, an executable, a YAML tool: none of them reacts to the first signal.
    for tool in ["holds", "stays", "shell"] {
        repl.0.types(&format!("{tool}\r"));
        let pid = fs::read_to_string(fixture.0.path().join("pid")).expect("it has started");
        repl.0.types(CTRL_C);
        repl.0
            .shows(&format!("cancelling `{tool}`; Ctrl-C again kills it"));
        repl.keys(CTRL_C, &["(cancelled)"]);
        assert!(goes(&pid), "{tool}");
        repl.line("greet name=Ada", &["Hello"]);
    }
    // A looping tool does not react to the signal.
    repl.0.types("spins\r");
    repl.0.shows("round and round");
    repl.0.types(CTRL_C);
    repl.0.shows("cancelling `spins`");
    repl.keys(CTRL_C, &["`spins` was killed", "(cancelled)"]);
    repl.line("greet name=Ada", &["Hello"]);
    repl.leave();
}

#[test]
fn tools_ask_and_what_they_leave_pending_is_offered() {
    let fixture = Fixture::new();
    let mut repl = fixture.at_terminal(&["--plain"]);
    repl.0.types("asks\r");
    repl.0.shows("[asks] Go on?");
    repl.0.shows("Yes or No? [y/N]");
    repl.keys("y", &["answered true"]);
    repl.0.types("stages\r");
    repl.0.shows("staged");
    repl.0.shows("Pending: Rename 3 files");
    repl.0.shows("❯ Apply");
    repl.keys("\r", &["they are renamed"]);
    repl.0.types("stages\r");
    repl.0.shows("Pending: Rename 3 files");
    repl.0.shows("❯ Apply");
    repl.keys("\x1b[B\r", &["❯ Discard"]);
    repl.leave();
}

#[test]
fn a_project_can_be_trusted_at_the_first_call_of_its_tools() {
    let fixture = Fixture::new();
    fixture.0.write(
        ".omp/tools/theirs.ts",
        "export default () => ({ name: 'theirs', description: '', parameters: { type: 'object' },
           execute: () => ({ content: [{ type: 'text', text: 'it ran' }] }) })",
    );
    let mut command = fixture.0.haft();
    command.args(["repl", "--plain"]).env("NO_COLOR", "1");
    let mut terminal = Terminal::start(100, &command);
    terminal.shows("haft 0.1.0: 0 tools");
    terminal.shows("1 not trusted (/problems)");
    prompt(&mut terminal);
    let mut repl = Repl(terminal);
    repl.0.types("theirs\r");
    repl.0.shows("Trust it? [y/N]");
    repl.keys("n\r", &["error: "]);
    repl.0.types("theirs\r");
    repl.0.shows("Trust it? [y/N]");
    repl.keys("y\r", &["it ran"]);
    // The rest of the repl uses the new host, which trusts the project.
    repl.line("/session", &["theirs", "it ran"]);
    repl.line("theirs", &["it ran"]);
    repl.leave();
}

// ---- Completion.

#[test]
fn tab_completes_names_arguments_and_values() {
    let fixture = Fixture::new();
    let mut repl = fixture.at_terminal(&["--plain"]);
    let cases = [
        (format!("gr{TAB}na{TAB}Ada"), r#"Hello {"name":"Ada"}"#),
        (
            format!("greet name=A moo{TAB}m{TAB}lo{TAB}t{TAB}"),
            r#"Hello {"name":"A","mood":"merry","loud":true}"#,
        ),
        (
            format!("greet name=A whe{TAB}\x7f.{TAB}Paris"),
            r#"Hello {"name":"A","where":{"city":"Paris"}}"#,
        ),
        (
            format!("greet --na{TAB}Ada --mo{TAB}c{TAB}"),
            r#"Hello {"name":"Ada","mood":"calm"}"#,
        ),
        // Inside of JSON, with the quote and without it, and in an object of an object.
        (
            format!(r#"greet {{"na{TAB}"A", moo{TAB}"c{TAB}, "loud": f{TAB}}}"#),
            r#"Hello {"name":"A","mood":"calm","loud":false}"#,
        ),
        (
            format!(r#"greet {{"where": {{{TAB}"Rome"}}, "na{TAB}"A"}}"#),
            r#"Hello {"where":{"city":"Rome"},"name":"A"}"#,
        ),
        (format!("/hel{TAB}ses{TAB}"), "go on from an earlier entry"),
        (format!("/tool gre{TAB}"), "mood"),
        (format!("/appr{TAB}alw{TAB}"), "always-ask: "),
        (format!("/approve loo{TAB}"), "approved here: looks"),
    ];
    for (keys, result) in cases {
        repl.line(&keys, &[result]);
    }
    // Several are shown to choose from.
    repl.0.types(&format!("greet name=A mood={TAB}"));
    // Without colours the one that Enter takes is in capitals.
    repl.0.shows("CALM");
    repl.0.shows("merry");
    repl.keys(CTRL_C, &[]);
    repl.leave();
}

#[test]
fn tab_knows_the_sessions_and_their_entries() {
    let fixture = Fixture::with_todo();
    fixture.script("/quit\n");
    let mut repl = fixture.at_terminal(&["--plain"]);
    repl.line(
        &format!("/session swi{TAB}scr{TAB}"),
        &["nothing is kept in it yet"],
    );
    repl.line("todo action=add text=one", &["[ ] 1 one"]);
    // The only entry there is.
    repl.line(&format!("/session branch {TAB}"), &["> ", "[ ] 1 one"]);
    repl.leave();
}

// ---- Commands.

#[test]
fn tools_are_listed_and_shown() {
    let fixture = Fixture::new();
    let mut repl = fixture.at_terminal(&[]);
    repl.line("/tools GREET", &["NAME", "greet", "About greet."]);
    repl.line("/tools nothing", &["no tool has `nothing` in it"]);
    repl.line(
        "/tool greet",
        &["About greet.", "ARGUMENT", "mood", "calm | merry"],
    );
    repl.line("/tool", &["About greet.", "About fails.", "About starts."]);
    repl.line("/help", &["/session", "/approve", "/quit"]);
    repl.line("/problems", &["nothing is wrong"]);
    repl.0.types("/quit\r");
    let (written, code) = repl.0.end();
    assert_eq!(code, Some(0), "{written:?}");
}

#[test]
fn the_approval_mode_is_the_repls_own() {
    let fixture = Fixture::new();
    fixture.0.write(
        "home/.config/haft/config.yaml",
        "approval: {mode: always-ask, tools: {fails: deny, boxed: prompt}}\n",
    );
    let mut repl = fixture.at_terminal(&["--plain"]);
    repl.line("looks", &["looked with care"]);
    let asks = |repl: &mut Repl, tool: &str| {
        repl.0.types(&format!("{tool}\r"));
        repl.0.shows(&format!("Allow tool: {tool}"));
        repl.0.shows("Approve or Deny? [a/d] ");
        repl.keys("d\r", &["was refused"]);
    };
    asks(&mut repl, "stages");
    repl.line(
        "/approve",
        &["always-ask: what only reads", "boxed: prompt, fails: deny"],
    );
    repl.line("/approve boxed", &["approved here: boxed"]);
    repl.line("boxed", &["plain words"]);
    // Other tools still need approval.
    asks(&mut repl, "stages");
    repl.line("/approve fails", &["your configuration denies `fails`"]);
    repl.line("/approve yolo", &["yolo: everything runs"]);
    repl.line("starts", &["started"]);
    // Tools see the approval policy of their call.
    repl.line("looks", &["looked freely"]);
    repl.line("fails", &["blocked by user policy", "was refused"]);
    repl.line("/approve reset", &["always-ask"]);
    repl.line("looks", &["looked with care"]);
    asks(&mut repl, "boxed");
    repl.leave();
}

#[test]
fn a_list_follows_its_session_through_switch_and_branch() {
    let fixture = Fixture::with_todo();
    let mut repl = fixture.at_terminal(&["--plain", "--session", "home"]);
    repl.line("todo action=add text=one", &["[ ] 1 one"]);
    repl.line("todo action=add text=two", &["[ ] 1 one", "[ ] 2 two"]);
    // Another session has another list.
    repl.line("/session new work", &["work", "nothing is kept in it yet"]);
    repl.line("todo action=list", &["nothing to do"]);
    repl.line("todo action=add text=report", &["[ ] 1 report"]);
    repl.line("/session list", &["work", "home"]);
    repl.line("/session new home", &["the session `home` is there"]);
    repl.line("/session switch home", &["ENTRY", "* ", "[ ] 1 one", "> "]);
    repl.line("todo action=list", &["[ ] 1 one", "[ ] 2 two"]);
    // Back to its first entry: the later ones are on another branch.
    let file = fixture
        .0
        .path()
        .join("home/.local/state/haft/sessions/home.jsonl");
    let text = fs::read_to_string(&file).expect("it was kept");
    let entry: serde_json::Value =
        serde_json::from_str(text.lines().nth(2).expect("a result")).expect("JSON");
    let id = entry["id"].as_str().expect("an id");
    repl.line(
        &format!("/session branch {}", &id[..7]),
        &["> ", "[ ] 1 one"],
    );
    repl.line("todo action=add text=three", &["[ ] 1 one", "[ ] 2 three"]);
    repl.leave();
    // By its id, from another repl; a repl without a session starts empty.
    let header: serde_json::Value =
        serde_json::from_str(text.lines().next().expect("a header")).expect("JSON");
    let mut repl = fixture.at_terminal(&["--plain"]);
    repl.line("todo action=list", &["nothing to do"]);
    let id = header["id"].as_str().expect("an id");
    repl.line(&format!("/session switch {id}"), &["[ ] 2 three"]);
    repl.line("todo action=list", &["[ ] 1 one", "[ ] 2 three"]);
    repl.leave();
}

#[test]
fn without_a_call_no_session_is_kept() {
    let fixture = Fixture::new();
    let sessions = fixture.0.path().join("home/.local/state/haft/sessions");
    let mut repl = fixture.at_terminal(&["--plain"]);
    repl.line("/session", &["repl-2", "nothing is kept in it yet"]);
    repl.leave();
    assert!(!sessions.exists());
    let mut repl = fixture.at_terminal(&["--plain"]);
    repl.line("looks", &["looked"]);
    repl.leave();
    let kept = fs::read_dir(&sessions).expect("it was made").count();
    assert_eq!(kept, 1);
}

// ---- Changes during a session.

#[test]
fn what_is_saved_is_loaded_and_the_line_that_is_being_written_stays() {
    let fixture = Fixture::with_todo();
    let mut repl = fixture.at_terminal(&["--plain", "--session", "s"]);
    repl.line("todo action=add text=one", &["[ ] 1 one"]);
    repl.0.types("greet na");
    repl.0.shows("greet na");
    let shout = TOOLS.replace("Hello", "HELLO");
    fixture.0.write("tools.ts", &shout);
    repl.0.shows("= greet");
    prompt(&mut repl.0);
    repl.line("me=Ada", &[r#"HELLO {"name":"Ada"}"#]);
    // A reloaded module rebuilds its list from the session.
    let path = fixture.0.path().join(".omp/tools/todo.ts");
    let todo = fs::read_to_string(&path).expect("it is there");
    fixture.0.write(
        ".omp/tools/todo.ts",
        &todo.replace("nothing to do", "all done"),
    );
    repl.keys("", &["= todo"]);
    repl.line("todo action=list", &["[ ] 1 one"]);
    // A module that does not load any more keeps its last version.
    fixture.0.write(".omp/tools/todo.ts", "export default (");
    repl.keys("", &["error: ", "todo.ts"]);
    repl.line("todo action=list", &["[ ] 1 one"]);
    repl.leave();
}

#[test]
fn refresh_says_what_is_different() {
    let fixture = Fixture::new();
    let (output, code) = fixture.script("/refresh\n");
    assert_eq!((output.as_str(), code), ("nothing is different\n", 0));
    // Without a terminal files are not watched, so only a refresh finds the change. A tool makes
    // it.
    fixture.0.write(
        "tools.ts",
        r#"import fs from "node:fs";
        export default (pi) => ({ name: "grow", description: "", parameters: { type: "object" }, async execute() {
          fs.mkdirSync(".omp/tools", { recursive: true });
          fs.writeFileSync(".omp/tools/late.ts", "export default () => ({ name: 'late', description: '', parameters: {type:'object'}, execute: () => ({content: []}) })");
          return { content: [] };
        } })"#,
    );
    let (output, code) = fixture.script("grow\nlate\n/refresh\nlate\n");
    assert!(output.contains("there is no tool `late`"), "{output}");
    assert!(output.ends_with("+ late\n"), "{output}");
    assert_eq!(code, 1);
}

#[test]
fn the_prompt_does_not_wait_for_slow_tools() {
    let fixture = Fixture::new();
    fixture.0.fifo("gate");
    fixture.0.write(
        "slow.ts",
        "import fs from 'node:fs/promises';
         await fs.readFile('gate');
         export default () => ({ name: 'slow', description: '', parameters: {type: 'object'},
           execute: () => ({ content: [{ type: 'text', text: 'here at last' }] }) })",
    );
    let mut command = fixture.0.haft();
    command.args(["--tool", "slow.ts", "repl", "--plain"]);
    let mut terminal = Terminal::start(100, command.env("NO_COLOR", "1"));
    terminal.shows("the tools are still loading");
    prompt(&mut terminal);
    let mut repl = Repl(terminal);
    // Commands that need no tool work at once, and a command that waits for a tool can be
    // cancelled.
    repl.line("/help", &["/approve"]);
    repl.0.types("slow\r");
    repl.0.shows("loading tools");
    repl.keys(CTRL_C, &["interrupted while the tools were loading"]);
    repl.0.types("sl");
    repl.0.shows("sl");
    fixture.0.write("gate", "open");
    repl.0.shows("haft 0.1.0: 1 tool.");
    prompt(&mut repl.0);
    repl.line("ow", &["here at last"]);
    repl.leave();
}

#[test]
fn lines_are_remembered_for_their_user_alone() {
    let fixture = Fixture::new();
    let mut repl = fixture.at_terminal(&["--plain"]);
    repl.line("greet name=First", &["Hello"]);
    repl.line(" greet name=Secret", &["Hello"]);
    repl.leave();
    let file = fixture.0.path().join("home/.local/state/haft/repl-history");
    let text = fs::read_to_string(&file).expect("it is there");
    assert_eq!(text, "greet name=First\n");
    let mode = file.metadata().expect("it is there").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let mut repl = fixture.at_terminal(&["--plain"]);
    repl.keys(&format!("{UP}\r"), &[r#"Hello {"name":"First"}"#]);
    repl.line("/history 1", &["2  /history 1"]);
    repl.leave();
}

// ---- The end.

#[test]
fn leaving_ends_what_tools_have_started() {
    let fixture = Fixture::new();
    fixture.0.fifo("pid");
    for keys in [CTRL_D, "/quit\r"] {
        let mut repl = fixture.at_terminal(&["--plain"]);
        repl.line("starts", &["started"]);
        let pid = fs::read_to_string(fixture.0.path().join("pid")).expect("it has started");
        let program = format!("/proc/{}", pid.trim());
        assert!(fs::exists(program).expect("Linux"));
        // A call that was abandoned does not delay the exit.
        repl.0.types("deaf\r");
        repl.0.shows("deaf to everything");
        repl.0.types(CTRL_C);
        repl.0.shows("cancelling `deaf`");
        repl.keys(CTRL_C, &["was killed"]);
        repl.0.types(keys);
        let (written, code) = repl.0.end();
        assert_eq!(code, Some(0), "{written:?}");
        // The process was killed; on a busy machine it disappears a moment later.
        assert!(goes(&pid), "{pid} is left");
    }
}

#[test]
fn a_signal_ends_it_at_the_prompt_and_in_a_call() {
    let fixture = Fixture::new();
    for signal in ["TERM", "HUP"] {
        for in_a_call in [false, true] {
            let mut repl = fixture.at_terminal(&["--plain"]);
            if in_a_call {
                repl.0.types("waits\r");
                repl.0.shows("step 1 of 2");
            }
            let id = repl.0.id().to_string();
            let sent = Command::new("kill").args(["-s", signal, &id]).status();
            assert!(sent.expect("`kill` is on every machine").success());
            let (written, code) = repl.0.end();
            assert_eq!(code, Some(0), "{signal} {written:?}");
        }
    }
}

// ---- Without a terminal.

#[test]
fn a_script_runs_all_its_lines_and_its_exit_code_reports_failures() {
    let fixture = Fixture::with_todo();
    let (output, code) = fixture.script(
        "# A remark.\n\ngreet name=Ada\ngreet {\n  \"name\": \"Bob\"\n}\ntodo action=add text=one\n/tools todo\n",
    );
    let head = "Hello {\"name\":\"Ada\"}\nHello {\"name\":\"Bob\"}\n[ ] 1 one\nNAME";
    assert!(output.starts_with(head), "{output}");
    assert_eq!(code, 0);
    let (output, code) = fixture.script("fails\ngret\ngreet {\"name\":\ntodo action=list");
    let expected = "not today\nerror: `fails` reported an error\n\
                    error: there is no tool `gret`\nhint: did you mean `greet`?\n";
    assert!(output.starts_with(expected), "{output}");
    assert!(output.contains("not valid JSON"), "{output}");
    assert_eq!(code, 1);
    let (output, code) = fixture.script("fails\n/quit\ngreet name=Ada\n");
    assert_eq!(output, "not today\nerror: `fails` reported an error\n");
    assert_eq!(code, 1);
}

#[test]
fn ctrl_c_ends_a_script() {
    let fixture = Fixture::new();
    let ran = fixture.0.sh(
        "mkfifo lines errors; haft --tool tools.ts repl <lines 2>errors & exec 3>lines; echo waits >&3; \
         grep -m 1 'step 1' errors; kill -INT $!; echo 'greet name=Ada' >&3; wait $!; echo exit $?",
    );
    assert_eq!(ran.output, "· step 1 of 2\nasked to stop\nexit 130\n");
}
