// Checkpoints, settings and log of a run.

import { make, nothing, table } from "./elements.js";
import { get } from "./server.js";
import { count, isLive, moment, sentence, size } from "./format.js";

const MOST_EVENTS = 2000;

export class Checkpoints {
  constructor(run) {
    this.run = run;
    this.element = make("div");
  }

  show() {
    const { checkpoints = [], quarantined: aside = [], damaged = [], metric } = this.run.details;
    const parts = [];
    if (checkpoints.length) {
      const columns = [{ title: "Checkpoint" }, { title: "Step", numeric: true }, { title: "Size", numeric: true }, { title: "Written", numeric: true }, { title: "Remarks" }];
      parts.push(table("Checkpoints", columns, checkpoints.map((item) => [
        item.name, count(item.step), size(item.bytes), moment(item.time),
        [item.is_best ? `best${metric ? ` by ${metric}` : ""}` : "", item.is_complete ? "" : "not complete"].filter(Boolean).join(", "),
      ]), { id: "checkpoints" }));
    } else parts.push(nothing("There are no checkpoints."));
    if (aside.length) parts.push(make("p", { text: `Set aside because they were damaged: ${aside.map((item) => item.name).join(", ")}.` }));
    if (damaged.length) parts.push(make("p", { text: `Files that cannot be read: ${damaged.join(", ")}.` }));
    this.element.replaceChildren(...parts);
  }
}

export class Settings {
  constructor(run) {
    this.run = run;
    this.element = make("div");
  }

  show() {
    const { config, path } = this.run.details;
    this.element.replaceChildren(
      make("p", { class: "quiet", id: "run-path", text: path ?? "" }),
      config
        ? make("pre", { id: "config", tabindex: "0", role: "region", "aria-label": "Settings" }, make("code", { text: config }))
        : nothing("There are no settings to be read."));
  }
}

export class Log {
  constructor(run) {
    this.run = run;
    this.seen = new Map(); // events of the table by their text
    this.body = make("tbody");
    this.empty = nothing("Nothing is logged yet.");
    this.box = make("div", { class: "wide log", id: "log", tabindex: "0", role: "log", "aria-label": "Log" },
      make("table", {},
        make("caption", { class: "unseen", text: "Log" }),
        make("thead", {}, make("tr", {},
          make("th", { scope: "col", text: "Time" }), make("th", { scope: "col", class: "number", text: "Step" }),
          make("th", { scope: "col", text: "What happened" }))),
        this.body));
    this.element = make("div", {}, this.empty, this.box);
  }

  async show() {
    try {
      const { events } = await get(`${this.run.path}/log`, { limit: 500 }, this.run.signal);
      const last = events.at(-1)?.time ?? 0;
      const newer = [...this.seen.values()].filter((event) => event.time >= last); // streamed while the list was read
      this.body.replaceChildren();
      this.seen.clear();
      this.add([...events, ...newer]);
      this.box.scrollTop = this.box.scrollHeight;
    } catch (error) {
      if (!this.run.signal.aborted) this.empty.textContent = error.message;
    }
  }

  /** Append events; a view scrolled to the end stays there. */
  add(events) {
    const isAtEnd = this.box.scrollTop + this.box.clientHeight >= this.box.scrollHeight - 8;
    for (const event of events) {
      const key = JSON.stringify(event);
      if (this.seen.has(key)) continue; // the stream and the list may overlap
      this.seen.set(key, event);
      this.body.append(make("tr", { class: event.event === "failed" ? "bad" : null },
        make("td", { text: moment(event.time) }), make("td", { class: "number", text: count(event.step) }),
        make("td", { class: "sentence", text: sentence(event) })));
    }
    while (this.body.children.length > MOST_EVENTS) this.body.firstElementChild.remove();
    this.empty.hidden = this.body.children.length > 0;
    this.box.hidden = !this.empty.hidden;
    if (isAtEnd && isLive(this.run.details)) this.box.scrollTop = this.box.scrollHeight;
  }
}
