// What a study searches, when it ends, and its best settings.

import { button, facts, failure, make, nothing, table } from "./elements.js";
import { get } from "./server.js";
import { duration, moment, number, plain } from "./format.js";

export class SearchSpace {
  constructor(study) {
    this.study = study;
    this.element = make("div", { id: "space" });
  }

  change() {} // neither space nor limits depend on the trials

  show() {
    const { space, objectives, constraints, limits, method, pruner, splitter, seeds, seed, storage, path, time } = this.study.details;
    const goals = objectives.map(({ name, direction, weight }) => `${direction} ${name}${typeof weight === "number" ? ` (weight ${weight})` : ""}`);
    const ends = Object.entries({
      trials: (value) => `${value} trials`,
      seconds: (value) => `after ${duration(value)}`,
      target_value: (value) => `${objectives[0].name} of ${number(value)} reached`,
      patience: (value) => `${value} trials without a better one`,
    }).filter(([key]) => key in limits).map(([key, text]) => text(limits[key]));
    this.element.replaceChildren(
      make("h3", { text: "Space" }),
      table("Space", [{ title: "Setting" }, { title: "Values" }, { title: "Exists for" }],
        space.map(({ setting, values, only }) => [setting, sentence(values), only.join(", ") || "all"])),
      make("h3", { text: "Search" }),
      facts([
        ["Objectives", goals.join(", ")],
        ["Constraints", Object.entries(constraints).map(([name, most]) => `${name} at most ${number(most)}`).join(", ")],
        ["Ends with", ends.join(", or ")],
        ["Method", `${method}, seed ${seed}`],
        ["Pruner", pruner ?? "none"],
        ["Scored on", splitter ? plain(splitter) : "the validation part"],
        ["Trainings of a trial", seeds > 1 ? `${seeds} seeds` : null],
        ["Trials recorded in", storage],
        ["Last change", moment(time)],
        ["Directory", path],
      ]));
  }
}

const sentence = (text) => make("span", { class: "sentence", text });

export class BestSettings {
  constructor(study) {
    this.study = study;
    this.element = make("div");
    this.trial = null;
  }

  change() {
    if (this.study.details.best_trial !== this.trial) this.show();
  }

  async show() {
    const { best_trial: best, best_run: run, objectives, path } = this.study.details;
    this.trial = best;
    if (best === null) {
      this.element.replaceChildren(nothing("No trial is complete and meets the constraints yet."));
      return;
    }
    try {
      const { toml } = await get(`${this.study.path}/settings`, { trial: best }, this.study.signal);
      const values = this.study.trials.get(best)?.values ?? {};
      const shown = objectives.map(({ name }) => `${name} ${number(values[name])}`).join(", ");
      const copy = button("Copy", () => this.copy(toml), { id: "copy" });
      this.element.replaceChildren(
        make("p", {}, `Trial ${best}: ${shown}. `,
          run ? make("a", { href: `#/run/${encodeURIComponent(run)}`, text: "The model trained with these settings" }) : null),
        make("div", { class: "buttons" }, make("h3", { text: "All settings, for nd train" }), copy),
        make("pre", { id: "best-toml", tabindex: "0", role: "region", "aria-label": "Best settings as TOML" }, make("code", { text: toml })),
        make("p", { class: "quiet" }, "In a terminal: ", make("code", { text: `nd search best ${path} --fit` })));
    } catch (error) {
      if (!this.study.signal.aborted) this.element.replaceChildren(failure(error, () => this.show()));
    }
  }

  async copy(text) {
    try {
      await navigator.clipboard.writeText(text);
      this.study.page.announce("Copied.");
    } catch {
      this.study.page.announce("The browser does not let the page copy; select the text instead.");
    }
  }
}
