//! Rendering through the SDK and at a terminal: properties of every text, and cases that need a
//! clock.
//!
//! Exact lines are in `tests/specs/render`.

use std::time::{Duration, Instant};

use haft::config::Env;
use haft::render::{Colors, Drawing, ImageProtocol, RenderOptions, Screen, TerminalText};
use haft::{Call, ErrorKind, Flags, Host};
use serde_json::value::RawValue;
use serde_json::{Value, json};
use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

use crate::pty::Terminal;
use crate::sandbox::Sandbox;

const TOOLS: &str = r#"
import { Box, Container, Markdown, Text, TruncatedText, visibleWidth, wrapTextWithAnsi } from "@oh-my-pi/pi-tui";
import { getMarkdownTheme } from "@oh-my-pi/pi-coding-agent";

const says = (text) => ({ content: [{ type: "text", text }] });
const tool = (name, parts) => ({
  name, description: name, parameters: { type: "object" }, execute: async () => says("done"), ...parts,
});
let release = () => {};

export default () => [
  tool("everything", {
    renderCall: ({ text }) => new TruncatedText(text, 1, 0),
    renderResult(result, options, theme) {
      const text = result.content[0].text;
      const all = new Container();
      all.addChild(new Text(text, 1, 0));
      all.addChild(new Text(text, 0, 0, (line) => theme.bg("selectedBg", line)));
      const box = new Box(2, 1, (line) => theme.bg("toolErrorBg", line), { chars: theme.boxRound });
      box.addChild(new Markdown(text, 1, 0, getMarkdownTheme()));
      all.addChild(box);
      all.addChild(new Markdown(`| a | b |\n|--|--|\n| ${text.replaceAll("\n", " ")} | c |\n\n> ${text}`, 0, 0, getMarkdownTheme()));
      all.addChild({ render: () => [text.replaceAll("\n", " ")] });
      return all;
    },
  }),
  tool("nothing", {}),
  tool("measures", {
    renderResult: (result) => ({ render: () => [JSON.stringify(JSON.parse(result.content[0].text).map(visibleWidth))] }),
  }),
  tool("wraps", { renderCall: ({ text, width }) => ({ render: () => wrapTextWithAnsi(text, width) }) }),
  tool("loops", {
    execute: () => new Promise((resolve) => { release = () => resolve(says("released")); }),
    renderCall: () => { for (;;); },
    renderResult: () => { release(); return new Text("released", 0, 0); },
  }),
  tool("remembers", {
    renderCall: (_args, _theme, context) => {
      const row = context.lastComponent ?? { count: 0, render() { return [`drawn ${this.count}`]; } };
      row.count += 1;
      return row;
    },
    renderResult: (_result, _options, _theme, context) => new Text(`state ${context.state.x = (context.state.x ?? 0) + 1}`, 0, 0),
  }),
];
"#;

struct Fixture {
    host: Host,
    _sandbox: Sandbox,
}

impl Fixture {
    fn new() -> Fixture {
        let sandbox = Sandbox::with_home();
        sandbox.write("tools.ts", TOOLS);
        let env = Env {
            current_dir: Some(sandbox.path()),
            home: Some(sandbox.path().join("home")),
            ..Env::default()
        };
        let flags = Flags {
            tools: vec!["tools.ts".to_owned()],
            ..Flags::default()
        };
        let config = crate::sandbox::resolve(flags, &env).expect("this is a fine configuration");
        Fixture {
            host: Host::new(config),
            _sandbox: sandbox,
        }
    }

    async fn call(&self, tool: &str, arguments: Value, look: &RenderOptions) -> Drawing {
        let drawn = self.host.render_call(&call(tool, arguments), look).await;
        drawn.expect("there is such a tool")
    }

    async fn result(&self, tool: &str, text: &str, look: &RenderOptions) -> Drawing {
        let call = call(tool, json!({ "text": text }));
        let result = raw(&json!({ "content": [{ "type": "text", "text": text }], "details": {} }));
        let drawn = self.host.render_result(&call, &result, look).await;
        drawn.expect("there is such a tool")
    }
}

fn call(tool: &str, arguments: Value) -> Call {
    Call {
        id: "call".into(),
        tool: tool.into(),
        arguments: raw(&arguments),
    }
}

fn raw(value: &Value) -> Box<RawValue> {
    RawValue::from_string(value.to_string()).expect("it is JSON")
}

fn colorful(width: usize) -> RenderOptions {
    RenderOptions {
        expanded: true,
        screen: Screen {
            colors: Colors::True,
            hyperlinks: true,
            ..Screen::PLAIN
        },
        ..RenderOptions::plain(width)
    }
}

