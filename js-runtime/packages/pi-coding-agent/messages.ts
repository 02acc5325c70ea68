// Messages of an agent, as far as tools look at them.

import { shared } from "../builtin.ts";

type Message = Record<string, any>;

/** The messages that a model is sent: what only an agent knows becomes words of its user, or goes. */
export function convertToLlm(messages: readonly Message[]): Message[] {
  return messages.flatMap((message) => converted(message) ?? []);
}

function converted(message: Message): Message | undefined {
  const fromUser = (content: unknown): Message => ({
    role: "user",
    content: typeof content === "string" ? [{ type: "text", text: content }] : content,
    timestamp: message["timestamp"],
  });
  switch (message["role"]) {
    case "user":
    case "assistant":
    case "toolResult":
      return message;
    case "custom":
    case "hookMessage":
      return fromUser(message["content"]);
    case "branchSummary":
      return fromUser(`Summary of a branch that was left:\n\n${message["summary"]}`);
    case "compactionSummary":
      return fromUser(`Summary of the conversation so far:\n\n${message["summary"]}`);
    case "bashExecution":
      return message["excludeFromContext"] === true
        ? undefined
        : fromUser(`Ran \`${message["command"]}\`:\n\n${message["output"] || "(no output)"}`);
    default:
      return undefined;
  }
}

/** Returns true if an event of an agent is the call of the tool `name`. */
export function isToolCallEventType(name: string, event: { toolName?: unknown }): boolean {
  return event?.toolName === name;
}

/** The YAML at the start of a Markdown file, between two lines of dashes, and what is below it. */
export function parseFrontmatter(content: string): {
  frontmatter: Record<string, unknown>;
  body: string;
} {
  const text = content.replace(/^\ufeff/, "").replaceAll("\r\n", "\n");
  const found = /^---\n([\s\S]*?)\n?---[ \t]*(?:\n|$)/.exec(text);
  if (found === null) return { frontmatter: {}, body: text };
  const read = shared("package")("bun-data").YAML.parse(found[1]);
  const frontmatter = typeof read === "object" && read !== null ? read : {};
  return { frontmatter, body: text.slice(found[0].length).trim() };
}

/** What is below the YAML at the start of a Markdown file. */
export function stripFrontmatter(content: string): string {
  return parseFrontmatter(content).body;
}

/** The skills of the agent around the tools; haft has none. */
export function getActiveSkills(): readonly unknown[] {
  return [];
}
