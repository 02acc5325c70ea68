export const mapped = "here";
