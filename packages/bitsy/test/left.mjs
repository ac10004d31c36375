// What a failed test leaves running: servers, programs and browsers. Node would wait for them, so they are ended after
// the last test of a file.

import { spawn } from "node:child_process";
import { after } from "node:test";

const left = new Set();
// The benchmark uses the same helpers, and is no test.
if (process.argv[1]?.endsWith(".test.mjs")) after(() => { for (const end of left) end(); });

// Calls this function after the last test. What it ends may have ended already.
export const endLast = (end) => { left.add(end); };

// Starts a program that is killed after the last test.
export function start(program, args, options) {
  const child = spawn(program, args, options);
  endLast(() => child.kill("SIGKILL"));
  return child;
}
