import { here, notThere } from "./lib/fine.ts";

export default () => notThere(here);
