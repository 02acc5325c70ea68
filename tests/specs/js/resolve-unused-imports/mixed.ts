export interface OnlyAType {
  a: string;
}

export const used = "used";
