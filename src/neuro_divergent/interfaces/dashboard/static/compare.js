// Comparison of several runs.

import { badge, failure, make, nothing, table } from "./elements.js";
import { Chart, escaped, nthColour } from "./charts.js";
import { measureTitle } from "./evaluation.js";
import { get, pause } from "./server.js";
import { isLive, number, plain, title } from "./format.js";

const COLUMNS = ["validation_loss", "train_loss", "validation_mae", "learning_rate", "gradient_norm", "samples_per_second"];
const POINTS = 600;
const SECONDS_BETWEEN = 3;
const DASHES = ["solid", "dash", "dot", "dashdot"];

/** Kept while other pages are shown. */
const query = { column: "validation_loss" };

/** Show a comparison, and keep it up to date while one of the runs trains. */
export async function showComparison(place, page, signal, ids) {
  page.title("Compare");
  const comparison = new Comparison(place, signal, ids);
  while (!signal.aborted) {
    const isLoaded = await comparison.load();
    page.title(`Compare ${ids.length} runs`);
    if (!isLoaded || !comparison.answer.runs.some(isLive)) return;
    await pause(SECONDS_BETWEEN, signal);
  }
}

class Comparison {
  constructor(place, signal, ids) {
    Object.assign(this, { place, signal, ids, answer: null });
    this.select = make("select", { id: "column" }, COLUMNS.map((name) => make("option", { value: name, text: title(name) })));
    this.select.value = query.column;
    this.select.addEventListener("change", () => {
      query.column = this.select.value;
      this.load();
    });
    this.chart = new Chart("Curves", {
      height: "tall",
      tools: [make("label", { class: "switch", for: "column", text: "Column" }), this.select],
    });
    this.empty = nothing("None of the runs has this column.");
    this.runs = make("div");
    this.differences = make("div");
    this.scores = make("div");
    this.parts = [make("h1", { text: "Compare runs" }), this.runs, make("h2", { text: "Training" }), this.chart.element,
      this.empty, make("h2", { text: "Settings that differ" }), this.differences, make("h2", { text: "Scores" }), this.scores];
  }

  async load() {
    const column = query.column;
    try {
      const answer = await get("/api/compare", { ids: this.ids.join(","), column, points: POINTS }, this.signal);
      if (column !== query.column) return true;
      this.answer = answer;
    } catch (error) {
      if (!this.signal.aborted) this.place.replaceChildren(make("h1", { text: "Compare runs" }), failure(error, () => this.load()));
      return false;
    }
    if (this.parts[0].parentElement !== this.place) this.place.replaceChildren(...this.parts);
    this.fill();
    return true;
  }

  fill() {
    const { runs, histories, differences = [] } = this.answer;
    const link = (run) => make("a", { href: `#/run/${encodeURIComponent(run.id)}`, text: run.name });
    this.replace(this.runs, table("Runs", [
      { title: "Run" }, { title: "State" }, { title: "Model" }, { title: "Best validation", numeric: true },
    ], runs.map((run, place) => [
      make("span", {}, sample(place), link(run)), badge(run.state), run.model ?? "–", number(run.best),
    ]), { class: "narrow" }));
    const lines = runs.filter((run) => histories[run.id]?.step?.length);
    this.empty.hidden = lines.length > 0;
    this.chart.element.querySelector(".plot").hidden = !lines.length;
    if (lines.length) this.chart.draw(() => this.content());
    this.replace(this.differences, differences.length
      ? table("Settings that differ", [{ title: "Setting" }, ...runs.map((run) => ({ title: run.name }))],
        differences.map(({ setting, values }) => [setting, ...values.map(plain)]), { id: "differences" })
      : nothing("All settings are the same."));
    this.replace(this.scores, this.scoreTable());
  }

  /** Put something in its place only if it differs, so that selection and scroll position are kept. */
  replace(place, element) {
    if (place.firstElementChild?.isEqualNode(element)) return;
    place.replaceChildren(element);
  }

  content() {
    const { runs, histories } = this.answer;
    const data = runs.map((run, place) => ({
      type: "scatter", mode: "lines", name: escaped(run.name), x: histories[run.id]?.step ?? [], y: histories[run.id]?.value ?? [],
      line: { color: nthColour(place), width: 1.8, dash: DASHES[Math.floor(place / 2) % DASHES.length] }, hovertemplate: "%{y:.5g}",
    }));
    return {
      data,
      layout: { uirevision: query.column, showlegend: true, xaxis: { title: { text: "Step", standoff: 6 } }, yaxis: { title: { text: title(query.column) } } },
    };
  }

  scoreTable() {
    const { runs, scores = [] } = this.answer;
    const rows = scores.filter((row) => row && typeof row === "object");
    const measures = [...new Set(rows.flatMap((row) => Object.keys(row)))].filter((key) => typeof rows.find((row) => row[key] != null)?.[key] === "number");
    if (!measures.length) return nothing("None of the runs has scores yet.");
    const names = new Map(runs.map((run) => [run.id, run.name]));
    return table("Scores", [{ title: "Run" }, ...measures.map((name) => ({ title: measureTitle(name), numeric: true }))],
      rows.map((row, place) => [
        String(names.get(row.id) ?? row.run ?? row.name ?? runs[place]?.name), ...measures.map((name) => number(row[name])),
      ]), { id: "scores" });
  }
}

/** Return a small mark in the colour of a line. */
const sample = (place) => make("span", { class: `sample line-${(place % 8) + 1}`, "aria-hidden": "true" });
