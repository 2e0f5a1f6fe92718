// Model, data and environment of a run.

import { facts, make, nothing, table } from "./elements.js";
import { showFigures } from "./figures.js";
import { count, number, percent, plain, quoted, title } from "./format.js";

export class ModelTab {
  constructor(run) {
    this.run = run;
    this.keeps = true;
    this.figures = make("div");
    this.data = make("div", { id: "data-health" });
    this.environment = make("div", { id: "environment" });
    this.element = make("div", {}, this.figures, make("div", { class: "columns" }, this.data, this.environment));
  }

  async show() {
    const { data, environment } = this.run.details;
    this.data.replaceChildren(make("h3", { text: "Data" }), ...(data ? dataFacts(data) : [nothing("Nothing is known about the data.")]));
    this.environment.replaceChildren(
      make("h3", { text: "Environment" }),
      environment ? environmentFacts(environment) : nothing("Nothing was written about where it was trained."));
    await showFigures(this.figures, this.run, "model", { wide: true });
  }
}

function dataFacts(data) {
  const parts = [facts([
    ["Rows", count(data.rows)],
    ["Series", count(data.series)],
    ["Time", data.begin ? `${plain(data.begin)} to ${plain(data.end)}` : null],
    ["Frequency", data.frequency ?? null],
    ["Length of series", data.lengths ? `${count(data.lengths.min)} to ${count(data.lengths.max)}, median ${count(data.lengths.median)}` : null],
    ["Missing", fractionText(data.missing_share)],
    ["Zero", fractionText(data.zero_share)],
    ["Negative", fractionText(data.negative_share)],
    ["Outliers", fractionText(data.outlier_share)],
    ["Constant series", data.constant_series ? `${count(data.constant_series)}${names(data.short_names)}` : plain(data.constant_series)],
    ["Largest to smallest series", typeof data.scale_ratio === "number" ? `${number(data.scale_ratio)} times` : null],
    ["Seasonality", data.seasonality ? `period ${plain(data.seasonality.period)}, strength ${number(data.seasonality.strength)}` : "none found"],
  ])];
  if (data.covariates?.length) {
    const columns = [
      { title: "Covariate" }, { title: "Role" }, { title: "Kind" }, { title: "Missing", numeric: true },
      { title: "Constant" }, { title: "Correlation", numeric: true }, { title: "Lead correlation", numeric: true },
    ];
    const rows = data.covariates.map((item) => [
      plain(item.name), plain(item.role), plain(item.kind), percent(item.missing_share, 1), plain(item.constant),
      number(item.correlation), number(item.lead_correlation),
    ]);
    parts.push(table("Covariates", columns, rows));
  }
  return parts;
}

const fractionText = (fraction) => (typeof fraction === "number" ? (fraction ? percent(fraction, 2) : "none") : null);
const names = (list) => (list?.length ? ` (${list.join(", ")})` : "");

function environmentFacts(environment) {
  const { packages, command, ...rest } = environment;
  const known = Object.entries(rest).filter(([, value]) => value !== null);
  const pairs = known.map(([key, value]) => [title(key), plain(value)]);
  const versions = Object.entries(packages ?? {}).map(([name, version]) => `${name} ${version}`).join(", ");
  const line = Array.isArray(command) ? command.map((word) => quoted(String(word))).join(" ") : command;
  return facts([...pairs, ["Command", line ? make("code", { text: line }) : null], ["Packages", versions]]);
}
