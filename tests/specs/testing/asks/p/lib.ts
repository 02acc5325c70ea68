export const word = "hello";
