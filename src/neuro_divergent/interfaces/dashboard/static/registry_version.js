// Everything that is recorded of a version.

import { facts, failure, make, nothing, table } from "./elements.js";
import { aliasBadge, modelAddress } from "./aliases.js";
import { copyable } from "./clipboard.js";
import { checks, evidence, verdict } from "./evidence.js";
import { measureTitle } from "./evaluation.js";
import { get } from "./server.js";
import { count, dataTime, instant, number, plain, title } from "./format.js";

const isObject = (value) => value !== null && typeof value === "object" && !Array.isArray(value);

export class VersionDetails {
  constructor(registry) {
    Object.assign(this, { registry, shown: "" });
    this.select = make("select", { id: "version-number" });
    this.select.addEventListener("change", () => {
      registry.chosen = [Number(this.select.value)];
      registry.keepAddress();
      this.show();
    });
    this.place = make("div", { id: "version" });
    this.element = make("div", {},
      make("div", { class: "tools" }, make("div", { class: "field" }, make("label", { for: "version-number", text: "Version" }), this.select)),
      this.place);
  }

  async show() {
    const { registry } = this;
    const chosen = fill(this.select, registry.loaded, registry.chosen[0] ?? preferred(registry.loaded));
    registry.chosen = [chosen];
    registry.keepAddress();
    const path = `${registry.path}/models/${encodeURIComponent(registry.model)}/versions/${chosen}`;
    try {
      const version = await get(path, {}, registry.signal);
      if (Number(this.select.value) !== version.number || registry.model !== version.name) return; // another one was chosen meanwhile
      const content = JSON.stringify(version);
      if (content === this.shown) return;
      this.shown = content;
      this.place.replaceChildren(...this.parts(version));
    } catch (error) {
      if (registry.signal.aborted) return;
      this.shown = "";
      this.place.replaceChildren(failure(error, () => this.show()));
    }
  }

  parts(version) {
    const { id, details, page } = this.registry;
    const code = isObject(version.code) ? version.code : {};
    const data = isObject(version.data) ? version.data : {};
    return [
      facts([
        ["Version", `${version.version} (v${version.number}) of ${version.name}`],
        ["Aliases", version.aliases.length ? make("span", { class: "aliases" }, version.aliases.map(aliasBadge)) : null],
        ["State", version.archived ? "archived" : null],
        ["Registered", instant(version.created)],
        ["Made from", version.parent === null ? null : make("a", { href: modelAddress(id, version.name, "version", version.parent), text: `v${version.parent}` })],
        ["Model", `${plain(version.architecture)} (${plain(version.kind)})`],
        ["Run", version.run_id ? make("a", { href: `#/run/${encodeURIComponent(version.run_id)}`, text: version.run }) : version.run],
        ["Code", code.version ? `neuro-divergent ${plain(code.version)}${code.commit ? `, commit ${plain(code.commit).slice(0, 12)}${code.has_changes ? " with changes" : ""}` : ""}` : null],
        ["Files", version.digest],
      ]),
      make("h3", { text: "Interface and data" }),
      facts([
        ["Horizon", optional(version.interface?.horizon)],
        ["Frequency", optional(version.interface?.frequency)],
        ["Columns", columns(version.interface?.columns)],
        ["Outputs", optional(version.interface?.outputs)],
        ["Trained on", data.start === undefined && data.end === undefined ? null : `${dataTime(data.start)} to ${dataTime(data.end)}`],
        ["Size", typeof data.rows === "number" ? `${count(data.rows)} rows${typeof data.series === "number" ? ` of ${count(data.series)} series` : ""}` : null],
        ["Fingerprint", optional(data.fingerprint)],
        ...Object.entries(data).filter(([name]) => !["start", "end", "rows", "series", "fingerprint"].includes(name)).map(([name, value]) => [title(name), plain(value)]),
      ]),
      make("h3", { text: "Scores" }), ...scores(version),
      make("h3", { text: "Gate" }), ...gate(version.gate),
      ...(isObject(version.privacy) ? [make("h3", { text: "Privacy" }), evidence(version.privacy)] : []),
      ...(Object.keys(version.tags).length ? [make("h3", { text: "Tags" }), facts(Object.entries(version.tags))] : []),
      make("h3", { text: "Use it" }),
      make("p", { class: "quiet", text: "This page changes nothing. Aliases are moved in a terminal or in Python:" }),
      ...version.commands.map(({ label, text }) => copyable(text, label, page)),
      unfoldedText("All settings", version.config),
      unfoldedText("Environment", version.environment),
    ].filter(Boolean);
  }
}

/** Fill a list of versions to choose from, and return the one that is chosen. */
export function fill(select, { versions }, chosen) {
  const options = versions.map(({ number: value, version, aliases, archived }) => make("option", {
    value, text: [`v${value} (${version})`, ...aliases, ...(archived ? ["archived"] : [])].join(", "),
  }));
  select.replaceChildren(...options);
  select.value = versions.some((version) => version.number === chosen) ? String(chosen) : String(versions[0].number);
  return Number(select.value);
}

const preferred = ({ versions, aliases }) => aliases.find(({ alias }) => alias === "champion")?.number ?? versions[0].number;

/** Return the columns by their roles; roles without columns are left out. */
const columns = (found) => (isObject(found) ? Object.entries(found).filter(([, names]) => names !== null && plain(names) !== "[]").map(([role, names]) => `${role} ${plain(names)}`).join(", ") : null);

const optional = (value) => (value === null || value === undefined ? null : plain(value));

function scores({ scores: found, scores_table: rows }) {
  if (!rows.length) return [nothing("No scores were recorded.")];
  const measures = [...new Set(rows.flatMap((row) => Object.keys(row)))].filter((name) => rows.some((row) => typeof row[name] === "number"));
  const cells = rows.map((row, place) => {
    const values = [plain(row.name), ...measures.map((name) => number(row[name]))];
    values.class = place ? null : "model";
    return values;
  });
  const coverage = Array.isArray(found.coverage) ? found.coverage.filter(isObject) : [];
  return [
    table("Scores", [{ title: "Forecast" }, ...measures.map((name) => ({ title: measureTitle(name), numeric: true }))], cells, { id: "version-scores" }),
    facts([
      ["Part", optional(found.part)],
      ["Windows", typeof found.windows === "number" ? count(found.windows) : null],
      ["Cutoffs", found.first_cutoff ? `${dataTime(found.first_cutoff)} to ${dataTime(found.last_cutoff)}` : null],
      ["Intervals", coverage.map((item) => `${number(item.level)} % interval covers ${number(item.coverage)} %`).join(", ")],
    ]),
    ...[found.note, ...(Array.isArray(found.notes) ? found.notes : [])].filter((note) => typeof note === "string" && note)
      .map((note) => make("p", { class: "quiet note", text: note })),
  ];
}

function gate(found) {
  if (!isObject(found)) return [nothing("No gate has judged it.")];
  const hasChecks = Array.isArray(found.checks) && found.checks.length > 0; // whose sentences are those of the whole
  const rule = found.rule ? ` by the rule ${plain(found.rule).replaceAll("_", " ")}` : "";
  return [make("p", {}, verdict(found.passed), hasChecks ? rule : ` ${plain(found.sentence ?? "")}`), checks(found)];
}

/** Return values as text that is unfolded on demand. */
function unfoldedText(label, values) {
  if (!isObject(values) || !Object.keys(values).length) return null;
  return make("details", {}, make("summary", { text: label }),
    make("pre", { tabindex: "0", role: "region", "aria-label": label }, make("code", { text: JSON.stringify(values, null, 2) })));
}
