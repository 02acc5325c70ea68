import { parse } from "nobody-has-this/parser";
export default () => parse("x");
