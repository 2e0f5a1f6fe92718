// Decisions of a continuous training as a log, the newest on top, each with what it rests on.

import { make, nothing } from "./elements.js";
import { replace } from "./changes.js";
import { unfolded } from "./evidence.js";
import { count, instant } from "./format.js";

const KINDS = {
  promoted: "good", confirmed: "good", accepted: "good", training: "plain", challenger: "plain", kept: "plain", reopened: "plain", ended: "plain",
  drift: "warn", rejected: "warn", incident: "bad", failed: "bad", "rolled back": "bad",
};

export class Decisions {
  constructor(continuous) {
    this.continuous = continuous;
    this.kind = make("select", { id: "decision-kind" });
    this.kind.addEventListener("change", () => this.show());
    this.place = make("div", { id: "decisions" });
    this.note = make("p", { class: "quiet" });
    this.element = make("div", {},
      make("div", { class: "tools" }, make("div", { class: "field" }, make("label", { for: "decision-kind", text: "Decision" }), this.kind)),
      this.place, this.note);
  }

  show() {
    const { decisions } = this.continuous.details;
    const kinds = [...new Set(decisions.map(({ kind }) => kind))].sort();
    const options = [["", `All (${count(decisions.length)})`], ...kinds.map((kind) => [kind, `${kind} (${count(decisions.filter((item) => item.kind === kind).length)})`])];
    const before = this.kind.value;
    replace(this.kind, ...options.map(([value, text]) => make("option", { value, text })));
    this.kind.value = kinds.includes(before) ? before : "";
    const shown = decisions.filter(({ kind }) => !this.kind.value || kind === this.kind.value);
    replaceKeptOpen(this.place, shown.length ? decisionList(shown) : nothing("No decision yet."));
    const last = decisions.at(-1)?.number ?? 1;
    this.note.textContent = last > 1 ? `The latest are shown; ${count(last - 1)} earlier ones are in state.db.` : "";
    this.note.hidden = last <= 1;
  }
}

/** Return decisions as a list. */
export function decisionList(decisions) {
  return make("ol", { class: "decisions", reversed: true }, decisions.map((decision) => make("li", { "data-number": decision.number },
    make("p", { class: "when" },
      make("span", { class: `decision ${KINDS[decision.kind] ?? "plain"}`, text: decision.kind }), " ",
      make("span", { class: "quiet", text: `${count(decision.number)} · ${instant(decision.at)}${decision.delivered ? "" : " · hooks have not run"}` })),
    make("p", { text: decision.sentence }),
    unfolded("Evidence", decision.evidence))));
}

/** Show a list in place of another one; what was unfolded stays so. */
function replaceKeptOpen(place, list) {
  const open = new Set([...place.querySelectorAll("li:has(details[open])")].map((item) => item.dataset.number));
  for (const item of list.querySelectorAll?.("li[data-number]") ?? []) {
    const details = item.querySelector("details");
    if (details && open.has(item.dataset.number)) details.open = true;
  }
  replace(place, list);
}
