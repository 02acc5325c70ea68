import { join } from "node:path";
import { x } from "./nowhere";

export default () => join(x);
