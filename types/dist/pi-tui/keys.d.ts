/** The name of the key, or nothing where `data` is text or unknown. */
export declare function parseKey(data: string): string | undefined;
/** True if `data` is the key called `name`; the order of modifiers does not matter. */
export declare function matchesKey(data: string, name: string): boolean;
/** True for the release of a key, which terminals only report when asked to. */
export declare function isKeyRelease(data: string): boolean;
/** Names of keys for `matchesKey`: `Key.enter`, `Key.ctrl("c")`. */
export declare const Key: {
    escape: "escape";
    esc: "escape";
    enter: "enter";
    return: "enter";
    tab: "tab";
    space: "space";
    backspace: "backspace";
    delete: "delete";
    insert: "insert";
    home: "home";
    end: "end";
    pageUp: "pageup";
    pageDown: "pagedown";
    up: "up";
    down: "down";
    left: "left";
    right: "right";
    ctrl: (key: string) => string;
    shift: (key: string) => string;
    alt: (key: string) => string;
    ctrlShift: (key: string) => string;
    ctrlAlt: (key: string) => string;
    shiftAlt: (key: string) => string;
    ctrlShiftAlt: (key: string) => string;
};
