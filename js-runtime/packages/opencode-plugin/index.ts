// `@opencode-ai/plugin`: what tool files and plugins of opencode import (dialects 1.2).

import * as zod from "zod";

/** Returns the definition; it is there so that editors infer the types of the arguments. */
export function tool<T>(definition: T): T {
  return definition;
}

tool.schema = zod;
