// Text to copy, such as a command.

import { button, make } from "./elements.js";

/** Return text in a box with a button that copies it. */
export function copyable(text, label, page) {
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text);
      page.announce("Copied.");
    } catch {
      page.announce("The browser does not let the page copy; select the text instead.");
    }
  };
  return make("div", { class: "copyable" },
    make("pre", { tabindex: "0", role: "region", "aria-label": label }, make("code", { text })),
    button("Copy", copy, { class: "small", "aria-label": `Copy: ${label}` }));
}
