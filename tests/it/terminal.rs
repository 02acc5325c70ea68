//! The program at a terminal, and every exit code (`docs/cli.md`).
//!
//! The terminal is a real one, so Ctrl-C is a key here and a signal there.

use std::io::{Read, pipe};
use std::process::{Command, Stdio};

use crate::programs::goes;
use crate::pty::Terminal;
use crate::sandbox::Sandbox;

const CTRL_C: &str = "\x03";

const TOOLS: &str = r#"
const says = (text) => ({ content: [{ type: "text", text }] });
const tool = (name, description, execute) => ({ name, description, parameters: { type: "object" }, execute });

export default (pi) => [
  { ...tool("greet", "Greets somebody by name, in as many words as it takes to fill more than one line of a narrow terminal.",
      async (_id, { name }) => says(`Hello, ${name}!`)),
    parameters: pi.zod.object({ name: pi.zod.string() }) },
  tool("fails", "Says no.", async () => { throw new Error("no"); }),
  tool("wait", "Ends when it is asked to.", (_id, _params, onUpdate, _ctx, signal) => {
    onUpdate(says("first line\nstep 1 of 2"));
    return new Promise((resolve) => signal.addEventListener("abort", () => resolve(says("asked to stop"))));
  }),
  tool("deaf", "Never ends.", (_id, _params, onUpdate) => {
    onUpdate(says("deaf to everything"));
    return new Promise(() => {});
  }),
];
"#;

fn sandbox() -> Sandbox {
    let sandbox = Sandbox::with_home();
    sandbox.write("tools.ts", TOOLS);
    sandbox
}

fn haft(sandbox: &Sandbox, arguments: &[&str]) -> Command {
    let mut command = sandbox.haft();
    command.args(["--tool", "tools.ts"]).args(arguments);
    command
}

fn at_terminal(sandbox: &Sandbox, columns: u16, arguments: &[&str]) -> Terminal {
    Terminal::start(columns, &haft(sandbox, arguments))
}

/// Without colours and other control sequences.
fn plain(text: &str) -> String {
    console::strip_ansi_codes(text).replace("\r\n", "\n")
}

// ---- A call at a terminal.

#[test]
fn a_spinner_shows_the_newest_line_and_goes_away() {
    let sandbox = sandbox();
    let mut terminal = at_terminal(&sandbox, 80, &["call", "wait"]);
    terminal.shows("wait");
    terminal.shows("step 1 of 2");
    terminal.types(CTRL_C);
    let (written, code) = terminal.end();
    assert_eq!(code, Some(130), "{written:?}");
    let last = written.rsplit("\x1b[2K").next().unwrap_or_default();
    assert!(!last.contains("step 1 of 2"), "{written:?}");
    assert!(plain(last).contains("asked to stop\n"), "{written:?}");
}

#[test]
fn ctrl_c_asks_and_a_second_one_kills_at_once() {
    let sandbox = sandbox();
    let mut terminal = at_terminal(&sandbox, 80, &["call", "deaf"]);
    terminal.shows("deaf to everything");
    terminal.types(CTRL_C);
    terminal.shows("cancelling `deaf`; Ctrl-C again kills it");
    terminal.types(CTRL_C);
    let (written, code) = terminal.end();
    assert!(plain(&written).contains("`deaf` was killed"), "{written:?}");
    assert_eq!(code, Some(130));
}

#[test]
fn a_second_ctrl_c_leaves_no_program_behind() {
    let sandbox = sandbox();
    let pid = sandbox.fifo("pid");
    sandbox.write(
        "stays.ts",
        "export default (pi) => ({ name: 'stays', description: '', parameters: { type: 'object' }, execute() {
           void pi.exec('sh', ['-c', `trap '' TERM; echo $$ >pid; exec sleep 1000`]);
           return new Promise(() => {}); } })",
    );
    let mut command = haft(&sandbox, &["--tool", "stays.ts", "call", "stays"]);
    let mut terminal = Terminal::start(80, command.env("HAFT_GRACE", "1h"));
    let pid = std::fs::read_to_string(pid).expect("it has started");
    terminal.types(CTRL_C);
    terminal.shows("cancelling `stays`; Ctrl-C again kills it");
    terminal.types(CTRL_C);
    let (written, code) = terminal.end();
    assert!(
        plain(&written).contains("`stays` was killed"),
        "{written:?}"
    );
    assert_eq!(code, Some(130));
    assert!(goes(&pid));
}

#[test]
fn one_ctrl_c_is_enough_for_a_tool_that_does_not_listen() {
    let sandbox = sandbox();
    let mut terminal = at_terminal(&sandbox, 80, &["call", "deaf"]);
    terminal.shows("deaf to everything");
    terminal.types(CTRL_C);
    terminal.shows("cancelling `deaf`");
    let (written, code) = terminal.end();
    assert!(plain(&written).contains("was cancelled"), "{written:?}");
    assert_eq!(code, Some(130));
}

#[test]
fn ctrl_c_ends_the_loading_of_tools() {
    let sandbox = sandbox();
    sandbox.write(
        "slow.ts",
        "await new Promise(() => { setInterval(() => {}, 1000); });",
    );
    for arguments in [&["list"][..], &["call", "wait"], &["doctor"]] {
        let mut command = haft(&sandbox, &["--tool", "slow.ts"]);
        let mut terminal = Terminal::start(80, command.args(arguments));
        terminal.shows("loading tools");
        terminal.types(CTRL_C);
        let (written, code) = terminal.end();
        assert_eq!(code, Some(130), "{arguments:?} {written:?}");
        let text = "interrupted while the tools were loading";
        assert!(plain(&written).contains(text), "{written:?}");
    }
}

