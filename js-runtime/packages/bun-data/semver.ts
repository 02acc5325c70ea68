// `Bun.semver`: versions and ranges as npm writes them.

import compare from "semver/functions/compare.js";
import inRange from "semver/functions/satisfies.js";
import valid from "semver/functions/valid.js";

export const semver = {
  satisfies: (version: string, range: string): boolean => inRange(String(version), String(range)),
  order(left: string, right: string): -1 | 0 | 1 {
    const wrong = [left, right].find((version) => valid(String(version)) === null);
    if (wrong !== undefined) throw new Error(`Invalid SemVer: ${wrong}`);
    return compare(left, right);
  },
};
