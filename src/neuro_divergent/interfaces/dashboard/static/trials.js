// The trials of a study as a table that can be sorted, updated in place.

import { badge, box, button, make, nothing, setText } from "./elements.js";
import { duration, number, plain } from "./format.js";

const MOST_ROWS = 500;

export class Trials {
  constructor(study) {
    Object.assign(this, { study, rows: new Map(), titles: "", sort: null, isDescending: false, most: MOST_ROWS });
    this.head = make("tr");
    this.body = make("tbody");
    this.empty = nothing("No trial has begun yet.");
    this.table = box("Trials", make("table", { id: "trials", class: "study" },
      make("caption", { class: "unseen", text: "Trials" }), make("thead", {}, this.head), this.body));
    this.more = button("Show all trials", () => {
      this.most = Infinity;
      this.show();
    }, { id: "all-trials" });
    this.element = make("div", {}, this.empty, this.table, this.more);
  }

  change() {
    this.show();
  }

  show() {
    const trials = [...this.study.trials.values()];
    this.empty.hidden = trials.length > 0;
    this.table.hidden = trials.length === 0;
    this.columns = this.findColumns(trials);
    this.sort ??= this.columns.find(({ goal }) => goal).title;
    this.showHead();
    const column = this.columns.find(({ title }) => title === this.sort) ?? this.columns[0];
    const ordered = trials.sort((one, other) => compare(column.value(one), column.value(other), this.isDescending) || one.number - other.number);
    const shown = ordered.slice(0, this.most);
    this.more.hidden = shown.length === ordered.length;
    const rows = new Map(shown.map((trial) => [trial.number, this.rows.get(trial.number) ?? new Row()]));
    shown.forEach((trial) => rows.get(trial.number).update(trial, this.columns, trial.number === this.study.details.best_trial));
    this.rows = rows;
    this.arrange([...rows.values()].map((row) => row.element));
  }

  /** Return the columns: what is measured, and settings in which trials differ. */
  findColumns(trials) {
    const { objectives, constraints } = this.study.details;
    const goals = objectives.map(({ name, direction }) => ({ name, isHigh: direction === "maximize" }));
    const limits = Object.keys(constraints).filter((name) => !goals.some((goal) => goal.name === name));
    const settings = [...new Set(trials.flatMap((trial) => Object.keys(trial.settings)))];
    return [
      { title: "Trial", numeric: true, value: (trial) => trial.number },
      { title: "State", value: (trial) => trial.state },
      ...goals.map(({ name, isHigh }) => ({ title: name, numeric: true, goal: true, isHigh, value: (trial) => trial.values[name] })),
      ...limits.map((name) => ({ title: name, numeric: true, value: (trial) => trial.values[name] })),
      { title: "Time", numeric: true, text: (trial) => duration(trial.seconds), value: (trial) => trial.seconds },
      ...settings.map((name) => ({
        title: name, heading: name.replace(/^(model|task|training)\./, ""), value: (trial) => trial.settings[name],
        numeric: trials.every((trial) => ["number", "undefined"].includes(typeof trial.settings[name])),
      })),
      { title: "Remarks", class: "reason", value: remarks },
    ];
  }

  showHead() {
    const titles = this.columns.map(({ title }) => title).join("\n");
    if (titles !== this.titles) {
      this.titles = titles;
      this.head.replaceChildren(...this.columns.map((column) => make("th", { scope: "col", class: column.numeric ? "number" : null },
        button(column.heading ?? column.title, () => {
          this.isDescending = this.sort === column.title ? !this.isDescending : Boolean(column.isHigh);
          this.sort = column.title;
          this.show();
        }, { class: "sort", title: column.heading ? column.title : null }))));
    }
    this.columns.forEach(({ title }, place) => {
      const order = this.isDescending ? "descending" : "ascending";
      this.head.children[place].setAttribute("aria-sort", title === this.sort ? order : "none");
    });
  }

  /** Put the rows in their order; where nothing moves, the focus stays. */
  arrange(elements) {
    const before = [...this.body.children];
    if (before.length === elements.length && before.every((element, place) => element === elements[place])) return;
    const focused = this.body.contains(document.activeElement) ? document.activeElement : null;
    this.body.replaceChildren(...elements);
    if (focused?.isConnected) focused.focus();
  }
}

/** A row of the table. */
class Row {
  constructor() {
    this.element = make("tr");
    this.cells = [];
    this.shown = "";
  }

  update(trial, columns, isBest) {
    const content = JSON.stringify([trial, columns.map(({ title }) => title)]);
    this.element.className = isBest ? "best" : "";
    if (content === this.shown) return;
    this.shown = content;
    this.element.replaceChildren(...columns.map((column, place) => {
      const kind = [column.numeric ? "number" : "", column.class ?? ""].join(" ").trim() || null;
      if (place === 0) return make("th", { scope: "row", class: kind }, runLinks(trial));
      const cell = make("td", { class: kind });
      const value = column.value(trial);
      if (column.title === "State") cell.append(badge(trial.state));
      else setText(cell, column.text ? column.text(trial) : shortened(value));
      if (!column.text && typeof value !== "number" && value) cell.title = plain(value);
      return cell;
    }));
  }
}

/** Return links to the runs of a trial; its number alone if it has none here. */
function runLinks({ number: trial, runs }) {
  const link = (run, text) => make("a", { href: `#/run/${encodeURIComponent(run.id)}`, text });
  if (!runs.length) return [String(trial)];
  if (runs.length === 1) return [link(runs[0], String(trial))];
  return [`${trial}: `, ...runs.flatMap((run, place) => [place ? " " : "", link(run, run.name.replace(/^\d+-/, ""))])];
}

function remarks(trial) {
  const last = trial.report;
  const parts = [
    trial.origin === "defaults" || trial.origin === "queue" ? trial.origin : "",
    trial.is_feasible ? "" : "does not meet the constraints",
    trial.attempts > 1 ? `begun ${trial.attempts} times` : "",
    trial.state === "running" && last ? `last report ${number(last.value)}` : "",
    trial.reason,
  ];
  return parts.filter(Boolean).join("; ");
}

const shortened = (value) => (typeof value === "number" ? number(value) : value === "" ? "" : plain(value));

/** Compare values of a column; what is not known comes last, in either order. */
function compare(one, other, isDescending) {
  const isMissing = (value) => value === undefined || value === null || value === "";
  if (isMissing(one) || isMissing(other)) return isMissing(one) - isMissing(other);
  const areNumbers = typeof one === "number" && typeof other === "number";
  const order = areNumbers ? one - other : plain(one).localeCompare(plain(other));
  return isDescending ? -order : order;
}
