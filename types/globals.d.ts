// What is global for tools beside the Web and Node: Bun, what Bun adds to modules, and the kinds of
// files that a module may import as a value.

declare const Bun: typeof import("bun");

interface ImportMeta {
  readonly dir: string;
  readonly file: string;
  readonly path: string;
  readonly main: boolean;
}

declare module "*.md" {
  const text: string;
  export default text;
}
declare module "*.txt" {
  const text: string;
  export default text;
}
declare module "*.toml" {
  const value: any;
  export default value;
}
declare module "*.yaml" {
  const value: any;
  export default value;
}
declare module "*.yml" {
  const value: any;
  export default value;
}
