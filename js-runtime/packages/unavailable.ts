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
