// zod 4, whole. `zod`, `zod/v4` and `pi.zod` are this one instance.
//
// Its languages other than English are the script `zod-locales`, loaded when one is named.

import * as core from "zod/v4/core";

export * from "zod";
export { default } from "zod";

export const __parts = { core: () => core };
