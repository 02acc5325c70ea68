// Breaks what comes after it before anything is called.
JSON.stringify = () => "patched";
Array.prototype.map = () => [];

export default () => null;
