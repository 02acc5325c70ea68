import assert from "node:assert/strict";
import type { ToolTest } from "@haft/tool-types";

const service = "https://weather.example";

export default [
  {
    name: "shows one line for each day",
    arguments: { city: "Oslo", service },
    fetch: [
      {
        url: `${service}/forecast?city=Oslo&days=2`,
        method: "GET",
        json: {
          city: "Oslo",
          days: [
            { sky: "snow", celsius: -4 },
            { sky: "sun", celsius: -9 },
          ],
        },
      },
    ],
    expect: { text: { contains: "day 2: sun" } },
    check(result) {
      assert.equal(result.text.split("\n").length, 3);
      assert.deepEqual(result.details.days[0], { sky: "snow", celsius: -4 });
    },
  },
  {
    name: "does not believe an answer of another shape",
    arguments: { city: "Oslo", service },
    fetch: [{ url: `${service}/forecast?city=Oslo&days=2`, json: { city: 7 } }],
    expect: { isError: true, text: { contains: "expected string, received number" } },
  },
  ...[404, 500].map((status) => ({
    name: `an answer with status ${status} is an error`,
    arguments: { city: "Atlantis", service },
    fetch: [{ url: `${service}/forecast?city=Atlantis&days=2`, status, body: "no such city\n" }],
    expect: { isError: true, text: { matches: `^${status} .*no such city$` } },
  })),
  {
    name: "a network that fails is an error",
    arguments: { city: "Oslo", service },
    fetch: [{ url: `${service}/forecast?city=Oslo&days=2`, error: "connection refused" }],
    expect: { isError: true, text: "connection refused" },
  },
] satisfies ToolTest[];
