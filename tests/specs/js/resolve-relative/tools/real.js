export const g = "real-js";
