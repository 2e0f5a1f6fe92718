// The page of a study: how far it is, its trials, figures, space and best settings, updated live.

import { badge, failure, make, setText } from "./elements.js";
import { sweep } from "./charts.js";
import { BestSettings, SearchSpace } from "./study_records.js";
import { Explorer, Overview } from "./study_figures.js";
import { Tabs } from "./tabs.js";
import { Trials } from "./trials.js";
import { follow, get } from "./server.js";
import { count, duration, number, percent, progress } from "./format.js";

const TABS = [
  ["overview", "Overview", Overview],
  ["trials", "Trials", Trials],
  ["figures", "Figures", Explorer],
  ["space", "Space and limits", SearchSpace],
  ["best", "Best settings", BestSettings],
];

/** Show a study. */
export function showStudy(place, page, signal, id, tab) {
  new StudyPage(place, page, signal, id, tab).start();
}

class StudyPage {
  constructor(place, page, signal, id, tab) {
    Object.assign(this, { place, page, signal, id, details: null });
    this.path = `/api/studies/${encodeURIComponent(id)}`;
    this.wanted = TABS.some(([name]) => name === tab) ? tab : "overview";
    this.tabs = new Map();
  }

  async start() {
    this.page.title("Study");
    try {
      this.details = await get(this.path, {}, this.signal);
    } catch (error) {
      if (this.signal.aborted) return;
      this.page.title("Not found");
      this.place.replaceChildren(make("h1", { text: "This study cannot be shown" }), failure(error, () => this.start()));
      return;
    }
    this.trials = new Map(this.details.trials.map((trial) => [trial.number, trial]));
    this.build();
    this.update(this.details);
    this.tabBar.select(this.wanted);
    this.follow();
  }

  build() {
    this.state = make("span", { id: "study-state" });
    this.line = make("p", { class: "quiet", id: "study-line" });
    this.bar = make("progress", { max: "1", id: "study-progress", "aria-label": "Trials" });
    this.step = make("span", { id: "study-step" });
    this.left = make("span", { id: "study-left", class: "quiet" });
    this.best = make("span", { id: "study-best" });
    this.spark = new Sparkline();
    this.note = make("p", { class: "notice", id: "study-note", role: "status" });
    this.tabBar = new Tabs("Parts of the study", TABS.map(([name, title, Tab]) => {
      this.tabs.set(name, new Tab(this));
      return [name, title, this.tabs.get(name).element];
    }), (name) => this.reveal(name));
    this.place.replaceChildren(
      make("div", { class: "heading" }, make("h1", { text: this.details.name }), make("span", { class: "kind", text: "study" }), this.state),
      this.line,
      make("div", { class: "now" }, this.bar, this.step, this.left),
      make("div", { class: "now" }, this.best, this.spark.element),
      this.note, this.tabBar.list, ...this.tabBar.panels);
  }

  reveal(name) {
    const suffix = name === "overview" ? "" : `/${name}`;
    history.replaceState(null, "", `#/study/${encodeURIComponent(this.id)}${suffix}`);
    const tab = this.tabs.get(name);
    if (tab.isOld ?? true) {
      tab.isOld = false;
      tab.show();
    }
  }

  /** Follow the study while somebody works on it; wait for that while nobody does. */
  async follow() {
    const over = new AbortController();
    const signal = AbortSignal.any([this.signal, over.signal]);
    const listeners = {
      connection: (text) => this.page.connection(text),
      refused: (error) => this.page.connection(error.message),
    };
    await follow(() => `${this.path}/stream`, { ...listeners, trials: (news) => this.receive(news) }, signal);
    if (this.signal.aborted) return;
    await follow(() => "/api/stream", {
      ...listeners,
      runs: ({ changed = [] }) => {
        const row = changed.find((item) => item.id === this.id);
        if (row && (row.state !== this.details.state || row.step !== this.details.step)) over.abort();
      },
    }, signal);
    if (this.signal.aborted) return;
    await new Promise((resolve) => { setTimeout(resolve, 500); });
    if (!this.signal.aborted) this.follow();
  }

  receive({ row, trials, ...rest }) {
    for (const trial of trials) this.trials.set(trial.number, trial);
    this.update({ ...row, ...rest });
    if (!trials.length) return;
    for (const [name, tab] of this.tabs) {
      if (name === this.tabBar.shown) tab.change(trials);
      else tab.isOld = true;
    }
    sweep();
  }

  update(news) {
    const before = this.details.state;
    Object.assign(this.details, news);
    const study = this.details;
    const fraction = progress(study);
    const [goal, ...others] = study.objectives;
    this.state.replaceChildren(badge(study.state));
    setText(this.line, [study.model, study.horizon ? `horizon ${study.horizon}` : null, study.data, `by ${study.method}`,
      study.pruner ? `pruner ${study.pruner}` : null].filter(Boolean).join(" · "));
    this.bar.hidden = fraction === null || study.state === "finished";
    if (fraction !== null) this.bar.value = fraction;
    setText(this.step, trialsText(study));
    setText(this.left, typeof study.seconds_left === "number" ? `about ${duration(study.seconds_left)} left` : "");
    const what = others.length ? "Recommended" : "Best";
    setText(this.best, study.best_trial === null ? "No trial is complete yet." : `${what}: trial ${study.best_trial}, ${goal.name} ${number(study.best)}`);
    this.spark.draw(study.course, goal.name);
    this.note.hidden = !study.note;
    setText(this.note, study.note ?? "");
    this.page.title(`${study.name}: ${study.state}${study.state === "running" && fraction !== null ? ` ${percent(fraction)}` : ""}`);
    if (before !== study.state) this.page.announce(`The study is ${study.state} now.`);
  }
}

function trialsText(study) {
  const counts = Object.entries(study.counts).map(([state, found]) => `${count(found)} ${state}`).join(", ");
  const limit = study.total_steps ? ` of ${count(study.total_steps)}` : "";
  return `${count(study.step)}${limit} trials${counts ? ` (${counts})` : ""}`;
}

/** The best value after each complete trial, as a small line. */
class Sparkline {
  constructor() {
    const create = (name) => document.createElementNS("http://www.w3.org/2000/svg", name);
    this.element = create("svg");
    this.path = create("path");
    for (const [name, value] of Object.entries({ class: "spark", viewBox: "-1 -1 102 26", preserveAspectRatio: "none", role: "img" })) {
      this.element.setAttribute(name, value);
    }
    this.element.append(this.path);
  }

  draw(course, name) {
    this.element.toggleAttribute("hidden", course.length < 2);
    if (course.length < 2) return;
    const low = Math.min(...course);
    const size = Math.max(...course) - low || 1;
    const places = course.map((value, at) => `${(100 * at) / (course.length - 1)} ${24 - (24 * (value - low)) / size}`);
    this.path.setAttribute("d", `M${places.join("L")}`);
    this.element.setAttribute("aria-label", `Best ${name} so far: from ${number(course[0])} to ${number(course.at(-1))} in ${course.length} trials`);
  }
}
