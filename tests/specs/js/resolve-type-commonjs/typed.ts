export const typed: string = "typed";
