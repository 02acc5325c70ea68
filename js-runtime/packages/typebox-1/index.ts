// TypeBox 1, the package `typebox`. Its subpaths are in `typebox-1-tools`.

import { Settings } from "typebox/system";
import * as type from "typebox/type";

export * from "typebox";
export { default } from "typebox";

export const __parts = { type: () => type, settings: () => Settings };
