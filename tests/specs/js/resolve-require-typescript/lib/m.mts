export const said = "mts" as const;