/// The columns that a terminal needs, as another crate than haft's own code counts them.
fn columns(line: &str) -> usize {
    let plain = without_escapes(line);
    plain
        .graphemes(true)
        .map(|piece| piece.width().min(2))
        .sum()
}

/// Removes colours and links; any other escape sequence is an error.
fn without_escapes(line: &str) -> String {
    let mut plain = String::new();
    let mut rest = line;
    while let Some(at) = rest.find('\x1b') {
        plain.push_str(&rest[..at]);
        let sequence = &rest[at + 1..];
        let end = match sequence.as_bytes().first() {
            Some(b'[') => {
                let end = sequence.find('m').expect("of CSI only colours are there");
                let codes = &sequence[1..end];
                assert!(
                    codes
                        .chars()
                        .all(|c| c.is_ascii_digit() || ";:".contains(c)),
                    "{line:?}"
                );
                end + 1
            }
            Some(b']') => {
                assert!(sequence.starts_with("]8;"), "{line:?}");
                sequence.find("\x1b\\").expect("links end") + 2
            }
            other => panic!("{other:?} in {line:?}"),
        };
        rest = &sequence[end..];
    }
    plain.push_str(rest);
    assert!(!plain.chars().any(char::is_control), "{line:?}");
    plain
}

/// Generator of texts from characters whose width is hard to measure, the same in every run.
struct Texts(u64);

const PIECES: &[&str] = &[
    "a",
    "word",
    "averylongwordthatgoesonandon",
    " ",
    "  ",
    "\n",
    "\t",
    "日本語",
    "한국어",
    "ｱ",
    "é",
    "e\u{301}",
    "👍🏽",
    "👨\u{200d}👩\u{200d}👧",
    "🇩🇪",
    "🇯",
    "❤\u{fe0f}",
    "❤",
    "1\u{fe0f}\u{20e3}",
    "\u{200b}",
    "\u{ad}",
    "\u{feff}",
    "क्षि",
    "ไทย",
    "\u{1f468}\u{200d}",
    "─│",
    "\x1b[1m",
    "\x1b[22m",
    "\x1b[31m",
    "\x1b[39m",
    "\x1b[38;2;1;2;3m",
    "\x1b[48;5;9m",
    "\x1b[0m",
    "\x1b]8;;https://x.example\x1b\\",
    "\x1b]8;;\x07",
    "\x1b[2K",
    "\x1b[",
    "\x1b_x\x1b\\",
    "**",
    "*",
    "_",
    "`",
    "```",
    "# ",
    "- ",
    "1. ",
    "> ",
    "|",
    "[a](b)",
    "![i](x)",
    "<u>",
    "&amp;",
    "https://a.example/b",
    "~~",
    "---",
    "\\",
    "\u{202e}",
    "\u{7f}",
    "\r",
];

impl Texts {
    fn next(&mut self) -> String {
        let count = 1 + self.number(30);
        (0..count)
            .map(|_| PIECES[self.number(PIECES.len())])
            .collect()
    }

    fn number(&mut self, below: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % below as u64) as usize
    }
}

#[tokio::test]
async fn no_line_is_ever_wider_than_the_width() {
    let fixture = Fixture::new();
    let mut texts = Texts(0x9e37_79b9_7f4a_7c15);
    for round in 0..120 {
        let text = texts.next();
        let width = 1 + texts.number(if round % 3 == 0 { 8 } else { 60 });
        for look in [RenderOptions::plain(width), colorful(width)] {
            for tool in ["everything", "nothing"] {
                let drawn = fixture.result(tool, &text, &look).await;
                assert_eq!(drawn.problem, None, "{text:?}");
                assert_eq!(drawn.is_own, tool == "everything");
                let called = fixture.call(tool, json!({ "text": text }), &look).await;
                for line in drawn.lines.iter().chain(&called.lines) {
                    let used = columns(line);
                    assert!(used <= width, "{used} of {width}: {line:?} of {text:?}");
                    assert_closed(line);
                }
            }
        }
    }
}

/// Asserts that a line resets every style that it sets.
fn assert_closed(line: &str) {
    let Some(last) = line.rfind("\x1b[") else {
        return;
    };
    let codes = line[last + 2..].split('m').next().unwrap_or_default();
    let ends = [
        "0", "22", "23", "24", "25", "27", "28", "29", "39", "49", "59", "",
    ];
    assert!(
        codes.split(';').all(|code| ends.contains(&code)),
        "{line:?}"
    );
}

