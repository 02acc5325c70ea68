import { strict } from "strict";

export default () => strict(undefined);
