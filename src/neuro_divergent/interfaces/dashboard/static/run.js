// The page of a run: its state, and tabs with the details.

import { badge, failure, make, setText } from "./elements.js";
import { sweep } from "./charts.js";
import { Checkpoints, Log, Settings } from "./records.js";
import { Diagnostics } from "./diagnostics.js";
import { Evaluation } from "./evaluation.js";
import { Forecasts } from "./forecasts.js";
import { ModelTab } from "./model.js";
import { Tabs } from "./tabs.js";
import { Training } from "./training.js";
import { follow, get } from "./server.js";
import { count, duration, isLive, percent, progress } from "./format.js";

const TABS = [
  ["training", "Training", Training],
  ["forecasts", "Forecasts", Forecasts],
  ["evaluation", "Evaluation", Evaluation],
  ["diagnostics", "Diagnostics", Diagnostics],
  ["model", "Model", ModelTab],
  ["checkpoints", "Checkpoints", Checkpoints],
  ["settings", "Settings", Settings],
  ["log", "Log", Log],
];

/** Show a run. */
export function showRun(place, page, signal, id, tab) {
  new RunPage(place, page, signal, id, tab).start();
}

class RunPage {
  constructor(place, page, signal, id, tab) {
    Object.assign(this, { place, page, signal, id, details: null, receivedAt: 0 });
    this.path = `/api/runs/${encodeURIComponent(id)}`;
    this.wanted = TABS.some(([name]) => name === tab) ? tab : "training";
    this.tabs = new Map();
  }

  async start() {
    this.page.title("Run");
    try {
      this.details = await get(this.path, {}, this.signal);
    } catch (error) {
      if (this.signal.aborted) return;
      this.page.title("Not found");
      this.place.replaceChildren(make("h1", { text: "This run cannot be shown" }), failure(error, () => this.start()));
      return;
    }
    this.build();
    this.update(this.details);
    const clock = setInterval(() => this.tick(), 1000);
    this.signal.addEventListener("abort", () => {
      clearInterval(clock);
      clearTimeout(this.timer);
    });
    await this.tabs.get("training").load();
    this.tabBar.select(this.wanted);
    this.follow();
  }

  build() {
    this.state = make("span", { id: "run-state" });
    this.line = make("p", { class: "quiet", id: "run-line" });
    this.bar = make("progress", { max: "1", id: "run-progress", "aria-label": "Progress" });
    this.step = make("span", { id: "run-step" });
    this.left = make("span", { id: "run-left" });
    this.quiet = make("span", { id: "run-quiet" });
    this.message = make("p", { id: "run-message" });
    this.tabBar = new Tabs("Parts of the run", TABS.map(([name, title, Tab]) => {
      this.tabs.set(name, new Tab(this));
      return [name, title, this.tabs.get(name).element];
    }), (name) => this.reveal(name));
    this.place.replaceChildren(
      make("div", { class: "heading" }, make("h1", { text: this.details.name }), this.state),
      this.line,
      this.details.study
        ? make("p", { class: "quiet", id: "run-study" }, "Part of the study ",
          make("a", { href: `#/study/${encodeURIComponent(this.details.study.id)}`, text: this.details.study.name }))
        : "",
      make("div", { class: "now" }, this.bar, this.step, this.left, this.quiet),
      this.message,
      this.tabBar.list, ...this.tabBar.panels);
  }

  /** Fill a tab that is shown; outdated content is loaded again. */
  reveal(name) {
    const suffix = name === "training" ? "" : `/${name}`;
    history.replaceState(null, "", `#/run/${encodeURIComponent(this.id)}${suffix}`);
    const tab = this.tabs.get(name);
    if (tab.isOld ?? true) {
      tab.isOld = false;
      tab.show();
    }
  }

  /** Follow the run while it trains; wait for its next start while it does not. */
  async follow() {
    const over = new AbortController();
    const signal = AbortSignal.any([this.signal, over.signal]);
    const listeners = {
      connection: (text) => this.page.connection(text),
      refused: (error) => this.page.connection(error.message),
    };
    if (isLive(this.details)) {
      await follow((last) => `${this.path}/stream?offset=${last ?? this.tabs.get("training").offset}`, {
        ...listeners,
        rows: ({ rows }) => this.tabs.get("training").extend(rows),
        processes: () => this.tabs.get("training").processes.changed(),
        state: (row) => this.update(row),
        reset: () => this.tabs.get("training").load(),
        log: ({ events }) => this.receive(events),
      }, signal);
      if (this.signal.aborted) return;
      await this.refresh();
    }
    if (!isLive(this.details)) {
      await follow(() => "/api/stream", {
        ...listeners,
        runs: ({ changed = [] }) => {
          const row = changed.find((run) => run.id === this.id);
          if (row) this.update(row);
          if (row && isLive(row)) over.abort();
        },
      }, signal);
    }
    if (this.signal.aborted) return;
    await new Promise((resolve) => { setTimeout(resolve, 500); });
    if (this.signal.aborted) return;
    await this.tabs.get("training").load();
    this.follow();
  }

  receive(events) {
    this.tabs.get("log").add(events);
    if (events.some((event) => ["checkpoint", "control", "end"].includes(event.event))) {
      clearTimeout(this.timer);
      this.timer = setTimeout(() => this.refresh(), 300);
    }
  }

  /** Load the details of the run again, and update the view. */
  async refresh() {
    try {
      this.details = await get(this.path, {}, this.signal);
    } catch (error) {
      if (!this.signal.aborted) this.page.connection(error.message);
      return;
    }
    this.update(this.details);
    for (const [name, tab] of this.tabs) {
      if (name === "training" || name === "log") continue; // these follow by themselves
      if (name === this.tabBar.shown && !(tab.keeps && isLive(this.details))) tab.show();
      else tab.isOld = true;
    }
    sweep();
  }

  update(row) {
    const before = this.details.state;
    const { data, ...rest } = row;
    Object.assign(this.details, rest);
    if (typeof data === "string") this.details.data_path = data; // in a row of the list it is where the data came from
    this.receivedAt = Date.now();
    const run = this.details;
    const fraction = progress(run);
    this.state.replaceChildren(badge(run.state));
    setText(this.line, [run.model, run.horizon ? `horizon ${run.horizon}` : null, run.data_path].filter(Boolean).join(" · "));
    this.bar.hidden = fraction === null || run.state === "finished";
    if (fraction !== null) this.bar.value = fraction;
    setText(this.step, stepText(run, fraction));
    setText(this.left, isLive(run) && typeof run.seconds_left === "number" ? `${duration(run.seconds_left)} left` : "");
    setText(this.message, run.message ?? "");
    const percentage = isLive(run) && fraction !== null ? ` ${percent(fraction)}` : "";
    this.page.title(`${run.name}: ${run.state}${percentage}`);
    this.tabs.get("training").update(run);
    this.tick();
    if (before !== run.state) this.page.announce(`The run is ${run.state} now.`);
  }

  tick() {
    const run = this.details;
    const isKnown = isLive(run) && typeof run.quiet === "number";
    const seconds = isKnown ? run.quiet + (Date.now() - this.receivedAt) / 1000 : 0;
    const phase = run.phase ? `${run.phase}; ` : "";
    setText(this.quiet, isKnown ? `${phase}last heartbeat ${duration(Math.floor(seconds))} ago` : "");
  }
}

function stepText(run, fraction) {
  if (typeof run.step !== "number") return "";
  return fraction === null ? `Step ${count(run.step)}` : `Step ${count(run.step)} of ${count(run.total_steps)} (${percent(fraction)})`;
}
