// Stand-ins for members of the pi packages that only make sense inside of an agent.
//
// A tool that imports one loads; it fails with a clear sentence when it uses it.

/** A function, also usable as a class, that throws what the reason is. */
export function unavailable(
  packageName: string,
  name: string,
  reason: string,
): (...args: unknown[]) => never {
  // A `function`, because an arrow cannot be called with `new`.
  // biome-ignore lint/complexity/useArrowFunction: see above.
  const stand = function (): never {
    throw new Error(`\`${name}\` of ${packageName} is not available here: ${reason}`);
  };
  Object.defineProperty(stand, "name", { value: name });
  return stand;
}

/**
 * Getters of stand-ins for the members that `names` lists, separated by spaces. Those of errors are
 * classes without instances, for tools that ask what an error is.
 */
export function standIns(
  packageName: string,
  reason: string,
  names: string,
): Record<string, () => unknown> {
  const getter = (name: string) => {
    let made: unknown;
    return () => {
      made ??= name.endsWith("Error") ? errorClass(name) : unavailable(packageName, name, reason);
      return made;
    };
  };
  return Object.fromEntries(
    names
      .trim()
      .split(/\s+/)
      .map((name) => [name, getter(name)]),
  );
}

function errorClass(name: string): new (message?: string) => Error {
  const made = class extends Error {
    override name = name;
    static isInstance(_error: unknown): boolean {
      return false;
    }
  };
  Object.defineProperty(made, "name", { value: name });
  return made;
}
