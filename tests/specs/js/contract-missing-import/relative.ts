import { x } from "./nowhere";
export default () => x;
