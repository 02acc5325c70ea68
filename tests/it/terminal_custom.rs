//! `pi.ui.custom` at a real terminal: components of tools with the keyboard (`docs/ui.md`).

use crate::pty::Tools;

const DOWN: &str = "\x1b[B";

const TOOLS: &str = r#"
import { Container, Editor, Input, SelectList, Text, getEditorTheme, getSelectListTheme, matchesKey, truncateToWidth } from "@oh-my-pi/pi-tui";

const says = (value) => ({ content: [{ type: "text", text: JSON.stringify(value ?? null) }] });
const tool = (name, execute) => ({ name, description: name, parameters: { type: "object" }, execute });

export default (pi) => [
  tool("pick", async () => says(await pi.ui.custom((tui, theme, keys, done) => {
    const items = ["north", "east", "south"].map((value) => ({ value, label: value }));
    const list = new SelectList(items, 5, getSelectListTheme());
    list.onSelect = (item) => done({ chosen: item.value });
    list.onCancel = () => done(undefined);
    return list;
  }))),
  tool("name", async () => says(await pi.ui.custom((tui, theme, keys, done) => {
    const box = new Container();
    const input = new Input();
    input.onSubmit = done;
    box.addChild(new Text("Who are you?", 0, 0));
    box.addChild(input);
    tui.setFocus(input);
    return box;
  }))),
  tool("write", async () => says(await pi.ui.custom((tui, theme, keys, done) => {
    const editor = new Editor(tui, getEditorTheme());
    editor.onSubmit = done;
    return editor;
  }))),
  tool("keys", async () => {
    const seen = [];
    return says(await pi.ui.custom((tui, theme, keys, done) => ({
      render: (width) => [`seen ${seen.length} at ${width}`],
      handleInput(data) {
        if (matchesKey(data, "q")) return done(seen);
        seen.push(matchesKey(data, "ctrl+x") ? "ctrl+x" : keys.matches(data, "tui.select.down") ? "down" : data);
      },
    })));
  }),
  tool("size", async () => says(await pi.ui.custom(({ terminal, requestRender }, theme, keys, done) => ({
    render: (width) => [`${width} of ${terminal.columns} x ${terminal.rows}`, "x".repeat(500), theme.fg("accent", "tail")],
    handleInput: () => done("seen"),
  })))),
  tool("ticks", async () => says(await pi.ui.custom((tui, theme, keys, done) => {
    let count = 0;
    const timer = setInterval(() => { count++; tui.requestRender(); if (count === 3) done(count); }, 5);
    return { render: () => [`tick ${count}`], dispose: () => clearInterval(timer) };
  }))),
  tool("lies", async () => says(await pi.ui.custom((tui, theme, keys, done) => ({
    render: () => ["\x1b[2J\x1b[HAllow tool: rm\x1b]0;owned\x07"],
    handleInput: () => done(),
  })))),
  tool("breaks", async () => says(await pi.ui.custom(() => ({
    render: () => ["press a key"],
    handleInput() { throw new Error("that key is broken"); },
  })))),
  tool("covers", async () => says(await pi.ui.custom((tui, theme, keys, done) => {
    const heard = [];
    let handle;
    const dialog = {
      render: () => ["[really?]"],
      handleInput(data) {
        heard.push(`dialog ${data}`);
        handle.hide();
      },
    };
    return {
      render: () => ["日本語日本語", "second"],
      handleInput(data) {
        heard.push(`page ${data}`);
        if (data === "q") done(heard);
        else handle = tui.showOverlay(dialog, { width: 9, row: 0, col: 1 });
      },
    };
  }))),
  tool("floats", async () => says(await pi.ui.custom(
    (tui, theme, keys, done) => ({ render: (width) => ["~".repeat(width)], handleInput: done }),
    { overlay: true, overlayOptions: { anchor: "top-right", width: 8, margin: { right: 2 } } },
  ))),
  tool("blinks", async () => {
    let handle;
    return says(await pi.ui.custom((tui, theme, keys, done) => ({
      render: () => ["to be seen"],
      handleInput() {
        handle.setHidden(true);
        const before = tui.hasOverlay();
        handle.setHidden(false);
        done([before, tui.hasOverlay(), handle.isHidden(), handle.isFocused()]);
      },
    }), { overlay: true, overlayOptions: () => ({ width: 10, row: 0 }), onHandle: (given) => { handle = given; } }));
  }),
  tool("no_component", async () => says(await pi.ui.custom(() => "text"))),
  tool("at_once", async () => says(await pi.ui.custom(async (tui, theme, keys, done) => { done(7); return { render: () => ["never"] }; }))),
  tool("waits", async (_id, _params, _onUpdate, _ctx, signal) => {
    const value = await pi.ui.custom(() => ({ render: () => ["here for ever"], handleInput() {} }));
    return says({ value, aborted: signal.aborted });
  }),
  tool("asks_too", async () => {
    let asked;
    const shown = pi.ui.custom((tui, theme, keys, done) => ({
      render: () => ["first"],
      handleInput() {
        pi.ui.notify("said meanwhile");
        asked = pi.ui.confirm("And now?", "");
        done(1);
      },
    }));
    return says([await shown, await asked]);
  }),
];
"#;

