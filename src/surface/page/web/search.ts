// Search for tools: in names, descriptions and parameters.

import type { Tool } from "./api.ts";
import { isRecord } from "./form/schema.ts";

/** A tool that was found, with the parameter that matched, if nothing else did. */
export interface Found {
  tool: Tool;
  parameter?: string;
}

/** Texts of a tool that the search reads. */
interface Index {
  name: string;
  rest: string;
  parameters: { name: string; text: string }[];
}

const indexes = new WeakMap<Tool, Index>();

/** Returns the tools that contain every word, sorted by the match of their names. */
export function search(tools: Tool[], text: string): Found[] {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length === 0) return tools.map((tool) => ({ tool }));
  const scored = tools.map((tool) => ({ tool, ...score(tool, words) }));
  const found = scored.filter(({ points }) => points > 0);
  found.sort((one, other) => other.points - one.points);
  return found.map(({ tool, parameter }) =>
    parameter === undefined ? { tool } : { tool, parameter },
  );
}

function score(tool: Tool, words: string[]): { points: number; parameter?: string } {
  const { name, rest, parameters } = indexOf(tool);
  let points = 0;
  let parameter: string | undefined;
  for (const word of words) {
    const inParameter = parameters.find(({ text }) => text.includes(word));
    if (name.startsWith(word)) points += 8;
    else if (name.includes(word)) points += 6;
    else if (rest.includes(word)) points += 2;
    else if (inParameter) {
      points += 1;
      parameter ??= inParameter.name;
    } else return { points: 0 };
  }
  return parameter === undefined ? { points } : { points, parameter };
}

function indexOf(tool: Tool): Index {
  const known = indexes.get(tool);
  if (known) return known;
  const { label = "", family = "", providerName = "", path = "", tags = [] } = tool;
  const about = [tool.description, family, providerName, path, ...tags];
  const index = {
    name: `${tool.name} ${label}`.toLowerCase(),
    rest: about.join(" ").toLowerCase(),
    parameters: parametersOf(tool.inputSchema),
  };
  indexes.set(tool, index);
  return index;
}

function parametersOf(schema: unknown): { name: string; text: string }[] {
  const properties = isRecord(schema) ? schema["properties"] : undefined;
  if (!isRecord(properties)) return [];
  return Object.entries(properties).map(([name, node]) => {
    const about = isRecord(node) ? node["description"] : undefined;
    return { name, text: `${name} ${typeof about === "string" ? about : ""}`.toLowerCase() };
  });
}
