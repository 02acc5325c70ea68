//! The questions of tools at a real terminal (`docs/ui.md`).

use std::fs;

use crate::pty::{Terminal, Tools};

const CTRL_C: &str = "\x03";
const DOWN: &str = "\x1b[B";
const LEFT: &str = "\x1b[D";
const ESCAPE: &str = "\x1b";

const TOOLS: &str = r#"
const says = (value) => ({ content: [{ type: "text", text: JSON.stringify(value ?? null) }] });
const tool = (name, execute) => ({ name, description: name, parameters: { type: "object" }, execute });
const months = ["January", "February", "March", "April", "May", "June", "July", "August", "September",
  "October", "November", "December"];

export default (pi) => [
  tool("choose", async (_id, { options }) => says(await pi.ui.select("Which month?", options ?? months))),
  tool("sure", async () => says(await pi.ui.confirm("Remove it?", "It is\x1b[2J gone then.\r\nFor good."))),
  tool("name", async () => says(await pi.ui.input("Your name?", "Ada"))),
  tool("text", async (_id, { prefill }) => says(await pi.ui.editor("Write", prefill))),
  tool("quick", async () => says(await pi.ui.input("Quick!", undefined, { timeout: 1000 }))),
  tool("both", async () => says(await Promise.all([pi.ui.confirm("First?", ""), pi.ui.confirm("Second?", "")]))),
  tool("news", async () => {
    pi.ui.setStatus("a", "step 1");
    pi.ui.notify("starting", "info");
    const asked = pi.ui.confirm("Go on?", "");
    await pi.exec("cat", ["asked"]);
    pi.ui.notify("while you think", "warning");
    await pi.exec("sh", ["-c", "echo >said"]);
    const answer = await asked;
    pi.ui.notify("done", "error");
    return says(answer);
  }),
  tool("waits", async (_id, _params, _onUpdate, _ctx, signal) => {
    const answer = await pi.ui.confirm("Go on?", "");
    return says({ answer, aborted: signal.aborted });
  }),
  tool("stage", async () => {
    pi.pushPendingAction({ label: "Rename 3 files", apply: async (reason) => says(`applied: ${reason}`) });
    return says("staged");
  }),
  tool("there", async () => says(pi.hasUI)),
];
"#;

#[test]
fn a_choice_is_made_with_arrows_or_by_typing_a_part_of_it() {
    let fixture = Tools::new(TOOLS);
    let mut terminal = fixture.call(&["choose"]);
    terminal.shows("[choose] Which month?");
    terminal.shows("❯ January");
    terminal.shows("  October");
    terminal.shows("12 to choose from; type to narrow them down");
    terminal.types(DOWN);
    terminal.shows("❯ February");
    terminal.types("\r");
    terminal.shows("❯ February\r\n");
    terminal.answers("\"February\"");

    let mut terminal = fixture.call(&["choose"]);
    terminal.shows("12 to choose from");
    terminal.types("EMB");
    terminal.shows("`EMB`: 3 of 12");
    terminal.types(DOWN);
    terminal.shows("❯ November");
    terminal.types("\x7f\x7f\x7fxyz");
    terminal.shows("nothing has `xyz` in it");
    // Without a match Enter does nothing.
    terminal.types("\r\x15dec");
    terminal.shows("❯ December");
    terminal.types("\r");
    terminal.answers("\"December\"");

    let mut terminal = fixture.call(&["choose"]);
    terminal.shows("❯ January");
    terminal.types(ESCAPE);
    terminal.shows("(no answer)");
    terminal.answers("null");
}

