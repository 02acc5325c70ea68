export const said = "module";