#[tokio::test]
async fn javascript_counts_columns_as_rust_does() {
    let fixture = Fixture::new();
    let characters = (0x20..0x30000).filter_map(char::from_u32);
    let mut texts: Vec<String> = characters
        .filter(|c| !c.is_control())
        .map(|c| c.to_string())
        .collect();
    let sequences = [
        "👍🏽",
        "👨\u{200d}👩\u{200d}👧",
        "🇩🇪",
        "🇯",
        "❤\u{fe0f}",
        "1\u{fe0f}\u{20e3}",
        "e\u{301}",
        "क्षि",
    ];
    texts.extend(sequences.map(str::to_owned));
    let (mut fewer, mut more) = (Vec::new(), 0);
    for chunk in texts.chunks(20_000) {
        let text = serde_json::to_string(chunk).expect("texts are JSON");
        let look = RenderOptions::plain(1_000_000);
        let drawn = fixture.result("measures", &text, &look).await;
        let told: Vec<usize> = serde_json::from_str(&drawn.lines[0]).expect("numbers");
        for (text, told) in chunk.iter().zip(told) {
            let used = columns(text);
            more += usize::from(told > used);
            if told < used {
                fewer.push(format!("{} {told} {used}", text.escape_unicode()));
            }
        }
    }
    assert!(fewer.is_empty(), "{}: {:?}", fewer.len(), fewer);
    // Marks that only one of the two libraries knows; they do not make a line too wide.
    assert!(more < 100, "{more}");
}

#[tokio::test]
async fn a_renderer_that_loops_ends_no_call() {
    let fixture = Fixture::new();
    let running = fixture.host.call(call("loops", json!({})), None);
    let outcome = tokio::spawn(running.outcome());
    // The running call is in the same isolate as the looping renderer.
    let before = Instant::now();
    let look = RenderOptions::plain(40);
    let drawn = fixture.call("loops", json!({ "a": 1 }), &look).await;
    assert_eq!(drawn.lines, ["loops  a: 1"]);
    let problem = drawn.problem.expect("it is told about");
    assert_eq!(
        problem.message,
        "`renderCall` of `loops` failed: it did not end within 2 s"
    );
    assert_eq!(problem.tool_name.as_deref(), Some("loops"));
    assert!(before.elapsed() < Duration::from_secs(30));
    // A renderer that failed is not called again.
    let again = Instant::now();
    let drawn = fixture.call("loops", json!({}), &look).await;
    assert!(drawn.problem.is_some() && again.elapsed() < Duration::from_secs(1));
    let drawn = fixture.result("loops", "x", &look).await;
    assert_eq!(
        (drawn.lines, drawn.problem),
        (
            vec![TerminalText::from_value(&format!("{:40}", "released"))],
            None
        )
    );
    let outcome = outcome.await.expect("no panic").expect("the call goes on");
    assert_eq!(outcome.text(), "released");
}

#[tokio::test]
async fn what_a_renderer_keeps_belongs_to_one_call() {
    let fixture = Fixture::new();
    let look = RenderOptions::plain(10);
    for count in 1..=3 {
        let drawn = fixture.call("remembers", json!({}), &look).await;
        assert_eq!(drawn.lines, [format!("drawn {count}")]);
    }
    let mut other = call("remembers", json!({}));
    other.id = "other".into();
    let drawn = fixture
        .host
        .render_call(&other, &look)
        .await
        .expect("it is there");
    assert_eq!(drawn.lines, ["drawn 1"]);
    for count in 1..=2 {
        let drawn = fixture.result("remembers", "", &look).await;
        assert_eq!(drawn.lines[0].trim_end(), format!("state {count}"));
    }
}

#[tokio::test]
async fn a_tool_that_is_not_there_cannot_be_drawn() {
    let fixture = Fixture::new();
    let drawn = fixture
        .host
        .render_call(&call("nobody", json!({})), &RenderOptions::plain(10))
        .await;
    assert_eq!(
        drawn.map_err(|error| error.kind()),
        Err(ErrorKind::NoSuchTool)
    );
}

// ---- Pictures.

fn picture(width: u32, height: u32, format: image::ImageFormat) -> String {
    use base64::Engine as _;
    let pixels = image::RgbImage::from_fn(width, height, |x, y| {
        image::Rgb([
            u8::try_from(x % 256).unwrap_or(0),
            u8::try_from(y % 256).unwrap_or(0),
            90,
        ])
    });
    let mut bytes = std::io::Cursor::new(Vec::new());
    pixels
        .write_to(&mut bytes, format)
        .expect("a picture of ours");
    base64::engine::general_purpose::STANDARD.encode(bytes.into_inner())
}

