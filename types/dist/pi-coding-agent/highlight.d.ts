/** The language of a file, by its extension. */
export declare function getLanguageFromPath(path: string): string | undefined;
/** The lines of `code` in the theme's colours. Without a language there is nothing to tell apart. */
export declare function highlightCode(code: string, language?: string): string[];
