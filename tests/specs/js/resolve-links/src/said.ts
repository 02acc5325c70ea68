export const said = "by tsconfig";
