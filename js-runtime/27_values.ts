// What dialects share: the exports of a module, and the content blocks that any returned value stands for.

import type { ImportedModule } from "ext:haft/27_dialect_table.ts";

type Block = Record<string, unknown>;

export const textBlock = (text: string): Block => ({ type: "text", text });

/** Returns true for an object that is neither null nor an array. */
export function isRecord(value: unknown): value is Record<string, any> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Returns the result for any value: text as it is, everything else as JSON and as details. */
export function resultOfValue(value: unknown): Record<string, unknown> {
  if (value === undefined || value === null) return { content: [textBlock("")] };
  if (typeof value !== "object") return { content: [textBlock(String(value))] };
  return { content: [textBlock(JSON.stringify(value, null, 2))], details: value };
}

/** Returns the block for data in base64: a picture or a sound as such, all else as a resource. */
export function blockOfData(data: string, mimeType: string, name = "attachment"): Block {
  for (const type of ["image", "audio"]) {
    if (mimeType.startsWith(`${type}/`)) return { type, data, mimeType };
  }
  return { type: "resource", resource: { uri: `attachment:${name}`, mimeType, blob: data } };
}

/** Returns the block for a file by its address. The data of a `data:` URL goes along. */
export function blockOfUrl(url: string, mimeType?: string, name?: string): Block {
  const data = /^data:([^;,]*)(?:;[^,]*)?;base64,(.*)$/s.exec(url);
  if (data !== null) return blockOfData(data[2] as string, mimeType ?? data[1] ?? "", name);
  const block: Block = { type: "resource_link", uri: url, name: name ?? url };
  if (mimeType !== undefined) block["mimeType"] = mimeType;
  return block;
}

/** Returns the exports; those of a CommonJS module are the properties of its default. */
export function exportsOf({ namespace }: ImportedModule): [string, any][] {
  const exported = Object.entries(namespace);
  const only = exported.length === 1 && exported[0]?.[0] === "default" && namespace["default"];
  const isModule = isRecord(only) && only["__esModule"] === true;
  return (isModule ? Object.entries(only) : exported).filter(([name]) => name !== "__esModule");
}

/** Returns the name of a file without its extension. */
export function stemOf(path: string): string {
  return (/([^/]*)$/.exec(path)?.[1] ?? path).replace(/\.[^.]*$/, "");
}
