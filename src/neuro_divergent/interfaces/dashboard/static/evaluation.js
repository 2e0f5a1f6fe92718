// Scores of the forecasts compared with the baselines.

import { button, make, nothing, table } from "./elements.js";
import { showFigures } from "./figures.js";
import { download } from "./server.js";
import { count, number, title } from "./format.js";

export class Evaluation {
  constructor(run) {
    this.run = run;
    this.keeps = true;
    this.scores = make("div");
    this.figures = make("div");
    this.element = make("div", {}, this.scores, this.figures);
  }

  async show() {
    const { scores, notes = [], has } = this.run.details;
    this.scores.replaceChildren(...(scores ? scoreTables(scores, notes) : []));
    if (has?.report) {
      const save = button("Download the report", () => this.save(), { id: "report" });
      this.scores.append(make("p", {}, save));
    }
    const found = await showFigures(this.figures, this.run, "evaluation");
    if (!found && !scores) {
      this.scores.replaceChildren(nothing("There are no scores yet. The model is measured when training is over."));
    }
  }

  async save() {
    try {
      const address = URL.createObjectURL(await download(`${this.run.path}/report`));
      make("a", { href: address, download: "report.html" }).click();
      setTimeout(() => URL.revokeObjectURL(address), 10000);
    } catch (error) {
      this.run.page.announce(error.message);
    }
  }
}

/** Return tables of scores and coverage, with notes. */
function scoreTables(scores, notes) {
  const rows = Array.isArray(scores.scores) ? scores.scores : [];
  const measures = [...new Set(rows.flatMap((row) => Object.keys(row)))].filter((key) => key !== "name");
  const columns = [{ title: "Forecast" }, ...measures.map((name) => ({ title: measureTitle(name), numeric: true }))];
  const body = rows.map((row) => {
    const cells = [String(row.name), ...measures.map((name) => number(row[name]))];
    cells.class = row.name === scores.model ? "model" : "";
    return cells;
  });
  const parts = [];
  if (rows.length) {
    parts.push(make("h3", { text: `Scores on the ${scores.part ?? "held-out"} part` }));
    if (scores.windows) parts.push(make("p", { class: "quiet", text: `${count(scores.windows)} windows. Lower is better, except for skill (1 minus the error divided by that of the seasonal naive forecast).` }));
    parts.push(table("Scores", columns, body, { id: "scores" }));
  }
  parts.push(...notes.map((text) => make("p", { class: "quiet", text })));
  if (Array.isArray(scores.coverage) && scores.coverage.length) {
    parts.push(make("h3", { text: "Intervals" }), table("Coverage of intervals", [
      { title: "Level (%)", numeric: true }, { title: "Covered (%)", numeric: true }, { title: "Mean width", numeric: true },
    ], scores.coverage.map((row) => [number(row.level), number(row.coverage), number(row.width)]), { class: "narrow" }));
  }
  return parts;
}

/** Return the name of a metric as it is written: MAE, but Skill. */
export const measureTitle = (name) => (/^[a-z]*(mae|mse|ape|mase|msse|crps)$/.test(name) ? name.toUpperCase() : title(name));