#[test]
fn options_cannot_draw_and_are_given_back_as_they_were() {
    let fixture = Tools::new(TOOLS);
    let options = r#"{"options":["plain","\u001b[31mred\u001b[0m\nsecond line","日本語の長い選択肢日本語の長い選択肢日本語の長い選択肢日本語の長い選択肢"]}"#;
    let mut terminal = fixture.call(&["choose", options]);
    terminal.shows("  red\r\n");
    // Wide characters take two cells: the line is cut where the terminal ends.
    terminal.shows("日本語の長い選択肢日本語の長い選択肢日本語の長い選択肢日…");
    terminal.types(DOWN);
    terminal.shows("❯ red");
    terminal.types("\r");
    terminal.answers(r#""\u001b[31mred\u001b[0m\nsecond line""#);
}

#[test]
fn yes_is_required() {
    let fixture = Tools::new(TOOLS);
    for (key, expected) in [
        ("y", "true"),
        ("n", "false"),
        ("\r", "false"),
        (ESCAPE, "false"),
    ] {
        let mut terminal = fixture.call(&["sure"]);
        terminal.shows("[sure] Remove it?");
        // Only the first line names the tool.
        terminal.shows("│ ");
        terminal.shows("It is gone then.\r\n");
        terminal.shows("│ ");
        terminal.shows("For good.\r\n");
        terminal.shows("Yes or No? [y/N]");
        terminal.types(key);
        terminal.answers(expected);
    }
}

#[test]
fn a_line_can_be_edited_character_by_character() {
    let fixture = Tools::new(TOOLS);
    let mut terminal = fixture.call(&["name"]);
    terminal.shows("[name] Your name?");
    terminal.shows("❯ Ada");
    // A family emoji is erased as one character, and text can be inserted before the end.
    terminal.types("Gräce👨‍👩‍👧\x7f");
    terminal.types(LEFT);
    terminal.types("X\x7f");
    terminal.types("\x05 Hopper\x17Murray\r");
    terminal.answers("\"Gräce Murray\"");

    let mut terminal = fixture.call(&["name"]);
    terminal.shows("❯ Ada");
    terminal.types("\r");
    terminal.answers("\"\"");

    let mut terminal = fixture.call(&["name"]);
    terminal.shows("❯ Ada");
    terminal.types("\x04");
    terminal.answers("null");

    // Longer than the terminal: the cursor stays visible.
    let mut terminal = fixture.call(&["name"]);
    terminal.shows("❯ Ada");
    let long = "0123456789".repeat(9);
    terminal.types(&long);
    terminal.types("!\r");
    terminal.answers(&format!("\"{long}!\""));
}

#[test]
fn the_users_editor_writes_the_text() {
    let fixture = Tools::new(TOOLS);
    fixture.0.write(
        "editor.sh",
        "#!/bin/sh\ntest -t 0 && test -t 1 && sed -i 's/one/two/' \"$1\" && echo last >> \"$1\"\n",
    );
    let mut command = fixture.haft(&["text", r#"{"prefill":"line one\n"}"#]);
    command.env("EDITOR", "sh editor.sh");
    Terminal::start(60, &command).answers("\"line two\\nlast\\n\"");

    let mut command = fixture.haft(&["text", r#"{"prefill":"same"}"#]);
    command.env("EDITOR", "true");
    Terminal::start(60, &command).answers("\"same\"");

    let mut command = fixture.haft(&["text"]);
    command.env("EDITOR", "false");
    let mut terminal = Terminal::start(60, &command);
    terminal.shows("the editor `false` failed (exit code 1)");
    terminal.answers("null");
}

#[test]
fn questions_come_one_at_a_time_and_go_by_themselves() {
    let fixture = Tools::new(TOOLS);
    let mut terminal = fixture.call(&["both"]);
    terminal.shows("First?");
    terminal.shows("[y/N]");
    terminal.types("y");
    terminal.shows("❯ Yes");
    terminal.shows("Second?");
    terminal.shows("[y/N]");
    terminal.types("n");
    terminal.answers("[true,false]");

    let mut terminal = fixture.call(&["quick"]);
    terminal.shows("Quick!");
    terminal.shows("(not asked any more)");
    terminal.answers("null");
}

#[test]
fn messages_wait_while_a_question_is_on_the_screen() {
    let fixture = Tools::new(TOOLS);
    for pipe in ["asked", "said"] {
        fixture.0.fifo(pipe);
    }
    let mut terminal = fixture.call(&["news"]);
    terminal.shows("[news] starting");
    terminal.shows("[y/N]");
    // The tool continues once the question is shown, and the answer comes after its message.
    fixture.0.write("asked", "\n");
    fs::read(fixture.0.path().join("said")).expect("the tool writes into it");
    terminal.types("y");
    terminal.shows("❯ Yes");
    terminal.shows("[news] warning: while you think");
    terminal.shows("[news] error: done");
    terminal.answers("true");
}

#[test]
fn what_a_call_leaves_pending_is_applied_or_discarded_before_haft_ends() {
    let fixture = Tools::new(TOOLS);
    let mut terminal = fixture.call(&["stage"]);
    terminal.shows("\"staged\"");
    terminal.shows("[resolve] Pending: Rename 3 files");
    terminal.shows("❯ Apply");
    terminal.types("\r");
    terminal.answers("\"applied: chosen at the terminal\"");

    let mut terminal = fixture.call(&["stage"]);
    terminal.shows("❯ Apply");
    terminal.types(ESCAPE);
    terminal.answers("Discarded: Rename 3 files. Reason: chosen at the terminal");
    // With `--json` a program reads the result and cannot be asked later, so the call fails.
    let (last, code) = fixture.call(&["stage", "--json"]).result();
    assert_eq!(code, Some(1), "{last}");
}

#[test]
fn ctrl_c_takes_the_question_back_and_ends_the_call() {
    let fixture = Tools::new(TOOLS);
    let mut terminal = fixture.call(&["waits"]);
    terminal.shows("[y/N]");
    terminal.types(CTRL_C);
    terminal.shows("(not asked any more)");
    terminal.shows("cancelling `waits`");
    terminal.shows(r#"{"answer":false,"aborted":true}"#);
    let (_, code) = terminal.end();
    assert_eq!(code, Some(130));
}

#[test]
fn the_terminal_is_left_as_it_was() {
    let fixture = Tools::new(TOOLS);
    for key in ["y", ESCAPE, CTRL_C] {
        let mut terminal = fixture.call_between_modes(&["waits"]);
        terminal.shows("[y/N]");
        terminal.types(key);
        terminal.shows("same mode");
        drop(terminal);
    }
}

#[test]
fn without_a_terminal_no_question_is_asked() {
    let fixture = Tools::new(TOOLS);
    fixture.call(&["there"]).answers("true");
    let ran = fixture.0.sh("haft --tool tools.ts call there </dev/null");
    assert_eq!(ran.output, "false\n");
}
