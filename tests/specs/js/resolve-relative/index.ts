export const j = "root";
