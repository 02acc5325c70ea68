export const said = "main";
