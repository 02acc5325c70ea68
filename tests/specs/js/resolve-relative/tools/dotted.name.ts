export const h = "dotted";
