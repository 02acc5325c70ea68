export type require = string;
