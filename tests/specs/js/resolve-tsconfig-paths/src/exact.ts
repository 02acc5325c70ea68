export const c: string = "exact";
