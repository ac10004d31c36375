// What the scripts of the reading pages share: the choices of text size, width and colours, times, and keyboard shortcuts. It
// runs before the page is drawn, so that nothing flashes. Every page but the one for reading without a network works without
// this script.
"use strict";
self.feedsyncReading = (() => {
  // A value of the browser's storage. Without storage, a choice applies to this page only.
  const stored = {
    get(name) {
      try {
        return localStorage.getItem(name);
      } catch {
        return null;
      }
    },
    set(name, value) {
      try {
        localStorage.setItem(name, value);
      } catch {
        // As above.
      }
    },
  };

  const APPEARANCE = "feedsync-appearance";
  const FIELDS = ["size", "width", "theme"];
  const root = document.documentElement;
  let chosen = {};
  try {
    chosen = JSON.parse(stored.get(APPEARANCE)) ?? {};
  } catch {
    // The storage is damaged.
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
    button.hidden = false;
    button.addEventListener("click", () => dialog.showModal());
    for (const field of FIELDS) {
      const select = document.getElementById(`appearance-${field}`);
      select.value = chosen[field] ?? "";
      select.addEventListener("change", () => {
        chosen[field] = select.value;
        apply();
        stored.set(APPEARANCE, JSON.stringify(chosen));
      });
    }
  });

  // Times relative to now, or as dates in the time zone of this browser from a week on. The whole time is the title.
  const language = root.lang;
  const relative = new Intl.RelativeTimeFormat(language, { numeric: "auto" });
  const date = new Intl.DateTimeFormat(language, { dateStyle: "medium" });
  const whole = new Intl.DateTimeFormat(language, { dateStyle: "full", timeStyle: "long" });
  function timeText(at) {
    const seconds = (at - Date.now()) / 1000;
    if (Math.abs(seconds) >= 7 * 86400) return date.format(at);
    const [unit, length] = [["day", 86400], ["hour", 3600], ["minute", 60]].find(([, length]) => Math.abs(seconds) >= length) ?? ["second", 1];
    return relative.format(Math.round(seconds / length), unit);
  }
  function showTime(time) {
    const at = new Date(time.dateTime);
    if (Number.isNaN(at.getTime())) return;
    time.textContent = timeText(at);
    time.title = whole.format(at);
  }

  // Speech input can trigger single-key shortcuts by accident, so the shortcuts can be turned off.
  const KEYS = "feedsync-keys";
  let hasKeys = stored.get(KEYS) !== "off";
  function setKeys(isOn) {
    hasKeys = isOn;
    stored.set(KEYS, isOn ? "on" : "off");
  }
  // Calls a function with each key that is pressed outside fields and dialogs. It returns whether it knows the key.
  function onKey(handle) {
    document.addEventListener("keydown", (event) => {
      if (event.defaultPrevented || event.ctrlKey || event.altKey || event.metaKey || event.isComposing || !hasKeys) return;
      if (document.querySelector("dialog[open]") || event.target.closest("input, textarea, select, audio")) return;
      if (handle(event.key)) event.preventDefault();
    });
  }

  return { timeText, showTime, onKey, setKeys, hasKeys: () => hasKeys };
})();
