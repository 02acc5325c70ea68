// From what a check saw to a verdict, and all verdicts as a table.

/**
 * The verdict on an outcome: `seen` of a check that passed, `failed` of one that did not.
 *
 * A limit of the client has to show as it is on record. Another failure is one, and so is success: then the record
 * is out of date.
 */
export function judged(limit, { seen, failed }) {
  if (!limit) return failed === undefined ? ["ok", seen] : ["FAIL", failed];
  if (failed === undefined) return ["FAIL", `${seen}, but a limit is on record: ${limit.why}`];
  if (!limit.shows.test(failed)) return ["FAIL", `${failed}; on record is: ${limit.why}`];
  return ["limit", limit.why];
}

/** A row for each check, a column for each client. */
export function table(checks, labels, verdicts) {
  const cell = (check, label) =>
    verdicts.find((one) => one.check === check && one.label === label)?.verdict ?? "-";
  const rows = checks.map((check) => [check, ...labels.map((label) => cell(check, label))]);
  rows.unshift(["", ...labels]);
  const widths = rows[0].map((_, column) => Math.max(...rows.map((row) => row[column].length)));
  const line = (row) => row.map((text, column) => text.padEnd(widths[column])).join("  ");
  return rows.map((row) => line(row).trimEnd()).join("\n");
}
