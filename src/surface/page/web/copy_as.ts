// Dialog with a call in the forms of other programs: a command, a request, code, a link.

import { hasToken, type Tool } from "./api.ts";
import { button, el, fill, freshId } from "./dom.ts";
import { copyButton } from "./result.ts";
import { withoutSecrets } from "./secrets.ts";
import { address } from "./side.ts";

/** A call to copy. */
export interface CopiedCall {
  tool: Tool;
  /** The arguments as JSON text. */
  arguments: string;
}

interface Form {
  name: string;
  text: (call: CopiedCall) => string;
  /** What to do with it. */
  note?: string;
}

const FORMS: Form[] = [
  { name: "haft call", text: asCommand },
  { name: "curl", text: asCurl },
  { name: "MCP request", text: asMcp },
  { name: "TypeScript", text: asTypeScript, note: "With the npm package `haft`." },
  { name: "Link", text: asLink, note: "It opens this page with the form filled in." },
];

/** Shows the dialog. */
export function copyAs(given: CopiedCall): void {
  const call = { ...given, arguments: withoutSecrets(given.arguments, given.tool.inputSchema) };
  const heading = freshId("copy-as");
  const content = el("div.copy-as");
  const choices = FORMS.map((form) => button(form.name, () => show(form)));
  const dialog = el(
    "dialog.wide-dialog",
    { "aria-labelledby": heading },
    el("h2", { id: heading }, `Copy the call of ${call.tool.name} as`),
    el("div.tabs", { role: "group", "aria-label": "Form" }, ...choices),
    content,
    call.arguments !== given.arguments && el("p.calm", "Secrets are replaced by ***."),
    el(
      "div.bar",
      button("Close", () => dialog.close()),
    ),
  );
  function show(form: Form): void {
    const text = form.text(call);
    choices.forEach((choice, index) => {
      choice.setAttribute("aria-pressed", String(FORMS[index] === form));
    });
    fill(
      content,
      el("pre.text", { tabindex: "0" }, text),
      form.note !== undefined && el("p.calm", form.note),
      el("div.bar", copyButton(text)),
    );
  }
  if (FORMS[0]) show(FORMS[0]);
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

/** Quotes a word for a shell. */
function quoted(text: string): string {
  return /^[\w./:@%+,=-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}
