import { helper } from "./lib/wants-package.ts";
export default () => helper();
