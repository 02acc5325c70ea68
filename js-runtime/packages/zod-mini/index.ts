// zod's functional twin, which tools rarely use.

export * from "zod/mini";