#[test]
fn arguments_can_be_typed() {
    let sandbox = sandbox();
    let mut terminal = at_terminal(&sandbox, 80, &["call", "greet", "-"]);
    terminal.types("{\"name\": \"Ada\"}\n\x04");
    terminal.shows("Hello, Ada!");
    assert_eq!(terminal.end().1, Some(0));
}

// ---- What is printed.

#[test]
fn a_list_fits_its_terminal() {
    let sandbox = sandbox();
    let mut cuts = Vec::new();
    for columns in [80, 120] {
        let (written, code) = at_terminal(&sandbox, columns, &["list"]).end();
        assert_eq!(code, Some(0), "{written}");
        let page = plain(&written);
        for line in page.lines() {
            let width = console::measure_text_width(line);
            assert!(width <= columns.into(), "{width} of {columns}: {line}");
        }
        let greet = page.lines().find(|line| line.starts_with("greet "));
        let greet = greet.unwrap_or_else(|| panic!("no greet: {page}"));
        assert!(greet.ends_with("tools.ts"), "{greet}");
        let description = greet.split_once("Greets").expect("its description").1;
        let cut = description.split_once('…').expect("it is too long").0;
        cuts.push(cut.len());
    }
    assert!(cuts[0] < cuts[1], "a wider terminal shows more: {cuts:?}");
}

#[test]
fn colours_are_for_terminals_that_want_them() {
    let sandbox = sandbox();
    sandbox.write(
        "broken.ts",
        "export default () => { throw new Error('boom') }",
    );
    let list = |columns, name: &str, value: &str| {
        let mut command = haft(&sandbox, &["--tool", "broken.ts", "list"]);
        let (written, code) = Terminal::start(columns, command.env(name, value)).end();
        assert_eq!(code, Some(0));
        assert!(plain(&written).contains("boom"), "{written:?}");
        written
    };
    assert!(list(80, "LANG", "C.UTF-8").contains("\x1b["));
    assert!(!list(80, "NO_COLOR", "1").contains("\x1b["));
    assert!(!list(80, "CLICOLOR", "0").contains("\x1b["));

    let piped = sandbox.sh("haft --tool tools.ts --tool broken.ts list");
    assert!(!piped.output.contains('\x1b'), "{}", piped.output);
    let forced = sandbox.sh("CLICOLOR_FORCE=1 haft --tool tools.ts --tool broken.ts list");
    assert!(forced.output.contains("\x1b["), "{}", forced.output);
}

#[test]
fn a_reader_that_has_enough_is_no_error() {
    let sandbox = Sandbox::with_home();
    // More than a pipe holds, so haft still writes when `head` has gone.
    sandbox.write(
        "many.ts",
        "export default () => Array.from({ length: 2000 }, (_, number) => ({ name: `tool_${number}`, \
         description: 'One of many.', parameters: { type: 'object' }, execute() {} }));",
    );
    for command in ["list", "list --json", "schema"] {
        let line =
            format!("{{ haft --tool many.ts {command}; echo \"exit $?\" >&2; }} | head -c 5");
        let ran = sandbox.sh(&line);
        assert!(ran.output.ends_with("exit 0\n"), "{}", ran.output);
        assert_eq!(ran.output.len(), 5 + "exit 0\n".len(), "{}", ran.output);
    }
    // And a reader that never read anything.
    let (reader, writer) = pipe().expect("a pipe");
    drop(reader);
    let mut command = sandbox.haft();
    command.args(["--tool", "many.ts", "list"]);
    let ended = command.stdin(Stdio::null()).stdout(writer).output();
    let ended = ended.expect("haft starts");
    assert_eq!((ended.status.code(), ended.stderr), (Some(0), Vec::new()));
}

#[test]
fn json_is_indented_for_people_and_one_line_for_programs() {
    let sandbox = sandbox();
    let (written, code) = at_terminal(&sandbox, 80, &["list", "--json"]).end();
    assert_eq!(code, Some(0));
    assert!(plain(&written).starts_with("{\n  \"tools\""), "{written}");
    let (mut reader, writer) = pipe().expect("a pipe");
    let mut command = haft(&sandbox, &["list", "--json"]);
    let mut child = command.stdout(writer).spawn().expect("haft starts");
    drop(command);
    let mut text = String::new();
    reader.read_to_string(&mut text).expect("UTF-8");
    assert!(child.wait().expect("it is our child").success());
    assert_eq!(text.matches('\n').count(), 1, "{text}");
}

// ---- Exit codes.

#[test]
fn every_way_to_end_has_its_exit_code() {
    let sandbox = sandbox();
    let cases: [(&[&str], i32); 12] = [
        (&["call", "greet", "--arg", "name=Ada"], 0),
        (&["list"], 0),
        (&["call", "fails"], 1),
        (&["call", "greet"], 2),
        (&["call", "greet", "{\"name\": "], 2),
        (&["call", "greet", "{\"name\": 5, \"nick\": true}"], 2),
        (&["--tool"], 2),
        (&["lst"], 2),
        (&["call", "gret"], 3),
        (&["show", "gret"], 3),
        (&["call", "wait", "--timeout", "50ms"], 124),
        (&["call", "deaf", "--timeout", "50ms"], 124),
    ];
    for (arguments, expected) in cases {
        let (written, code) = at_terminal(&sandbox, 80, arguments).end();
        assert_eq!(code, Some(expected), "{arguments:?}: {written}");
    }
    sandbox.write(".omp/tools/theirs.ts", TOOLS);
    let mut command = sandbox.haft();
    let mut terminal = Terminal::start(80, command.args(["call", "theirs"]));
    terminal.shows("Trust it? [y/N]");
    terminal.types("n\n");
    let (written, code) = terminal.end();
    assert_eq!(code, Some(4), "{written}");
}
