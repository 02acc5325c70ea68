import { basename from "node:path";
