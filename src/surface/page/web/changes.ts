// What changed when the tools were found again: tools, their descriptions and schemas, problems.

import type { Catalog, Problem, Tool } from "./api.ts";

/** One difference between two catalogs. */
export interface Change {
  /** Milliseconds since 1970. */
  at: number;
  added: string[];
  removed: string[];
  changed: ToolChange[];
  solved: Problem[];
  found: Problem[];
}

/** Differences of one tool. */
export interface ToolChange {
  name: string;
  parts: { name: string; before: string; after: string }[];
}

const PARTS: [string, (tool: Tool) => unknown][] = [
  ["label", (tool) => tool.label],
  ["description", (tool) => tool.description],
  ["schema", (tool) => tool.inputSchema],
  ["tier", (tool) => tool.approval],
  ["trusted", (tool) => tool.trusted],
  ["hidden", (tool) => tool.hidden],
  ["path", (tool) => tool.path],
  ["rights", (tool) => tool.rights],
];

/** Returns the differences; null if there are none. */
export function changeOf(before: Catalog, after: Catalog): Change | null {
  const old = byName(before.tools);
  const now = byName(after.tools);
  const change: Change = {
    at: Date.now(),
    added: [...now.keys()].filter((name) => !old.has(name)),
    removed: [...old.keys()].filter((name) => !now.has(name)),
    changed: [...now.values()].flatMap((tool) => {
      const known = old.get(tool.name);
      const parts = known ? differences(known, tool) : [];
      return parts.length > 0 ? [{ name: tool.name, parts }] : [];
    }),
    solved: missing(before.problems, after.problems),
    found: missing(after.problems, before.problems),
  };
  const { added, removed, changed, solved, found } = change;
  const isEmpty = [added, removed, changed, solved, found].every((list) => list.length === 0);
  return isEmpty ? null : change;
}

function byName(tools: Tool[]): Map<string, Tool> {
  return new Map(tools.map((tool) => [tool.name, tool]));
}

function differences(before: Tool, after: Tool): ToolChange["parts"] {
  return PARTS.flatMap(([name, part]) => {
    const [one, other] = [show(part(before)), show(part(after))];
    return one === other ? [] : [{ name, before: one, after: other }];
  });
}

function show(value: unknown): string {
  if (typeof value === "string") return value;
  return value === undefined ? "" : JSON.stringify(value, null, 2);
}

/** Returns the problems that the other list does not have. */
function missing(problems: Problem[], others: Problem[]): Problem[] {
  const key = ({ message, path, line }: Problem) => JSON.stringify([message, path, line]);
  const known = new Set(others.map(key));
  return problems.filter((problem) => !known.has(key(problem)));
}