#[test]
fn a_list_of_pi_tui_is_chosen_from() {
    let fixture = Tools::new(TOOLS);
    let mut terminal = fixture.call(&["pick"]);
    // The name of the tool is above it.
    terminal.shows("[pick]\r\n→ north\r\n");
    terminal.types(DOWN);
    terminal.shows("→ east");
    terminal.types("\r");
    terminal.answers(r#"{"chosen":"east"}"#);

    let mut terminal = fixture.call(&["pick"]);
    terminal.shows("→ north");
    terminal.types("\x1b");
    terminal.answers("null");
}

#[test]
fn lines_and_texts_are_edited() {
    let fixture = Tools::new(TOOLS);
    let mut terminal = fixture.call(&["name"]);
    terminal.shows("Who are you?");
    // The cursor is visible without colours, too.
    terminal.shows("> \x1b[7m \x1b[27m");
    terminal.types("Ada Lovelacé👩‍🚀\x7f!");
    terminal.shows("Lovelacé!");
    terminal.types("\r");
    terminal.answers(r#""Ada Lovelacé!""#);

    let mut terminal = fixture.call(&["write"]);
    terminal.shows("─\r\n");
    terminal.types("\x1b[200~one\ntwo\x1b[201~");
    terminal.shows("two");
    terminal.types("\r");
    terminal.answers(r#""one\ntwo""#);
}

#[test]
fn keys_arrive_one_by_one_as_the_terminal_sends_them() {
    let fixture = Tools::new(TOOLS);
    let mut terminal = fixture.call(&["keys"]);
    terminal.shows("seen 0 at 59");
    terminal.types("a\r\x1b[B\x18\x1bx日\x1bOH\x1b[1;5C\x1a\x13q");
    let expected =
        r#"["a","\r","down","ctrl+x","\u001bx","日","\u001bOH","\u001b[1;5C","\u001a","\u0013"]"#;
    terminal.answers(expected);
}

#[test]
fn lines_that_are_too_wide_are_cut_and_a_new_size_is_sent() {
    let fixture = Tools::new(TOOLS);
    let mut terminal = fixture.call(&["size"]);
    terminal.shows("59 of 59 x 22\r\n");
    terminal.shows(&format!("{}\r\ntail\r\n", "x".repeat(59)));
    terminal.resize(40, 10);
    terminal.shows("39 of 39 x 8\r\n");
    terminal.shows(&format!("{}\r\ntail\r\n", "x".repeat(39)));
    terminal.types(" ");
    terminal.answers(r#""seen""#);
}

#[test]
fn an_overlay_lies_on_top_and_has_the_keyboard_until_it_is_hidden() {
    let fixture = Tools::new(TOOLS);
    let mut terminal = fixture.call(&["covers"]);
    terminal.shows("[covers]\r\n日本語日本語\r\nsecond\r\n");
    terminal.types("o");
    // A wide character at an edge, of which only half would fit, is not drawn.
    terminal.shows(" [really?]語\r\nsecond\r\n");
    terminal.types("y");
    terminal.shows("日本語日本語\r\nsecond\r\n");
    terminal.types("q");
    terminal.answers(r#"["page o","dialog y","page q"]"#);

    let mut terminal = fixture.call(&["floats"]);
    terminal.shows(&format!("[floats]\r\n{}~~~~~~~~\r\n", " ".repeat(49)));
    terminal.types("x");
    terminal.answers(r#""x""#);

    let mut terminal = fixture.call(&["blinks"]);
    terminal.shows(&format!("{}to be seen", " ".repeat(24)));
    terminal.types("x");
    terminal.answers("[false,true,false,true]");
}

#[test]
fn it_is_drawn_again_when_it_requests_it() {
    Tools::new(TOOLS).call(&["ticks"]).answers("3");
}

#[test]
fn it_cannot_pass_itself_off_as_haft() {
    let fixture = Tools::new(TOOLS);
    let mut terminal = fixture.call(&["lies"]);
    terminal.shows("[lies]\r\nAllow tool: rm\r\n");
    terminal.types("x");
    let (written, code) = terminal.end();
    assert!(!written.contains("\x1b[2J"), "{written:?}");
    assert!(!written.contains("owned"), "{written:?}");
    assert_eq!(code, Some(0));
}

#[test]
fn a_component_that_fails_fails_its_call() {
    let fixture = Tools::new(TOOLS);
    let mut terminal = fixture.call(&["breaks"]);
    terminal.shows("press a key");
    terminal.types("x");
    terminal.shows("that key is broken");
    let (_, code) = terminal.end();
    assert_eq!(code, Some(1));

    let mut terminal = fixture.call(&["no_component"]);
    terminal.shows("ui.custom: the function returned no component: it has no `render`");
    drop(terminal);
    fixture.call(&["at_once"]).answers("7");
}

#[test]
fn ctrl_c_takes_it_away_and_ends_the_call() {
    let fixture = Tools::new(TOOLS);
    let mut terminal = fixture.call(&["waits"]);
    terminal.shows("here for ever");
    terminal.types("\x03");
    terminal.shows(r#"{"aborted":true}"#);
    let (_, code) = terminal.end();
    assert_eq!(code, Some(130));
}

#[test]
fn other_questions_wait_until_it_is_done() {
    let fixture = Tools::new(TOOLS);
    let mut terminal = fixture.call(&["asks_too"]);
    terminal.shows("[asks_too]\r\nfirst");
    terminal.types(" ");
    terminal.shows("[asks_too] said meanwhile");
    terminal.shows("And now?");
    terminal.shows("[y/N]");
    terminal.types("y");
    terminal.shows("❯ Yes");
    terminal.answers("[1,true]");
}

#[test]
fn the_terminal_is_left_as_it_was() {
    let fixture = Tools::new(TOOLS);
    let mut terminal = fixture.call_between_modes(&["waits"]);
    terminal.shows("\x1b[?25l\x1b[?2004h");
    terminal.shows("here for ever");
    terminal.types("\x03");
    terminal.shows("\x1b[?2004l\x1b[?25h");
    terminal.shows("same mode");
}

#[test]
fn without_a_terminal_no_component_is_created() {
    let fixture = Tools::new(TOOLS);
    let ran = fixture
        .0
        .sh("haft --tool tools.ts call no_component </dev/null");
    assert_eq!(ran.output, "null\n");
}
