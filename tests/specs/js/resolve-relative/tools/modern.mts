export const c: string = "modern";
