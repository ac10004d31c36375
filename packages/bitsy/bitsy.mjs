// The page's part as a module: `import { register } from ".../bitsy.mjs"`.

import "./bitsy.js";

export const bitsy = globalThis.bitsy;
export const register = bitsy.register;
export default bitsy;
