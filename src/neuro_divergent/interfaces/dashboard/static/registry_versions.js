// The versions of a model as a table, the newest on top.

import { button, make, nothing, table } from "./elements.js";
import { aliasBadge, modelAddress } from "./aliases.js";
import { replace } from "./changes.js";
import { verdict } from "./evidence.js";
import { count, dataTime, instant, number } from "./format.js";

const MOST_ROWS = 200;
const COLUMNS = [
  { title: "Version" }, { title: "Aliases" }, { title: "Semantic" }, { title: "Score", numeric: true }, { title: "Gate" }, { title: "Registered" },
  { title: "Trained on" }, { title: "From" }, { title: "Model" }, { title: "Tags" },
];

export class Versions {
  constructor(registry) {
    this.registry = registry;
    this.hasArchive = false;
    this.most = MOST_ROWS;
    this.more = button("Show all versions", () => {
      this.most = Infinity;
      this.show();
    }, { id: "all-versions" });
    this.box = make("input", { type: "checkbox", id: "archived" });
    this.box.addEventListener("change", () => {
      this.hasArchive = this.box.checked;
      this.show();
    });
    this.label = make("label", { for: "archived" });
    this.switch = make("p", { class: "switch" }, this.box, this.label);
    this.place = make("div");
    this.element = make("div", {}, this.place, this.more, this.switch);
  }

  show() {
    const { loaded } = this.registry;
    const archived = loaded.versions.filter((version) => version.archived).length;
    const shown = loaded.versions.filter((version) => this.hasArchive || !version.archived);
    this.label.textContent = `Show archived versions (${count(archived)})`;
    this.switch.hidden = !archived;
    this.more.hidden = shown.length <= this.most;
    replace(this.place, shown.length
      ? table("Versions", COLUMNS, shown.slice(0, this.most).map((version) => this.cells(version)), { id: "versions", class: "registry" })
      : nothing("All versions are archived."));
  }

  cells(version) {
    const { id, model } = this.registry;
    const cells = [
      make("a", { href: modelAddress(id, model, "version", version.number), text: `v${version.number}` }),
      make("span", { class: "aliases" }, version.aliases.map(aliasBadge), version.archived ? make("span", { class: "alias", text: "archived" }) : null),
      version.version, score(version.main_score), version.gate_passed === null ? "–" : verdict(version.gate_passed), instant(version.created),
      range(version.data_range), version.parent === null ? "–" : `v${version.parent}`, version.architecture,
      make("span", { class: "tags" }, Object.entries(version.tags).map(([name, value]) =>
        make("span", { class: "tag", title: `${name}: ${value}`, text: `${name}: ${value}` }))),
    ];
    cells.class = version.archived ? "void" : null;
    return cells;
  }
}

function range(data) {
  if (!data || (data.start === null && data.end === null)) return "–";
  const rows = typeof data.rows === "number" ? `${count(data.rows)} rows` : "";
  return make("span", { title: rows, text: `${dataTime(data.start)} to ${dataTime(data.end)}` });
}

function score(found) {
  if (!found) return "–";
  return make("span", { title: found.part ? `${found.part} part` : null, text: `${found.metric.toUpperCase()} ${number(found.value)}` });
}
