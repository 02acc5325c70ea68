export const said: string = "d/index.ts";
