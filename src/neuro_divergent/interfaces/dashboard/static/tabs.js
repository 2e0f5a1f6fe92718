// Tabs of a page.

import { make } from "./elements.js";

/** Tabs with their panels, operated by pointer and by keyboard. */
export class Tabs {
  /**
   * @param label What the tabs are parts of, for screen readers.
   * @param parts `[name, title, element]` for each tab.
   * @param selected Called with the name of a tab when it is shown.
   */
  constructor(label, parts, selected) {
    this.names = parts.map(([name]) => name);
    this.selected = selected;
    this.buttons = parts.map(([name, title]) => make("button", {
      type: "button", role: "tab", id: `tab-${name}`, "aria-controls": `panel-${name}`, text: title,
      on: { click: () => this.select(name), keydown: (event) => this.move(event) },
    }));
    this.panels = parts.map(([name, title, element]) =>
      make("section", { role: "tabpanel", id: `panel-${name}`, "aria-labelledby": `tab-${name}`, hidden: true },
        make("h2", { class: "unseen", text: title }), element));
    this.list = make("div", { role: "tablist", "aria-label": label, class: "tabs" }, this.buttons);
  }

  /** Show a tab. */
  select(name) {
    this.names.forEach((other, place) => {
      const isShown = other === name;
      this.buttons[place].setAttribute("aria-selected", String(isShown));
      this.buttons[place].tabIndex = isShown ? 0 : -1;
      this.panels[place].hidden = !isShown;
    });
    this.shown = name;
    this.selected(name);
  }

  move(event) {
    const place = this.names.indexOf(this.shown);
    const steps = { ArrowRight: place + 1, ArrowLeft: place - 1, Home: 0, End: this.names.length - 1 };
    if (!(event.key in steps)) return;
    event.preventDefault();
    this.select(this.names.at(steps[event.key] % this.names.length));
    this.buttons[this.names.indexOf(this.shown)].focus();
  }
}
