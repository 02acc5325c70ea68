import { readFileSync } from "node:fs";

export const word: string = "hello";
export const load = (name: string) => import(`./${name}`);
export const run = (path: string) => eval(readFileSync(path, "utf8"));
