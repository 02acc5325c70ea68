// `pi.ui` where nobody can be asked: every question gets the original's neutral answer
// (spec omp 5.2). The real one comes with the surfaces that have a user.

export const noUi = {
  select: async (): Promise<undefined> => undefined,
  confirm: async (): Promise<boolean> => false,
  input: async (): Promise<undefined> => undefined,
  editor: async (): Promise<undefined> => undefined,
  custom: async (): Promise<undefined> => undefined,
  notify(): void {},
  setStatus(): void {},
  setEditorText(): void {},
  getEditorText: (): string => "",
  get theme(): undefined {
    return undefined;
  },
};
