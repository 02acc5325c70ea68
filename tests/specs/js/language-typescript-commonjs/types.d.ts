export type Kind = string;
