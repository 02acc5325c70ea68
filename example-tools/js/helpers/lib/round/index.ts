// Money has two decimals.

export const round = (amount: number) => Math.round(amount * 100) / 100;
