// Figures of a study: those of the whole, which follow its trials, and those of settings, which are drawn on demand.

import { failure, make, nothing } from "./elements.js";
import { redraw, serverChart } from "./charts.js";
import { get } from "./server.js";

const PAUSE = 2000;
const KINDS = [
  ["slice", "Slice: trials over one setting", 1],
  ["partial-dependence", "Partial dependence on one setting", 1],
  ["contour", "Contour over two settings", 2],
  ["parallel-coordinates", "Parallel coordinates", 0],
];

const figureOf = (study, name) => get(`${study.path}/figures/${encodeURIComponent(name)}`, {}, study.signal);

/** Convergence, importances and, of several objectives, the Pareto front. */
export class Overview {
  constructor(study) {
    Object.assign(this, { study, charts: new Map(), timer: null });
    this.place = make("div", { class: "charts steady" }); // a chart that comes later does not move the others
    this.empty = nothing("Figures appear with the first trials that are complete.");
    this.element = make("div", {}, this.empty, this.place);
    study.signal.addEventListener("abort", () => clearTimeout(this.timer));
  }

  /** Draw again soon, once for all trials that change until then. */
  change(trials) {
    if (trials.some((trial) => trial.state !== "running")) this.timer ??= setTimeout(() => this.show(), PAUSE);
  }

  async show() {
    clearTimeout(this.timer);
    this.timer = null;
    const { objectives, counts } = this.study.details;
    const complete = counts.complete ?? 0;
    const names = ["convergence", ...(objectives.length > 1 ? ["pareto-front"] : []), ...(complete > 1 ? ["importances"] : [])];
    if (!complete) return;
    const found = await Promise.all(names.map((name) => figureOf(this.study, name).catch((error) => error)));
    if (this.study.signal.aborted) return;
    for (const [place, figure] of found.entries()) {
      if (!(figure instanceof Error)) await this.draw(names[place], figure);
      else if (figure.status !== 404) this.study.page.announce(figure.message); // 404: too few trials so far
    }
  }

  async draw(name, figure) {
    this.empty.hidden = true;
    const known = this.charts.get(name);
    if (known) {
      await redraw(known, figure);
      return;
    }
    const chart = serverChart(figure.title, figure);
    this.charts.set(name, chart);
    this.place.append(chart.element);
    await chart.draw();
  }
}

/** A figure of one or two settings that are chosen. */
export class Explorer {
  constructor(study) {
    this.study = study;
    this.kind = make("select", { id: "figure-kind" }, KINDS.map(([value, text]) => make("option", { value, text })));
    this.first = make("select", { id: "figure-first" });
    this.second = make("select", { id: "figure-second" });
    this.fields = [this.first, this.second].map((select, place) => make("div", { class: "field" },
      make("label", { for: select.id, text: place ? "Second setting" : "Setting" }), select));
    for (const select of [this.kind, this.first, this.second]) select.addEventListener("change", () => this.draw());
    this.place = make("div", { class: "charts one" });
    this.element = make("div", {},
      make("div", { class: "tools" },
        make("div", { class: "field" }, make("label", { for: "figure-kind", text: "Figure" }), this.kind), this.fields),
      this.place);
  }

  change() {} // what somebody looks at stays as it is; it is drawn again when it is chosen again

  async show() {
    try {
      const { settings } = await get(`${this.study.path}/figures`, {}, this.study.signal);
      this.settings = settings;
      for (const [place, select] of [this.first, this.second].entries()) {
        const before = select.value;
        select.replaceChildren(...settings.map((value) => make("option", { value, text: value })));
        select.value = settings.includes(before) ? before : settings[Math.min(place, settings.length - 1)] ?? "";
      }
      await this.draw();
    } catch (error) {
      if (!this.study.signal.aborted) this.place.replaceChildren(failure(error, () => this.show()));
    }
  }

  async draw() {
    const [name, , needed] = KINDS.find(([value]) => value === this.kind.value);
    this.fields.forEach((field, place) => { field.hidden = place >= needed; });
    if (!this.settings) return; // they are being loaded, and it is drawn then
    if (needed === 2 && this.first.value === this.second.value) {
      this.place.replaceChildren(nothing("Choose two different settings."));
      return;
    }
    const chosen = [this.first.value, this.second.value].slice(0, needed).join(",");
    const asked = needed ? `${name}-${chosen}` : name;
    this.asked = asked;
    try {
      const figure = await figureOf(this.study, asked);
      if (this.asked !== asked) return; // another one was chosen meanwhile
      const chart = serverChart(figure.title, figure, { height: "tall" });
      this.place.replaceChildren(chart.element);
      await chart.draw();
    } catch (error) {
      if (this.study.signal.aborted || this.asked !== asked) return;
      this.place.replaceChildren(error.status === 404 ? nothing(`This figure needs more trials: ${error.message}`) : failure(error, () => this.draw()));
    }
  }
}
