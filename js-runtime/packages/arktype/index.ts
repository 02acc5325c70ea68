// arktype, whole.

export * from "arktype";
