// Decides the order in which `execute` takes its arguments.
//
// The contract is `(id, params, onUpdate, ctx, signal)`. Tools for early pi, and pi's extensions to this
// day, take `(id, params, signal, onUpdate, ctx)`. Only the function's source distinguishes them: the
// names of its parameters, or else the use of the third one. In doubt it is the contract.

/** The order of early pi, where a tool takes it. */
export type ArgumentOrder = "pi";

/** Returns the source of a function. */
export const sourceOf = Function.prototype.call.bind(Function.prototype.toString) as (
  of: unknown,
) => string;

const SIGNAL = /signal|abort|cancel/i;
const UPDATE = /update|progress|emit|partial/i;
const CONTEXT = /^_*(?:ctx|context)\d*$|context$/i;

/** Members of an AbortSignal, and of a context, in a pattern that takes one apart. */
const SIGNAL_MEMBERS = /\b(?:aborted|addEventListener|throwIfAborted|reason)\b/;
const CONTEXT_MEMBERS = /\b(?:sessionManager|modelRegistry|hasUI|isIdle|hasQueuedMessages)\b/;

/** Presumed purpose of a parameter. */
type Purpose = "signal" | "update" | "context" | undefined;

/** The order that `execute` takes; nothing for that of the contract. */
export function argumentOrder(execute: unknown): ArgumentOrder | undefined {
  const source = sourceOf(execute);
  const parameters = parametersOf(source);
  if (parameters === undefined || parameters.length < 3) return undefined;
  const [, , third, fourth, fifth] = parameters.map(purposeOf);
  if (third === "update" || third === "context") return undefined;
  if (third === "signal") return "pi";
  // Five parameters with the signal last, or four with the context last: the contract.
  if (fifth === "signal" || fourth === "context") return undefined;
  if (fourth === "update" || fifth === "context") return "pi";
  return usesAsSignal(source, nameOf(parameters[2] as string)) ? "pi" : undefined;
}

function purposeOf(parameter: string): Purpose {
  const name = nameOf(parameter);
  if (name === undefined) {
    if (SIGNAL_MEMBERS.test(parameter)) return "signal";
    return CONTEXT_MEMBERS.test(parameter) ? "context" : undefined;
  }
  if (CONTEXT.test(name)) return "context";
  if (UPDATE.test(name)) return "update";
  return SIGNAL.test(name) ? "signal" : undefined;
}

/** The name of a parameter without its default; nothing for a pattern or a rest parameter. */
function nameOf(parameter: string): string | undefined {
  return /^[\p{ID_Start}$_][\p{ID_Continue}$]*/u.exec(parameter)?.[0];
}

/** Code that was made small has names of one letter; what it asks of a signal nothing else has. */
function usesAsSignal(source: string, name: string | undefined): boolean {
  if (name === undefined) return false;
  const own = name.replaceAll("$", "\\$");
  const member = `(?<![.\\w$])${own}\\s*\\??\\.\\s*(?:aborted|throwIfAborted|addEventListener)\\b`;
  const handed = `\\bsignal\\s*:\\s*${own}(?![\\w$])`;
  return new RegExp(`${member}|${handed}`).test(source);
}

/** The parameters as they are written, without comments; nothing where the source is not to be had. */
export function parametersOf(source: string): string[] | undefined {
  if (source.endsWith("{ [native code] }")) return undefined;
  const scanner = new Scanner(source);
  let text = "";
  for (let token = scanner.next(); token !== undefined; token = scanner.next()) {
    if (token === "(") return listIn(scanner);
    // The name of a method may be computed: `["execute"](…)`.
    if (token === "[") scanner.skipTo("]");
    else if (token === "=" && scanner.peek() === ">") return [lone(text)];
    else text += token;
  }
  return undefined;
}

/** `async id => …` */
function lone(text: string): string {
  return text.trim().replace(/^async\s+/, "");
}

function listIn(scanner: Scanner): string[] {
  const parameters: string[] = [];
  let text = "";
  let depth = 0;
  for (let token = scanner.next(); token !== undefined; token = scanner.next()) {
    if (depth === 0 && (token === ")" || token === ",")) {
      const parameter = text.trim();
      if (parameter !== "") parameters.push(parameter);
      if (token === ")") break;
      text = "";
      continue;
    }
    if (OPENING.includes(token)) depth += 1;
    else if (CLOSING.includes(token)) depth -= 1;
    text += token;
  }
  return parameters;
}

const OPENING = "([{";
const CLOSING = ")]}";

/** Reads source one character after another, with a text or a regular expression as one; no comments. */
class Scanner {
  readonly #source: string;
  #at = 0;
  /** The last character that is not a blank: before a regular expression it is an operator. */
  #last = "";

  constructor(source: string) {
    this.#source = source;
  }

  peek(): string | undefined {
    return this.#source[this.#at];
  }

  next(): string | undefined {
    const source = this.#source;
    const from = this.#at;
    const character = source[from];
    if (character === undefined) return undefined;
    if (source.startsWith("//", from)) return this.#blank(source.indexOf("\n", from), 0);
    if (source.startsWith("/*", from)) return this.#blank(source.indexOf("*/", from + 2), 2);
    if (character === '"' || character === "'") return this.#until(character);
    if (character === "`") return this.#template();
    if (character === "/" && "(,=:[!&|?{};+".includes(this.#last)) return this.#until("/");
    this.#at += 1;
    if (character.trim() !== "") this.#last = character;
    return character;
  }

  /** Goes behind the bracket that ends what was just begun. */
  skipTo(closing: string): void {
    for (let token = this.next(); token !== undefined && token !== closing; token = this.next()) {
      if (token === "[") this.skipTo("]");
    }
  }

  #blank(end: number, length: number): string {
    this.#at = end < 0 ? this.#source.length : end + length;
    return " ";
  }

  #until(quote: string): string {
    const from = this.#at;
    let inClass = false;
    for (this.#at += 1; this.#at < this.#source.length; this.#at += 1) {
      const character = this.#source[this.#at];
      if (character === "\\") this.#at += 1;
      else if (quote === "/" && character === "[") inClass = true;
      else if (quote === "/" && character === "]") inClass = false;
      else if (character === quote && !inClass) break;
    }
    this.#at += 1;
    this.#last = quote;
    return this.#source.slice(from, this.#at);
  }

  #template(): string {
    const from = this.#at;
    this.#at += 1;
    while (this.#at < this.#source.length) {
      const character = this.#source[this.#at];
      this.#at += 1;
      if (character === "\\") this.#at += 1;
      else if (character === "`") break;
      else if (character === "$" && this.peek() === "{") this.#substitution();
    }
    this.#last = "`";
    return this.#source.slice(from, this.#at);
  }

  #substitution(): void {
    let depth = 0;
    for (let token = this.next(); token !== undefined; token = this.next()) {
      if (token === "{") depth += 1;
      else if (token === "}") depth -= 1;
      if (depth === 0) return;
    }
  }
}
