// One stage of a pipeline in detail: what became of it, its artefacts, notes, tables and settings.

import { badge, facts, make, table } from "./elements.js";
import { timeText } from "./pipeline_graph.js";
import { count, moment, plain, size } from "./format.js";

const MOST_ROWS = 50;

/** Return the parts of the page that show a stage. */
export function stageDetails(stage) {
  const isBuiltIn = stage.kind === stage.name;
  return [
    make("div", { class: "heading" }, make("h2", { text: stage.name }), badge(stage.state)),
    stage.message ? make("p", { class: stage.state === "failed" ? "failure" : "notice", text: stage.message }) : null,
    ...stage.notes.map((text) => make("p", { class: "note", text })),
    facts([
      ["Kind", isBuiltIn ? null : stage.kind],
      ["Time", stage.state === "running" ? null : timeText(stage)],
      ["Begun", stage.begun === null ? null : moment(stage.begun)],
      ["Attempts", stage.attempts > 1 ? count(stage.attempts) : null],
      ["Inputs", Object.entries(stage.inputs).map(([name, from]) => (from.endsWith(`.${name}`) ? from : `${name} from ${from}`)).join(", ")],
      ["Training", stage.run_id ? make("a", { href: `#/run/${encodeURIComponent(stage.run_id)}`, text: "The run with its curves and log" }) : null],
      ["Key", stage.key],
    ]),
    ...artefacts(stage.outputs),
    ...stage.tables.flatMap(smallTable),
    ...settings(stage.settings),
  ].filter(Boolean);
}

function artefacts(outputs) {
  if (!outputs.length) return [];
  const columns = [{ title: "Artefact" }, { title: "Kind" }, { title: "Size", numeric: true }, { title: "Digest" }, { title: "File" }];
  return [
    make("h3", { text: "Artefacts" }),
    table("Artefacts", columns, outputs.map((output) => [
      output.name, output.kind, size(output.bytes), make("code", { text: output.digest.slice(0, 12), title: output.digest }), make("span", { class: "path", text: output.path }),
    ]), { id: "artefacts", class: "registry" }),
  ];
}

function smallTable({ title, columns, rows, total }) {
  if (!rows.length || !columns.length) return [];
  const shown = rows.slice(0, MOST_ROWS);
  return [
    make("h3", { text: title || "Table" }),
    table(title || "Table", columns.map((name) => ({ title: name })), shown.map((row) => row.map((cell) => make("span", { class: "sentence", text: cell })))),
    total > shown.length ? make("p", { class: "quiet note", text: `${count(shown.length)} of ${count(total)} rows.` }) : null,
  ];
}

function settings(values) {
  const found = Object.entries(values).filter(([, value]) => value !== null && plain(value) !== "");
  if (!found.length) return [];
  return [make("details", {}, make("summary", { text: "Settings" }), facts(found.map(([name, value]) => [name.replaceAll("_", " "), plain(value)])))];
}
