// The little of deno_core that the runtime's modules import. Its own types are not published.

declare module "ext:core/mod.js" {
  export const core: any;
  export const internals: any;
}

declare module "ext:core/ops";

// Deno's own scripts and modules, which the snapshot warms up.
declare module "ext:deno_node/*";
