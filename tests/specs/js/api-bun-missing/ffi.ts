import { dlopen } from "bun:ffi";
export default () => dlopen;
