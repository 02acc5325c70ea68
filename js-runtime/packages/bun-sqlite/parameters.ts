// The parameters of a statement and what is bound to them.

/** Texts, quoted names and comments, in which nothing is a parameter. */
const SKIPPED = /'(?:[^']|'')*'|"(?:[^"]|"")*"|`[^`]*`|\[[^\]]*\]|--[^\n]*|\/\*[\s\S]*?\*\//g;
const PARAMETER = /[:@$][\p{ID_Start}_][\p{ID_Continue}$]*|\?\d*/gu;

/** The named parameters of a statement with their prefixes, and how many parameters it has. */
export function parametersOf(sql: string): { names: string[]; count: number } {
  const found = sql.replace(SKIPPED, " ").match(PARAMETER) ?? [];
  const names = [...new Set(found.filter((name) => !name.startsWith("?")))];
  const numbered = found.filter((name) => name.length > 1 && name.startsWith("?"));
  const anonymous = found.filter((name) => name === "?").length;
  const highest = Math.max(0, ...numbered.map((name) => Number(name.slice(1))));
  return { names, count: names.length + Math.max(highest, anonymous) };
}

/** The arguments for `node:sqlite`, from those that a method of Bun's statements got. */
export function bindings(given: unknown[], names: string[], isStrict: boolean): any[] {
  const [first] = given;
  if (given.length === 1 && Array.isArray(first)) return first.map(bindable);
  if (given.length !== 1 || !isNamed(first)) return given.map(bindable);
  const bound: Record<string, unknown> = {};
  for (const name of names) {
    // Without `strict` the keys have the prefix that the statement has.
    const key = isStrict ? name.slice(1) : name;
    if (Object.hasOwn(first, key)) bound[name] = bindable(first[key]);
    else if (isStrict) throw new Error(`Missing parameter "${key}"`);
  }
  return [bound];
}

function isNamed(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !ArrayBuffer.isView(value);
}

function bindable(value: unknown): unknown {
  if (typeof value === "boolean") return value ? 1 : 0;
  return value === undefined ? null : value;
}
