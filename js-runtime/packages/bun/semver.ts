// `Bun.semver`: versions and ranges as npm writes them.

interface Version {
  numbers: [number, number, number];
  pre: string[];
}

type Test = (version: Version) => boolean;

const VERSION = /^\s*[v=]*\s*(\d+)\.(\d+)\.(\d+)(?:-([\w.-]+))?(?:\+[\w.-]+)?\s*$/;
const PARTIAL =
  /^(>=|<=|>|<|=|\^|~>?)?\s*[v=]*\s*(?:(\d+|[xX*])(?:\.(\d+|[xX*]))?(?:\.(\d+|[xX*]))?(?:-([\w.-]+))?(?:\+[\w.-]+)?)?$/;

function parsed(text: string): Version | undefined {
  const found = VERSION.exec(text);
  if (found === null) return undefined;
  const [, major, minor, patch, pre] = found;
  return {
    numbers: [Number(major), Number(minor), Number(patch)],
    pre: pre === undefined ? [] : pre.split("."),
  };
}

function compare(left: Version, right: Version): number {
  for (let at = 0; at < 3; at++) {
    const difference = (left.numbers[at] as number) - (right.numbers[at] as number);
    if (difference !== 0) return Math.sign(difference);
  }
  return comparePre(left.pre, right.pre);
}

// A release is newer than what came before it; numbers are older than words.
function comparePre(left: string[], right: string[]): number {
  if (left.length === 0 || right.length === 0) return Math.sign(right.length - left.length);
  for (let at = 0; at < Math.max(left.length, right.length); at++) {
    const [one, other] = [left[at], right[at]];
    if (one === other) continue;
    if (one === undefined) return -1;
    if (other === undefined) return 1;
    const [isNumber, isOtherNumber] = [/^\d+$/.test(one), /^\d+$/.test(other)];
    if (isNumber && isOtherNumber) return Math.sign(Number(one) - Number(other));
    if (isNumber !== isOtherNumber) return isNumber ? -1 : 1;
    return one < other ? -1 : 1;
  }
  return 0;
}

const atLeast =
  (low: Version): Test =>
  (version) =>
    compare(version, low) >= 0;
const below =
  (high: Version): Test =>
  (version) =>
    compare(version, high) < 0;

/** `lowest` alone, with `-0`: below every version that comes before it. */
const edge = (...numbers: [number, number, number]): Version => ({ numbers, pre: ["0"] });

/** One comparator as what has to hold, and the version that allows others before a release. */
function comparator(text: string): { tests: Test[]; named: Version } | undefined {
  const found = PARTIAL.exec(text);
  if (found === null) return undefined;
  const [, operator = "", ...given] = found;
  const parts = given
    .slice(0, 3)
    .map((part) => (part && /\d/.test(part) ? Number(part) : undefined));
  const known = parts.indexOf(undefined) < 0 ? 3 : parts.indexOf(undefined);
  const [major = 0, minor = 0, patch = 0] = parts.slice(0, known) as number[];
  const low: Version = { numbers: [major, minor, patch], pre: given[3]?.split(".") ?? [] };
  const next = [edge(0, 0, 0), edge(major + 1, 0, 0), edge(major, minor + 1, 0)][known] ?? low;
  const isPartial = known < 3;
  const test = (...tests: Test[]) => ({ tests, named: low });
  if (known === 0) return operator === "<" || operator === ">" ? test(() => false) : test();
  switch (operator) {
    case ">=":
      return test(atLeast(low));
    case ">":
      return test(isPartial ? atLeast(next) : (version) => compare(version, low) > 0);
    case "<":
      return test(below(isPartial ? { ...low, pre: ["0"] } : low));
    case "<=":
      return test(isPartial ? below(next) : (version) => compare(version, low) <= 0);
    case "^": {
      const fixed = major > 0 || known === 1 ? 0 : minor > 0 || known === 2 ? 1 : 2;
      const highs = [edge(major + 1, 0, 0), edge(0, minor + 1, 0), edge(0, 0, patch + 1)];
      return test(atLeast(low), below(highs[fixed] as Version));
    }
    case "~":
    case "~>":
      return test(atLeast(low), below(known === 1 ? next : edge(major, minor + 1, 0)));
    default:
      if (isPartial) return test(atLeast(low), below(next));
      return test((version) => compare(version, low) === 0);
  }
}

function fits(version: Version, range: string): boolean {
  const spaced = range.replace(/(\S+)\s+-\s+(\S+)/g, ">=$1 <=$2").replace(/([<>=~^]+)\s+/g, "$1");
  const all = spaced.trim().split(/\s+/).map(comparator);
  if (all.includes(undefined)) return false;
  const comparators = all as { tests: Test[]; named: Version }[];
  if (!comparators.every(({ tests }) => tests.every((test) => test(version)))) return false;
  // What comes before a release counts only where the range names one of that release.
  if (version.pre.length === 0) return true;
  return comparators.some(
    ({ named }) =>
      named.pre.length > 0 && named.numbers.every((part, at) => part === version.numbers[at]),
  );
}

export const semver = {
  satisfies(version: string, range: string): boolean {
    const read = parsed(String(version));
    if (read === undefined) return false;
    return String(range)
      .split("||")
      .some((part) => fits(read, part));
  },
  order(left: string, right: string): -1 | 0 | 1 {
    const [one, other] = [parsed(String(left)), parsed(String(right))];
    const wrong = one === undefined ? left : right;
    if (one === undefined || other === undefined) throw new Error(`Invalid SemVer: ${wrong}`);
    return compare(one, other) as -1 | 0 | 1;
  },
};
