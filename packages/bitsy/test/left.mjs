// What a failed test leaves running: servers, programs and browsers. Node would wait for them, so they are ended after
// the last test of a file.

import { after } from "node:test";

const left = new Set();
// The benchmark uses the same helpers, and is no test.
if (process.argv[1]?.endsWith(".test.mjs")) after(() => { for (const end of left) end(); });

// Calls this function after the last test. What it ends may have ended already.
export const endLast = (end) => { left.add(end); };
