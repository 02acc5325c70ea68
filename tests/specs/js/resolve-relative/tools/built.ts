export const b: string = "built";
