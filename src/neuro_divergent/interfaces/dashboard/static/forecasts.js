// Forecasts of one series at a time, found by name.

import { button, failure, make, nothing, setText, table } from "./elements.js";
import { serverChart } from "./charts.js";
import { get } from "./server.js";
import { count, number, plain } from "./format.js";

const PAGE = 50;
const PATIENCE = 200;

export class Forecasts {
  constructor(run) {
    Object.assign(this, { run, search: "", names: [], total: 0, series: undefined, timer: null });
    this.keeps = true; // the user may be reading it: it is not drawn again while the run trains
    this.input = make("input", { type: "search", id: "series-search", autocomplete: "off" });
    this.input.addEventListener("input", () => {
      clearTimeout(this.timer);
      this.timer = setTimeout(() => {
        this.search = this.input.value.trim();
        this.find();
      }, PATIENCE);
    });
    this.found = make("p", { class: "quiet", id: "series-found", role: "status" });
    this.list = make("ul", { class: "series", id: "series", "aria-label": "Series" });
    this.more = button("More", () => this.find(this.names.length), { id: "series-more" });
    this.side = make("div", { class: "side" },
      make("div", { class: "field" }, make("label", { for: "series-search", text: "Search series" }), this.input),
      this.found, this.list, this.more);
    this.view = make("div", { class: "view" });
    this.element = make("div", { class: "split" });
  }

  show() {
    if (!this.run.details.has?.forecasts) {
      this.element.replaceChildren(nothing("There are no forecasts yet. They are written when training is over."));
      return;
    }
    this.element.replaceChildren(this.side, this.view);
    this.find();
  }

  async find(offset = 0) {
    const search = this.search;
    try {
      const answer = await get(`${this.run.path}/series`, { search, offset, limit: PAGE }, this.run.signal);
      if (search !== this.search) return;
      this.names = offset ? [...this.names, ...answer.series] : answer.series;
      this.total = answer.total;
    } catch (error) {
      if (!this.run.signal.aborted) this.view.replaceChildren(failure(error, () => this.find(offset)));
      return;
    }
    setText(this.found, `${count(this.total)} series${search ? " found" : ""}`);
    this.list.replaceChildren(...this.names.map((name) => make("li", {}, this.choice(name))));
    this.more.hidden = this.names.length >= this.total;
    if (this.series === undefined && this.names.length) this.choose(this.names[0]);
  }

  choice(name) {
    const isShown = name === this.series;
    return button(labelOf(name), () => this.choose(name), { "aria-current": isShown ? "true" : null });
  }

  async choose(name) {
    this.series = name;
    for (const [place, item] of [...this.list.children].entries()) {
      const choice = item.firstElementChild;
      if (this.names[place] === name) choice.setAttribute("aria-current", "true");
      else choice.removeAttribute("aria-current");
    }
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

const labelOf = (name) => (name === null || name === "" ? "The series" : String(name));

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
