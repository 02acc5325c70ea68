// What becomes of a limit that is on record, and the table.

import assert from "node:assert/strict";
import { test } from "node:test";

import { judged, table } from "../verdict.mjs";

const limit = { shows: /there is no user interface/, why: "it has no forms" };

test("a check without a limit passes or fails", () => {
  assert.deepEqual(judged(undefined, { seen: "the text" }), ["ok", "the text"]);
  assert.deepEqual(judged(undefined, { failed: "nothing" }), ["FAIL", "nothing"]);
});

test("a limit has to show as it is on record", () => {
  assert.deepEqual(judged(limit, { failed: "there is no user interface" }), [
    "limit",
    "it has no forms",
  ]);
  assert.equal(judged(limit, { failed: "it crashed" })[0], "FAIL");
  assert.deepEqual(judged(limit, { seen: "asked" }), [
    "FAIL",
    "asked, but a limit is on record: it has no forms",
  ]);
});

test("the table has a row for each check and a column for each client", () => {
  const verdicts = [{ label: "Agent (1.0.0)", check: "text", verdict: "ok" }];
  assert.equal(
    table(["text", "image"], ["Agent (1.0.0)"], verdicts),
    "       Agent (1.0.0)\ntext   ok\nimage  -",
  );
});
