// The processes that train a run together: what each of them does in a step, and which of them the others wait for.

import { make, table } from "./elements.js";
import { redraw, serverChart } from "./charts.js";
import { get } from "./server.js";
import { count, number, percent, plain, size } from "./format.js";

const PAUSE = 2000;
const MOST_ROWS = 256;
const COLUMNS = [
  { title: "Process" }, { title: "Host" }, { title: "Device" }, { title: "Samples per second", numeric: true },
  { title: "Own time per step", numeric: true }, { title: "Waiting", numeric: true }, { title: "Most memory", numeric: true },
  { title: "Remark" },
];

/** A table and a chart, which stay hidden where one process trains. */
export class Processes {
  constructor(run) {
    Object.assign(this, { run, chart: null, timer: null, isOld: true });
    this.sentences = make("div", { id: "stragglers" });
    this.rows = make("div");
    this.note = make("p", { class: "quiet note" });
    this.figure = make("div", { class: "charts one" });
    this.element = make("section", { id: "processes", hidden: true, "aria-labelledby": "processes-title" },
      make("h3", { id: "processes-title", text: "Processes" }), this.sentences, this.rows, this.note, this.figure);
    run.signal.addEventListener("abort", () => clearTimeout(this.timer));
  }

  /** Load again after a while, however often it is asked for until then. */
  changed() {
    this.isOld = true;
    this.timer ??= setTimeout(() => {
      this.timer = null;
      this.show();
    }, PAUSE);
  }

  /** Load what is there now, if the tab is shown and something changed. */
  async show() {
    if (!this.isOld) return;
    if (this.run.tabBar.shown !== "training") {
      this.run.tabs.get("training").isOld = true; // loaded when it is shown
      return;
    }
    this.isOld = false;
    try {
      const { processes, stragglers } = await get(`${this.run.path}/processes`, {}, this.run.signal);
      this.element.hidden = !processes.length;
      if (!processes.length) return;
      this.fill(processes, stragglers);
      await this.draw(await get(`${this.run.path}/figures/processes`, {}, this.run.signal));
    } catch (error) {
      if (!this.run.signal.aborted) this.note.textContent = error.message;
    }
  }

  fill(processes, stragglers) {
    const left = processes.length - MOST_ROWS;
    this.sentences.replaceChildren(...stragglers.map((text) => make("p", { class: "finding warning" },
      make("span", { class: "severity warning", text: "Slow" }), " ", text)));
    this.rows.replaceChildren(table("Processes", COLUMNS, processes.slice(0, MOST_ROWS).map((process) => [
      count(process.rank), plain(process.host), plain(process.device), number(process.samples_per_second),
      milliseconds(process.busy_seconds), percent(process.waiting), size(process.memory_bytes),
      process.is_straggler ? `slow: ${process.slowdown.toFixed(1)} times the others` : "",
    ])));
    this.note.textContent = `${left > 0 ? `${count(left)} more are not shown. ` : ""}Medians of the last rows. The own time of a ` +
      "step is that without exchanges with other processes; waiting is the fraction of all time that exchanges took.";
  }

  async draw(figure) {
    if (this.chart) return redraw(this.chart, figure);
    this.chart = serverChart("Time of a step in each process", figure);
    this.figure.replaceChildren(this.chart.element);
    return this.chart.draw();
  }
}

const milliseconds = (seconds) => (typeof seconds === "number" ? `${number(1000 * seconds)} ms` : "–");
