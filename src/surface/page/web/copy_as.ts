// Dialog with a call in the forms of other programs: a command, a request, code, a link.

import { hasToken, type Tool } from "./api.ts";
import { el, fill, openDialog, viewButtons } from "./dom.ts";
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
  const content = el("div.copy-as");
  const show = (index: number) => {
    const form = FORMS[index] as Form;
    const text = form.text(call);
    fill(
      content,
      el("pre.text", { tabindex: "0" }, text),
      form.note !== undefined && el("p.calm", form.note),
      el("div.bar", copyButton(text)),
    );
  };
  const names = FORMS.map(({ name }) => name);
  openDialog(
    `Copy the call of ${call.tool.name} as`,
    viewButtons("Form", names, show),
    content,
    call.arguments !== given.arguments && el("p.calm", "Secrets are replaced by ***."),
  );
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
