// How two versions of a model differ.

import { failure, make, nothing, table } from "./elements.js";
import { measureTitle } from "./evaluation.js";
import { fill } from "./registry_version.js";
import { get } from "./server.js";
import { number, plain, title } from "./format.js";

export class VersionDiff {
  constructor(registry) {
    this.registry = registry;
    this.selects = ["first", "second"].map((name) => make("select", { id: `diff-${name}` }));
    for (const select of this.selects) {
      select.addEventListener("change", () => {
        registry.chosen = this.selects.map(({ value }) => Number(value));
        this.show();
      });
    }
    this.place = make("div", { id: "diff" });
    this.element = make("div", {},
      make("div", { class: "tools even" }, this.selects.map((select, place) => make("div", { class: "field" },
        make("label", { for: select.id, text: place ? "Second version" : "First version" }), select))),
      this.place);
  }

  async show() {
    const { registry } = this;
    const { loaded } = registry;
    if (loaded.versions.length < 2) {
      this.place.replaceChildren(nothing("There is only one version."));
      return;
    }
    const [a, b] = pair(loaded, registry.chosen);
    registry.chosen = [fill(this.selects[0], loaded, a), fill(this.selects[1], loaded, b)];
    registry.keepAddress();
    if (registry.chosen[0] === registry.chosen[1]) {
      this.place.replaceChildren(nothing("Choose two different versions."));
      return;
    }
    const asked = registry.chosen.join(",");
    try {
      const path = `${registry.path}/models/${encodeURIComponent(registry.model)}/diff`;
      const diff = await get(path, { a: registry.chosen[0], b: registry.chosen[1] }, registry.signal);
      if (asked === registry.chosen.join(",")) this.place.replaceChildren(...parts(diff, registry.chosen));
    } catch (error) {
      if (!registry.signal.aborted) this.place.replaceChildren(failure(error, () => this.show()));
    }
  }
}

/** Return the two versions to compare: those that are chosen, or champion and challenger, or the two newest. */
function pair({ versions, aliases }, chosen) {
  if (chosen.length === 2) return chosen;
  const of = (name) => aliases.find(({ alias }) => alias === name)?.number;
  const [newest, before] = versions.map(({ number: value }) => value);
  if (chosen.length === 1) return chosen[0] === newest ? [before, newest] : [chosen[0], newest];
  const [champion, other] = [of("champion"), of("challenger") ?? of("previous")];
  if (champion === undefined) return [before, newest];
  return [champion, other ?? (champion === newest ? before : newest)];
}

function parts({ is_same_model: isSame, differences, scores, notes }, numbers) {
  const [first, second] = numbers.map((value) => `v${value}`);
  const measures = Object.entries(scores);
  return [
    isSame ? make("p", { text: "The files of both are the same." }) : null,
    make("h3", { text: "Scores" }),
    ...(measures.length ? [
      table("Scores of both", [{ title: "Score" }, { title: first, numeric: true }, { title: second, numeric: true }, { title: "Change", numeric: true }],
        measures.map(([name, [a, b]]) => [measureTitle(name), number(a), number(b), change(a, b)]), { id: "diff-scores", class: "narrow" }),
      ...notes.map((text) => make("p", { class: "notice", text })),
    ] : [nothing("Neither has scores.")]),
    make("h3", { text: "Settings, data and environment" }),
    differences.length
      ? table("Differences", [{ title: "Value" }, { title: "Of" }, { title: first }, { title: second }],
        differences.map(({ section, name, a, b }) => [name, title(section), wrapped(a), wrapped(b)]), { id: "diff-values", class: "registry" })
      : nothing("They are the same in all settings."),
  ].filter(Boolean);
}

const wrapped = (value) => make("span", { class: "sentence", text: plain(value) });

/** Return by how much a score changed; of one that may be negative, such as the bias, a fraction would say nothing. */
const change = (a, b) => (typeof a === "number" && typeof b === "number" && a > 0 && b >= 0 ? `${b >= a ? "+" : "−"}${Math.abs(100 * (b / a - 1)).toFixed(1)} %` : "–");
