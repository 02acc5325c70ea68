// Colours for code: comments, strings, numbers, keywords. One rough grammar for all languages.
//
// It is meant to help the eye on a terminal. A real grammar would weigh more than all of haft's
// other scripts together.

import { theme } from "./theme.ts";

const HASH_COMMENTS = new Set(
  "bash dockerfile elixir make perl python r ruby sh shell toml yaml zsh".split(" "),
);
const PLAIN = new Set(["", "md", "markdown", "plain", "text", "txt"]);

const KEYWORDS = new Set(
  `abstract and as async await bool break case catch class const continue def default defer do elif else end enum
   except export extends false final finally fn for from func function go if impl implements import in int
   interface is lambda let loop match mod module mut namespace new nil none not null or package pass private
   protected pub public raise return self static struct super switch then this throw trait true try type typeof
   undefined union unsafe use var void where while with yield None True False`.split(/\s+/),
);

const LANGUAGES: Record<string, string> = {
  bash: "bash",
  c: "c",
  cc: "cpp",
  cpp: "cpp",
  cs: "csharp",
  css: "css",
  go: "go",
  h: "c",
  html: "html",
  java: "java",
  js: "javascript",
  json: "json",
  jsx: "javascript",
  kt: "kotlin",
  md: "markdown",
  mjs: "javascript",
  mts: "typescript",
  php: "php",
  py: "python",
  rb: "ruby",
  rs: "rust",
  sh: "bash",
  sql: "sql",
  swift: "swift",
  toml: "toml",
  ts: "typescript",
  tsx: "typescript",
  yaml: "yaml",
  yml: "yaml",
};

/** The language of a file, by its extension. */
export function getLanguageFromPath(path: string): string | undefined {
  const extension = /\.([^./\\]+)$/.exec(path)?.[1];
  return extension === undefined ? undefined : LANGUAGES[extension.toLowerCase()];
}

/** The lines of `code` in the theme's colours; in a single colour without a language. */
export function highlightCode(code: string, language = ""): string[] {
  const name = language.toLowerCase();
  if (PLAIN.has(name)) return code.split("\n").map((line) => theme.fg("mdCodeBlock", line));
  return code.replace(grammar(name), colour).split("\n");
}

const grammars = new Map<string, RegExp>();

function grammar(language: string): RegExp {
  let known = grammars.get(language);
  if (known === undefined) grammars.set(language, (known = makeGrammar(language)));
  return known;
}

function makeGrammar(language: string): RegExp {
  const comment = HASH_COMMENTS.has(language)
    ? /#[^\n]*/
    : language === "sql"
      ? /--[^\n]*/
      : /\/\/[^\n]*|\/\*[\s\S]*?\*\//;
  const string = /"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|`(?:\\[\s\S]|[^`\\])*`/;
  const number = /\b(?:0[xXbBoO])?\d[\d_a-fA-F.]*\b/;
  return new RegExp(
    `(${comment.source})|(${string.source})|(${number.source})|\\b[A-Za-z_]\\w*\\b`,
    "g",
  );
}

function colour(token: string, comment?: string, string?: string, number?: string): string {
  if (comment !== undefined) return lines(token, "syntaxComment");
  if (string !== undefined) return lines(token, "syntaxString");
  if (number !== undefined) return theme.fg("syntaxNumber", token);
  return KEYWORDS.has(token) ? theme.fg("syntaxKeyword", token) : token;
}

function lines(token: string, color: string): string {
  if (!token.includes("\n")) return theme.fg(color, token);
  return token
    .split("\n")
    .map((line) => theme.fg(color, line))
    .join("\n");
}
