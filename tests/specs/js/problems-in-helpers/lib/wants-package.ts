import wanted from "nobody-has-this";
export const helper = () => wanted;
