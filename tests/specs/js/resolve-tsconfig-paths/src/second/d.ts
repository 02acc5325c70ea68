export const d: string = "second";
