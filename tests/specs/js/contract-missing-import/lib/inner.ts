export { x } from "no-such-package";
