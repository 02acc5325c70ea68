export const word = "second";
