import { shape } from "./lib/broken.ts";

export default () => shape();
