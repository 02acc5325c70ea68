export const other = "the other file";
