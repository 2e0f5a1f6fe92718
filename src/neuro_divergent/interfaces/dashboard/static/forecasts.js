// Forecasts of one series at a time, found by name.

import { button, failure, make, nothing, table } from "./elements.js";
import { SeriesList, labelOf } from "./series_list.js";
import { serverChart } from "./charts.js";
import { get } from "./server.js";
import { number, plain } from "./format.js";

export class Forecasts {
  constructor(run) {
    this.run = run;
    this.keeps = true; // the user may be reading it: it is not drawn again while the run trains
    this.list = new SeriesList(run, (name) => this.choose(name), (error, again) => this.view.replaceChildren(failure(error, again)));
    this.view = make("div", { class: "view" });
    this.element = make("div", { class: "split" });
  }

  show() {
    if (!this.run.details.has?.forecasts) {
      this.element.replaceChildren(nothing("There are no forecasts yet. They are written when training is over."));
      return;
    }
    this.element.replaceChildren(this.list.element, this.view);
    this.list.load();
  }

  async choose(name) {
    this.series = name;
    let answer;
    try {
      // a name may be empty, which must be sent too
      const query = new URLSearchParams({ series: name ?? "" });
      answer = await get(`${this.run.path}/forecast?${query}`, {}, this.run.signal);
    } catch (error) {
      if (!this.run.signal.aborted) this.view.replaceChildren(failure(error, () => this.choose(name)));
      return;
    }
    if (this.series !== name) return;
    const figure = answer.figure;
    const chart = serverChart(labelOf(name), figure, { height: "tall" });
    const rows = answer.rows ?? [];
    this.view.replaceChildren(chart.element, ...(rows.length ? this.numbers(name, rows) : [nothing("There are no numbers.")]));
    chart.draw();
  }

  numbers(name, rows) {
    const columns = Object.keys(rows[0]);
    const isNumeric = (column) => rows.some((row) => typeof row[column] === "number");
    const cell = (value) => (typeof value === "number" ? number(value) : plain(value));
    return [
      make("div", { class: "heading" },
        make("h3", { text: "Numbers" }), button("Download CSV", () => save(name, columns, rows), { id: "download" })),
      table("Forecasts in numbers", columns.map((title) => ({ title, numeric: isNumeric(title) })),
        rows.map((row) => columns.map((column) => cell(row[column]))), { id: "forecast-rows" }),
    ];
  }
}

function save(name, columns, rows) {
  const quoted = (value) => {
    const text = value === null || value === undefined ? "" : String(value);
    return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  const lines = [columns, ...rows.map((row) => columns.map((column) => row[column]))];
  const content = lines.map((line) => line.map(quoted).join(",")).join("\n");
  const address = URL.createObjectURL(new Blob([`${content}\n`], { type: "text/csv" }));
  const file = labelOf(name).replaceAll(/[^\p{L}\p{N}_-]+/gu, "-").slice(0, 80);
  make("a", { href: address, download: `forecast-${file}.csv` }).click();
  setTimeout(() => URL.revokeObjectURL(address), 10000);
}
