export const said = "tsx" as string;
