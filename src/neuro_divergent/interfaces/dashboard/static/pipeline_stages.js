// The stages of a pipeline as a table.

import { badge, button, make, nothing, setText, table } from "./elements.js";
import { replace } from "./changes.js";
import { timeText } from "./pipeline_graph.js";
import { count } from "./format.js";

const COLUMNS = [
  { title: "Stage" }, { title: "State" }, { title: "Time", numeric: true }, { title: "Attempts", numeric: true }, { title: "Needs" }, { title: "Message" },
];

export class Stages {
  /** @param choose Called with the name of a stage when it is selected. */
  constructor(choose) {
    Object.assign(this, { choose, times: new Map(), content: "" });
    this.element = make("div");
    this.element.addEventListener("click", (event) => {
      const name = event.target.closest("button[data-stage]")?.dataset.stage;
      if (name !== undefined) choose(name);
    });
  }

  show({ stages }) {
    this.running = stages.filter(({ state }) => state === "running");
    replace(this.element, stages.length ? table("Stages", COLUMNS, stages.map(cells), { id: "stages", class: "registry" }) : nothing("There are no stages that can be read."));
    this.tick();
  }

  /** Show how long the running stages take so far. */
  tick() {
    for (const stage of this.running) {
      const place = [...this.element.querySelectorAll("[data-time]")].find((element) => element.dataset.time === stage.name);
      if (place) setText(place, timeText(stage));
    }
  }
}

function cells(stage) {
  const needs = [...new Set(Object.values(stage.inputs).map((source) => source.split(".")[0]))];
  return [
    button(stage.name, () => {}, { class: "link", "data-stage": stage.name }), badge(stage.state),
    make("span", { "data-time": stage.name, text: timeText(stage) || "–" }),
    stage.attempts ? count(stage.attempts) : "–", needs.join(", ") || "–", make("span", { class: "sentence", text: stage.message }),
  ];
}
