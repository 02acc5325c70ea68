import { x } from "@nobody/nothing/deep";
export default () => x;
