// Text size, width of articles and colours, as chosen in this browser. It runs before the page is drawn, so that nothing flashes.
// Every page works without this script.
"use strict";
(() => {
  const NAME = "feedsync-appearance";
  const FIELDS = ["size", "width", "theme"];
  const root = document.documentElement;
  let chosen = {};
  try {
    chosen = JSON.parse(localStorage.getItem(NAME)) ?? {};
  } catch {
    // A browser without storage, or with damaged storage: the choice applies to this page only.
  }

  function apply() {
    for (const field of FIELDS) {
      if (chosen[field]) root.dataset[field] = chosen[field];
      else delete root.dataset[field];
    }
  }
  apply();

  document.addEventListener("DOMContentLoaded", () => {
    const dialog = document.getElementById("appearance");
    const button = document.getElementById("appearance-button");
    if (!dialog || !button) return;
    button.hidden = false;
    button.addEventListener("click", () => dialog.showModal());
    for (const field of FIELDS) {
      const select = document.getElementById(`appearance-${field}`);
      select.value = chosen[field] ?? "";
      select.addEventListener("change", () => {
        chosen[field] = select.value;
        apply();
        try {
          localStorage.setItem(NAME, JSON.stringify(chosen));
        } catch {
          // As above.
        }
      });
    }
  });
})();
