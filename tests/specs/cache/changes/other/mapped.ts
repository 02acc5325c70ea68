export const mapped = "there";
