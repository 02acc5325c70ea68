import { x } from "./lib/inner";
export default () => x;
