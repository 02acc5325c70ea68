// fail: the ways in which a tool can say that something went wrong.
//
// Throw when the work could not be done: the message is what the model reads, so write it for the
// model, with what to try instead. Return `isError: true` when there is more to show than a message,
// for instance output of a program that failed, or details for the history. Whatever happens, the
// model gets an answer and the other tools go on.

import type { CustomToolFactory } from "@oh-my-pi/pi-coding-agent";

class QuotaError extends Error {
  override name = "QuotaError";

  constructor(
    readonly used: number,
    readonly allowed: number,
  ) {
    super(`${used} of ${allowed} requests used; try again tomorrow`);
  }
}

const factory: CustomToolFactory = (pi) => ({
  name: "fail",
  label: "Fail",
  description: "Fails in the way that you ask for",
  parameters: pi.zod.object({
    how: pi.zod.enum(["throw", "custom", "rejected", "string", "returned", "silent", "bug"]),
  }),
  async execute(_id, { how }) {
    switch (how) {
      case "throw":
        throw new Error("no such table: users; tables are: people, places");
      case "custom":
        throw new QuotaError(100, 100);
      case "rejected":
        return Promise.reject(new RangeError("line 900 of a file of 20 lines"));
      case "string":
        throw "not even an Error";
      case "returned":
        return {
          content: [{ type: "text", text: "2 tests failed" }],
          details: { failed: ["adds", "subtracts"] },
          isError: true,
        };
      case "silent":
        return { content: [], isError: true };
      case "bug":
        return (undefined as any).content;
    }
  },
});

export default factory;
