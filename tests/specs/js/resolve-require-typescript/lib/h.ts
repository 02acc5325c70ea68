export const said: string = "ts";
