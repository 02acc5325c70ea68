export const pad = (text) => `..${text}`;
