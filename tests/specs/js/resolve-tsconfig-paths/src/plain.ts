export const e: string = "plain";