async fn drawn_image(
    data: &str,
    mime_type: &str,
    images: Option<ImageProtocol>,
) -> Vec<TerminalText> {
    let fixture = Fixture::new();
    let result =
        raw(&json!({ "content": [{ "type": "image", "data": data, "mimeType": mime_type }] }));
    let look = RenderOptions {
        screen: Screen {
            images,
            cell: (10, 20),
            ..colorful(40).screen
        },
        ..colorful(40)
    };
    let drawn = fixture
        .host
        .render_result(&call("nothing", json!({})), &result, &look)
        .await;
    drawn.expect("it is there").lines
}

#[tokio::test]
async fn a_picture_is_a_block_of_lines_in_the_protocol_of_its_terminal() {
    let png = picture(100, 60, image::ImageFormat::Png);
    let lines = drawn_image(&png, "image/png", Some(ImageProtocol::Kitty)).await;
    assert_eq!(
        &lines[..2],
        ["", ""],
        "100x60 in cells of 10x20 is 10 columns and 3 rows"
    );
    assert_eq!(lines.len(), 3);
    assert!(
        lines[2].starts_with("\x1b7\x1b[2A\x1b_Ga=T,f=100,q=2,C=1,c=10,r=3,m="),
        "{:?}",
        &lines[2][..60]
    );
    assert!(lines[2].ends_with("\x1b\\\x1b8"));
    let sent: String = lines[2]
        .split("\x1b_G")
        .skip(1)
        .map(|part| {
            part.split_once(';')
                .expect("data")
                .1
                .split('\x1b')
                .next()
                .unwrap_or_default()
        })
        .collect();
    assert_eq!(sent, png);

    // Kitty knows PNG only: others are sent as such.
    let jpeg = picture(100, 60, image::ImageFormat::Jpeg);
    let lines = drawn_image(&jpeg, "image/jpeg", Some(ImageProtocol::Kitty)).await;
    assert!(lines[2].contains(";iVBORw0KGgo"), "it begins as PNG does");
    let lines = drawn_image(&jpeg, "image/jpeg", Some(ImageProtocol::Iterm)).await;
    let size = base64_size(&jpeg);
    let head = format!(
        "\x1b7\x1b[2A\x1b]1337;File=inline=1;size={size};width=10;height=3;preserveAspectRatio=1:"
    );
    assert_eq!(lines[2], format!("{head}{jpeg}\x07\x1b8"));

    let lines = drawn_image(&png, "image/png", Some(ImageProtocol::Sixel)).await;
    assert!(
        lines[2].starts_with("\x1b7\x1b[2A\x1bP0;1;0q\"1;1;100;60#0;2;0;0;0"),
        "{:?}",
        &lines[2][..60]
    );
    assert_eq!(
        lines[2].matches('-').count(),
        10,
        "60 pixels are ten bands of six"
    );
}

fn base64_size(data: &str) -> usize {
    use base64::Engine as _;
    base64::engine::general_purpose::STANDARD
        .decode(data)
        .expect("it is base64")
        .len()
}

#[tokio::test]
async fn where_no_picture_can_be_shown_it_is_named() {
    let png = picture(100, 60, image::ImageFormat::Png);
    let lines = drawn_image(&png, "image/png", None).await;
    assert!(lines[0].contains("[image image/png, 100x60, "), "{lines:?}");
    for broken in ["", "%%%", "AAAA"] {
        for protocol in [ImageProtocol::Kitty, ImageProtocol::Sixel] {
            let lines = drawn_image(broken, "image/png", Some(protocol)).await;
            assert_eq!(lines.len(), 1);
        }
    }
    let half = &png[..png.len() / 2 / 4 * 4];
    let lines = drawn_image(half, "image/png", Some(ImageProtocol::Sixel)).await;
    assert_eq!(lines.len(), 1, "it cannot be decoded");
    let large = picture(4000, 3000, image::ImageFormat::Png);
    let lines = drawn_image(&large, "image/png", Some(ImageProtocol::Kitty)).await;
    assert_eq!(
        lines.len(),
        15,
        "no wider than 40 columns, and in proportion"
    );
}

// ---- At a terminal.

const LIVE: &str = r#"
import { Loader, Text } from "@mariozechner/pi-tui";

const says = (text) => ({ content: [{ type: "text", text }] });

