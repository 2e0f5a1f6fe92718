// The training tab: live curves, processes, and buttons to stop and to checkpoint.

import { button, failure, make, nothing } from "./elements.js";
import { Chart, colour, plotly } from "./charts.js";
import { Processes } from "./processes.js";
import { get, hasToken, post } from "./server.js";
import { isLive } from "./format.js";

const POINTS = 1000;
const MOST_ADDED = 5000;
const FEW = 40;
const SHORTEST_PAUSE = 120;
const CHARTS = [
  { title: "Loss", tall: true, columns: [["train_loss", "Training", "train"], ["validation_loss", "Validation", "validation"]] },
  { title: "Learning rate", columns: [["learning_rate", "Learning rate", "train"]] },
  { title: "Gradient norm", columns: [["gradient_norm", "Gradient norm", "backtest"]] },
  { title: "Samples per second", format: "SI", columns: [["samples_per_second", "Samples per second", "quiet"]] },
];

/** Kept while other runs are shown. */
const scale = { isLogarithmic: false };

export class Training {
  constructor(run) {
    this.run = run;
    this.offset = 0;
    this.curves = CHARTS.map((chart) => new Curves(run, chart));
    this.stop = button("Stop training", () => this.askToStop(), { id: "stop", class: "danger", "aria-describedby": "why-not" });
    this.save = button("Save a checkpoint now", () => this.ask("checkpoint"), { id: "checkpoint", "aria-describedby": "why-not" });
    this.reason = make("span", { class: "quiet", id: "why-not" });
    this.problem = make("div");
    this.charts = make("div", { class: "charts training" }, this.curves.map((curve) => curve.element));
    this.empty = nothing("Nothing was logged yet. Curves appear with the first row.");
    this.processes = new Processes(run);
    this.element = make("div", {},
      make("div", { class: "buttons controls" }, this.stop, this.save, this.reason), this.problem, this.empty, this.charts,
      this.processes.element);
  }

  /** Load the whole history; rows that arrive meanwhile are buffered. */
  async load() {
    this.curves.forEach((curve) => curve.hold());
    try {
      const columns = CHARTS.flatMap((chart) => chart.columns.map(([name]) => name)).join(",");
      const history = await get(`${this.run.path}/history`, { columns, points: POINTS }, this.run.signal);
      this.offset = history.offset ?? 0;
      this.problem.replaceChildren();
      this.curves.forEach((curve) => curve.fill(history));
      this.fresh();
      this.processes.isOld = true;
      await this.processes.show();
    } catch (error) {
      if (!this.run.signal.aborted) this.problem.replaceChildren(failure(error, () => this.load()));
    }
  }

  show() {
    this.curves.forEach((curve) => curve.draw());
    this.processes.show();
  }

  extend(rows) {
    this.curves.forEach((curve) => curve.extend(rows));
    this.fresh();
  }

  fresh() {
    const isEmpty = this.curves.every((curve) => curve.isEmpty);
    this.empty.hidden = !isEmpty;
    this.charts.hidden = isEmpty;
  }

  /** Show which buttons work, and why others do not. */
  update(run) {
    let reason = "";
    if (!isLive(run)) reason = "This run does not train.";
    else if (!hasToken()) reason = "This page has no token: open the address that 'nd dashboard' printed to use the buttons.";
    else if (run.can_control === false) reason = "This run cannot be controlled from here.";
    else if (run.phase === "finishing") reason = "Training is over; results are being written.";
    this.stop.disabled = this.save.disabled = reason !== "";
    if (this.reason.textContent !== reason) this.reason.textContent = reason;
  }

  async askToStop() {
    const isSure = await this.run.page.confirm({
      title: "Stop training?",
      text: `Training of ${this.run.details.name} ends after this step as if it were over: with a model, forecasts and ` +
        "scores from what was learned so far. It cannot be taken back.",
      action: "Stop training",
    });
    if (isSure) await this.ask("stop");
  }

  async ask(what) {
    try {
      this.run.page.announce(await post(`${this.run.path}/${what}`));
    } catch (error) {
      this.run.page.announce(error.message);
    }
  }
}

/** A chart of columns of the history, which grows at its right end. */
class Curves {
  constructor(run, { title, columns, tall, format = "e" }) {
    Object.assign(this, { run, columns, series: new Map(), waiting: [], pending: [], added: 0, view: null, timer: null });
    this.isHeld = true;
    this.pause = SHORTEST_PAUSE;
    this.chart = new Chart(title, { tools: tall ? [this.scaleSwitch()] : [], height: tall ? "tall" : "" });
    this.chart.content = () => this.content();
    this.isLoss = Boolean(tall);
    this.format = format;
    this.element = this.chart.element;
    for (const [name] of columns) this.series.set(name, { step: [], value: [] });
  }

  get isEmpty() {
    return [...this.series.values()].every(({ step }) => !step.length);
  }

