import path = require("path");
function assigned(): string {
  return path.basename("/x/assigned");
}
export = assigned;
