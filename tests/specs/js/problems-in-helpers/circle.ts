import { second } from "./lib/second.ts";
export const first = 1;
export default () => second;
