// Dialog with a call in the forms of other programs: a command, a request, code, a link, a test.

import { type CallResult, hasToken, type Tool } from "./api.ts";
import { button, el, fill, freshId } from "./dom.ts";
import { copyButton, resultText } from "./result.ts";
import { withoutSecrets } from "./secrets.ts";
import { address } from "./side.ts";

/** A call to copy. */
export interface CopiedCall {
  tool: Tool;
  /** The arguments as JSON text. */
  arguments: string;
  result?: CallResult;
}

interface Form {
  name: string;
  text: (call: CopiedCall) => string;
  /** What to do with it. */
  note?: (call: CopiedCall) => string;
  /** Name of the file to download. */
  file?: (call: CopiedCall) => string;
}

const FORMS: Form[] = [
  { name: "haft call", text: asCommand },
  { name: "curl", text: asCurl },
  { name: "MCP request", text: asMcp },
  { name: "TypeScript", text: asTypeScript, note: () => "With the npm package `haft`." },
  { name: "Link", text: asLink, note: () => "It opens this page with the form filled in." },
];

const TEST: Form = {
  name: "Tool test",
  text: asTest,
  note: ({ tool }) =>
    `Save it beside ${tool.path ?? "the tool"} and run \`haft test\`. If the tool starts programs or ` +
    "sends requests, `haft test --record` records their answers.",
  file: ({ tool }) => `${stem(tool)}.tool-test.json`,
};

/** Shows the dialog. */
export function copyAs(given: CopiedCall): void {
  const call = { ...given, arguments: withoutSecrets(given.arguments, given.tool.inputSchema) };
  const forms = call.tool.family === "js" ? [...FORMS, TEST] : FORMS;
  const heading = freshId("copy-as");
  const content = el("div", { class: "copy-as" });
  const choices = forms.map((form) => button(form.name, () => show(form)));
  const dialog = el(
    "dialog",
    { class: "wide-dialog", "aria-labelledby": heading },
    el("h2", { id: heading, text: `Copy the call of ${call.tool.name} as` }),
    el("div", { class: "tabs", role: "group", "aria-label": "Form" }, ...choices),
    content,
    call.arguments !== given.arguments &&
      el("p", { class: "calm", text: "Secrets are replaced by ***." }),
    el(
      "div",
      { class: "bar" },
      button("Close", () => dialog.close()),
    ),
  );
  function show(form: Form): void {
    const text = form.text(call);
    choices.forEach((choice, index) => {
      choice.setAttribute("aria-pressed", String(forms[index] === form));
    });
    const file = form.file?.(call);
    fill(
      content,
      el("pre", { class: "text", text, tabindex: "0" }),
      form.note && el("p", { class: "calm", text: form.note(call) }),
      el(
        "div",
        { class: "bar" },
        copyButton(text),
        file !== undefined && button(`Save ${file}`, () => save(file, text)),
      ),
    );
  }
  if (forms[0]) show(forms[0]);
  openDialog(dialog);
}

/** Shows a dialog that is removed when it is closed. */
export function openDialog(dialog: HTMLDialogElement): void {
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
}

function asCommand({ tool, arguments: text }: CopiedCall): string {
  return `haft call ${quoted(tool.name)} ${quoted(text)}`;
}

function asCurl({ tool, arguments: text }: CopiedCall): string {
  const token = hasToken() ? ` --oauth2-bearer "$(haft open --token)"` : "";
  const url = `${location.origin}/api/tools/${encodeURIComponent(tool.name)}/call`;
  return [
    `curl${token} ${quoted(url)}`,
    "-H 'Content-Type: application/json'",
    `-d ${quoted(`{"arguments": ${text}}`)}`,
  ].join(" \\\n  ");
}

function asMcp({ tool, arguments: text }: CopiedCall): string {
  const name = JSON.stringify(tool.name);
  return [
    "{",
    '  "jsonrpc": "2.0",',
    '  "id": 1,',
    '  "method": "tools/call",',
    `  "params": { "name": ${name}, "arguments": ${text} }`,
    "}",
  ].join("\n");
}

function asTypeScript({ tool, arguments: text }: CopiedCall): string {
  return [
    'import { haft } from "haft";',
    "",
    "const tools = await haft();",
    `const result = await tools.call(${JSON.stringify(tool.name)}, ${text});`,
    "console.log(result.text);",
    "await tools.close();",
  ].join("\n");
}

function asLink({ tool, arguments: text }: CopiedCall): string {
  return `${location.origin}/${address(tool.name)}?arguments=${encodeURIComponent(text)}`;
}

function asTest({ tool, arguments: text, result }: CopiedCall): string {
  const name = JSON.stringify(`${tool.name} ${text}`.slice(0, 80));
  const expected: string[] = [];
  if (result) {
    expected.push(`"text": ${JSON.stringify(resultText(result))}`);
    if (result.isError) expected.push('"isError": true');
  }
  return [
    "{",
    '  "tests": [',
    "    {",
    `      "name": ${name},`,
    `      "tool": ${JSON.stringify(tool.name)},`,
    `      "arguments": ${text},`,
    `      "expect": {${expected.length > 0 ? ` ${expected.join(", ")} ` : ""}}`,
    "    }",
    "  ]",
    "}",
    "",
  ].join("\n");
}

/** Quotes a word for a shell. */
function quoted(text: string): string {
  return /^[\w./:@%+,=-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}

/** Returns the name of the tool's module without its extension. */
function stem(tool: Tool): string {
  const file = tool.path?.split("/").pop() ?? tool.name;
  return file.replace(/\.[cm]?[jt]sx?$/, "");
}

function save(file: string, text: string): void {
  const href = URL.createObjectURL(new Blob([text], { type: "application/json" }));
  el("a", { href, download: file }).click();
  setTimeout(() => URL.revokeObjectURL(href), 10_000);
}
