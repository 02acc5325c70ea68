export const g = "real-ts";