export default (pi) => [{
  name: "works",
  description: "Works for a while",
  parameters: { type: "object" },
  async execute(_id, _params, onUpdate) {
    onUpdate(says("first half"));
    await pi.exec("cat", ["one"]);
    onUpdate(says("second half"));
    await pi.exec("cat", ["two"]);
    return says("all done");
  },
  renderCall: (_args, options, theme) => new Text(theme.bold("works ") + theme.spinnerFrames[options.spinnerFrame ?? 0], 0, 0),
  renderResult: (result, { isPartial }, theme) => new Text(theme.fg(isPartial ? "warning" : "success", result.content[0].text), 0, 0),
}, {
  name: "tall",
  description: "Is higher than the screen",
  parameters: { type: "object" },
  async execute(_id, _params, onUpdate) {
    onUpdate(says("x"));
    await pi.exec("cat", ["one"]);
    return says("x");
  },
  renderResult: (_result, { isPartial }) => ({ render: () => Array.from({ length: 100 }, (_, at) => `${isPartial ? "half" : "whole"} ${at}`) }),
}];
"#;

fn at_terminal(sandbox: &Sandbox, arguments: &[&str]) -> Terminal {
    let mut command = sandbox.haft();
    command.args(["--tool", "live.ts", "call"]).args(arguments);
    Terminal::start(60, &command)
}

#[test]
fn updates_are_drawn_in_place_while_the_call_runs() {
    let sandbox = Sandbox::with_home();
    sandbox.write("live.ts", LIVE);
    for pipe in ["one", "two"] {
        sandbox.fifo(pipe);
    }
    let mut terminal = at_terminal(&sandbox, &["works", "--render"]);
    terminal.shows("first half");
    // The spinner turns without any update: two lines are drawn over.
    terminal.shows("\x1b[2A\r\x1b[J");
    sandbox.write("one", "");
    terminal.shows("second half");
    sandbox.write("two", "");
    let (written, code) = terminal.end();
    assert_eq!(code, Some(0), "{written:?}");
    let last = written.rsplit("\x1b[J").next().unwrap_or_default();
    let last = console::strip_ansi_codes(last).replace("\r\n", "\n");
    let lines: Vec<_> = last.lines().map(str::trim).collect();
    assert_eq!(lines, ["works ⠋", "all done"], "{written:?}");
    // Pending, then success.
    assert!(written.contains("\x1b[48;5;235m"), "{written:?}");
}

#[test]
fn what_is_higher_than_the_screen_is_shown_whole_at_the_end() {
    let sandbox = Sandbox::with_home();
    sandbox.write("live.ts", LIVE);
    sandbox.fifo("one");
    let mut terminal = at_terminal(&sandbox, &["tall", "--render"]);
    terminal.shows("half 99");
    sandbox.write("one", "");
    let (written, code) = terminal.end();
    assert_eq!(code, Some(0), "{written:?}");
    let plain = console::strip_ansi_codes(&written).into_owned();
    assert!(
        !plain.contains("half 10 "),
        "more than fits on the screen was drawn over"
    );
    for at in [0, 50, 99] {
        assert!(
            plain.contains(&format!("whole {at} ")) || plain.contains(&format!("whole {at}")),
            "{at}"
        );
    }
}

#[test]
fn pictures_go_to_terminals_that_show_them() {
    let sandbox = Sandbox::with_home();
    let png = picture(20, 20, image::ImageFormat::Png);
    let module = format!(
        "import {{ Image }} from '@oh-my-pi/pi-tui';\n\
         const image = {{ type: 'image', data: '{png}', mimeType: 'image/png' }};\n\
         export default () => [{{ name: 'shows', description: 'Shows a picture', parameters: {{ type: 'object' }},\n\
           execute: async () => ({{ content: [image] }}),\n\
           renderResult: () => new Image(image.data, image.mimeType, {{ fallbackColor: (text) => text }}) }}];\n"
    );
    sandbox.write("live.ts", &module);
    let run = |name: &str, value: &str| {
        let mut command = sandbox.haft();
        command.args(["--tool", "live.ts", "call", "shows", "--render"]);
        let (written, code) = Terminal::start(60, command.env(name, value)).end();
        assert_eq!(code, Some(0), "{written:?}");
        written
    };
    assert!(run("KITTY_WINDOW_ID", "1").contains("\x1b_Ga=T,f=100"));
    assert!(run("TERM_PROGRAM", "iTerm.app").contains("\x1b]1337;File=inline=1"));
    let none = run("LANG", "C.UTF-8");
    assert!(none.contains("[Image: [image/png] 20x20]"), "{none:?}");
    assert!(
        !none.contains("\x1b_G") && !none.contains("1337"),
        "{none:?}"
    );
}
