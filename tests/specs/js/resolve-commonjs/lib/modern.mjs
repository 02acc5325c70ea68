export const value = "from esm";
