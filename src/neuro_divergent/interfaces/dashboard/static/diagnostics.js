// The diagnosis: findings, evidence and settings to change.

import { button, failure, make } from "./elements.js";
import { showFigures } from "./figures.js";
import { get } from "./server.js";
import { count, plain, quoted, title } from "./format.js";

const SEVERITIES = ["problem", "warning", "hint"];

export class Diagnostics {
  constructor(run) {
    this.run = run;
    this.keeps = true;
    this.findings = make("div", { id: "findings" });
    this.figures = make("div");
    this.element = make("div", {}, this.findings, this.figures);
  }

  async show() {
    try {
      this.fill(await get(`${this.run.path}/diagnosis`, {}, this.run.signal));
    } catch (error) {
      if (this.run.signal.aborted) return;
      this.findings.replaceChildren(failure(error, () => this.show()));
    }
    await showFigures(this.figures, this.run, "diagnostics");
  }

  fill({ findings = [], checked = [], not_checked: left = {} }) {
    const sorted = [...findings].sort((a, b) => SEVERITIES.indexOf(a.severity) - SEVERITIES.indexOf(b.severity));
    const verdict = findings.length
      ? `${count(findings.length)} ${findings.length === 1 ? "finding" : "findings"} in ${count(checked.length)} checks.`
      : `Nothing was found in ${count(checked.length)} checks.`;
    const reasons = Object.entries(left).map(([rule, reason]) => `${title(rule)}: ${plain(reason)}`);
    const rest = reasons.length
      ? make("details", {},
        make("summary", { text: `${count(reasons.length)} not checked` }),
        make("ul", {}, reasons.map((text) => make("li", { text }))))
      : null;
    this.findings.replaceChildren(
      make("div", { class: "heading" },
        make("p", { class: findings.length ? "" : "well", text: verdict }),
        button("Check again", () => this.show(), { id: "check-again" })),
      ...sorted.map((finding) => this.finding(finding)), ...(rest ? [rest] : []));
  }

  finding({ title: text, severity, evidence, changes = [] }) {
    return make("article", { class: `finding ${severity}` },
      make("h3", {}, make("span", { class: `severity ${severity}`, text: title(severity) }), " ", text),
      make("p", { text: evidence }),
      changes.length
        ? make("ul", { class: "changes" }, changes.map((change) => make("li", {}, this.change(change))))
        : null);
  }

  change({ setting, value, why }) {
    const option = optionOf(setting, value);
    const copy = button("Copy", () => this.copy(option), { class: "small", "aria-label": `Copy ${option}` });
    return make("span", {}, make("code", { text: option }), " ", copy, " ", make("span", { text: why ?? "" }));
  }

  async copy(text) {
    try {
      await navigator.clipboard.writeText(text);
      this.run.page.announce(`Copied: ${text}`);
    } catch {
      this.run.page.announce(`This browser does not let the page copy. Select it by hand: ${text}`);
    }
  }
}

/** Return a change as a command-line option. */
function optionOf(setting, value) {
  const text = typeof value === "string" ? value : JSON.stringify(value);
  if (String(setting).startsWith("-")) return value === null || value === true ? setting : `${setting} ${quoted(text)}`;
  return `--set ${quoted(`${setting}=${text}`)}`;
}
