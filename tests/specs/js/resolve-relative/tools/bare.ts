export const a = "bare";
