// Lines of a name and an amount, aligned.

export const table = (rows: ReadonlyArray<readonly [string, number]>) =>
  rows.map(([name, amount]) => `${name.padEnd(6)}${amount.toFixed(2).padStart(8)}`);
