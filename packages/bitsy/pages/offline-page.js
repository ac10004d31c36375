// The page as it is: registers the worker beside it, and mounts the three parts.

import { register } from "./bitsy.mjs";
import { mount } from "./offline.mjs";

const element = document.getElementById("offline");
try {
  const files = ["offline.html", "offline.css", "offline.mjs", "messages.mjs", "offline-page.js", "bitsy.mjs", "bitsy.js"];
  await register("bitsy-worker.js", { shell: files });
  mount(element);
} catch (error) {
  element.textContent = `Offline storage cannot be used: ${error.message}`;
}
