export const value: string = "late";
