import greet from "q";
export const fromMjs = greet();
