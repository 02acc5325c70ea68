import { join } from "node:path";
const it = { same: join("a", "b") };
export = it;
