export { pad } from "./real.js";
