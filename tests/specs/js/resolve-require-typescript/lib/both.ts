export const said: string = "both.ts";
