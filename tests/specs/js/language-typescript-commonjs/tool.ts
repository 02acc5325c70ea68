import fs = require('fs');
import types = require('./types');
import type more = require('./none');
import it from './assigned-with-import';
import assigned from './assigned';
import * as whole from './assigned';
const kind: types.Kind = typeof fs.readFileSync;

export default () => ({
  name: "probe",
  description: "d",
  parameters: { type: "object" },
  execute: async () => ({ content: [{ type: "text", text: JSON.stringify([kind, assigned(), typeof whole.default, it.same]) }] }),
});