  scaleSwitch() {
    const input = make("input", { type: "checkbox", id: "logarithmic", role: "switch" });
    input.checked = scale.isLogarithmic;
    input.addEventListener("change", () => {
      scale.isLogarithmic = input.checked;
      this.draw();
    });
    return make("label", { class: "switch" }, input, "Logarithmic");
  }

  /** Buffer rows until the history is loaded. */
  hold() {
    this.isHeld = true;
  }

  fill({ columns }) {
    for (const [name] of this.columns) {
      const found = columns[name];
      this.series.set(name, { step: [...(found?.step ?? [])], value: [...(found?.value ?? [])] });
    }
    this.added = 0;
    this.isHeld = false;
    const waiting = this.waiting;
    this.waiting = [];
    if (!this.view) this.append(waiting);
    this.draw();
  }

  extend(rows) {
    if (this.isHeld) this.waiting.push(...rows);
    else if (!this.view) this.append(rows);
  }

  append(rows) {
    for (const row of rows) {
      for (const [name] of this.columns) {
        const { step, value } = this.series.get(name);
        if (typeof row[name] !== "number" || row.step <= (step.at(-1) ?? -1)) continue; // history and stream may overlap
        step.push(row.step);
        value.push(row[name]);
        this.pending.push([name, row.step, row[name]]);
        this.added += 1;
      }
    }
    if (this.added > MOST_ADDED) this.reload();
    else if (this.pending.length && !this.timer) this.timer = setTimeout(() => this.flush(), this.pause);
  }

  /** Draw what was added; where that takes long, less often. */
  async flush() {
    this.timer = null;
    if (this.isHeld || !this.pending.length) return;
    if (!this.isVisible || !this.chart.isDrawn) {
      this.draw();
      return;
    }
    const additions = this.pending;
    this.pending = [];
    const begin = performance.now();
    const Plotly = await plotly();
    const places = this.columns.map((_, place) => place);
    const ofColumn = (place) => additions.filter(([name]) => name === this.columns[place][0]);
    const x = places.map((place) => ofColumn(place).map(([, step]) => step));
    const y = places.map((place) => ofColumn(place).map(([, , value]) => value));
    await Plotly.extendTraces(this.chart.place, { x, y }, places);
    this.pause = Math.max(SHORTEST_PAUSE, 3 * (performance.now() - begin));
  }

  get isVisible() {
    return this.element.offsetParent !== null;
  }

  async draw() {
    if (!this.isVisible) {
      this.pending = [];
      this.run.tabs.get("training").isOld = true; // drawn as a whole when it is shown
      return;
    }
    const isFirst = !this.chart.isDrawn;
    await this.chart.draw();
    if (isFirst && this.chart.isDrawn) this.chart.place.on("plotly_relayout", (change) => this.looked(change));
  }

  content() {
    this.pending = []; // they are among what is drawn now
    const data = this.columns.map(([name, label, tone]) => ({
      type: "scatter", name: label, x: [...this.series.get(name).step], y: [...this.series.get(name).value],
      mode: this.series.get(name).step.length > FEW ? "lines" : "lines+markers",
      line: { color: colour(tone), width: 1.6 }, marker: { size: 4 }, hovertemplate: "%{y:.5g}",
    }));
    const range = this.view ? { range: [this.view.begin, this.view.end] } : { autorange: true };
    return {
      data,
      layout: {
        showlegend: this.columns.length > 1,
        xaxis: { title: { text: "Step", standoff: 6 }, ...range },
        yaxis: { type: this.isLoss && scale.isLogarithmic ? "log" : "linear", autorange: true, fixedrange: true, exponentformat: this.format },
        margin: { t: this.columns.length > 1 ? 28 : 10 },
      },
    };
  }

  /** Load a zoomed range in more detail, and the whole range again after zooming out. */
  looked(change) {
    const begin = change["xaxis.range[0]"] ?? change["xaxis.range"]?.[0];
    const end = change["xaxis.range[1]"] ?? change["xaxis.range"]?.[1];
    if (change["xaxis.autorange"]) this.see(null);
    else if (typeof begin === "number" && typeof end === "number") this.see({ begin, end });
  }

  see(view) {
    this.view = view;
    this.reload();
  }

  async reload() {
    if (this.isReloading) return;
    this.isReloading = true;
    this.hold();
    const view = this.view;
    const window = view ? { begin: Math.max(0, Math.floor(view.begin)), end: Math.max(0, Math.ceil(view.end)) } : {};
    try {
      const columns = this.columns.map(([name]) => name).join(",");
      this.fill(await get(`${this.run.path}/history`, { columns, points: POINTS, ...window }, this.run.signal));
    } catch {
      this.isHeld = false; // the stream says what is wrong with the connection
    } finally {
      this.isReloading = false;
    }
    if (view !== this.view) this.reload();
  }
}
