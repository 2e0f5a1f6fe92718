// The page of a continuous training: where it stands, its decisions and trainings, incidents of the feed and settings.

import { badge, failure, make, setText } from "./elements.js";
import { keepCurrent } from "./changes.js";
import { sweep } from "./charts.js";
import { ContinuousOverview } from "./continuous_overview.js";
import { ContinuousSettings, Incidents, Trainings } from "./continuous_records.js";
import { Decisions } from "./decisions.js";
import { Tabs } from "./tabs.js";

const TABS = [
  ["overview", "Overview", ContinuousOverview],
  ["decisions", "Decisions", Decisions],
  ["trainings", "Trainings", Trainings],
  ["incidents", "Incidents", Incidents],
  ["settings", "Settings", ContinuousSettings],
];

/** Show a continuous training. */
export function showContinuous(place, page, signal, id, tab) {
  new ContinuousPage(place, page, signal, id, tab).start();
}

class ContinuousPage {
  constructor(place, page, signal, id, tab) {
    Object.assign(this, { place, page, signal, id, details: null });
    this.path = `/api/continuous/${encodeURIComponent(id)}`;
    this.wanted = TABS.some(([name]) => name === tab) ? tab : "overview";
    this.tabs = new Map();
  }

  start() {
    this.page.title("Continuous training");
    keepCurrent({
      path: this.path, page: this.page, signal: this.signal,
      show: (details) => this.update(details),
      failed: (error) => this.fail(error),
    });
  }

  fail(error) {
    if (this.details) {
      this.page.announce(error.message);
      return;
    }
    this.page.title("Not found");
    this.place.replaceChildren(make("h1", { text: "This continuous training cannot be shown" }), failure(error, () => this.start()));
  }

  update(details) {
    const before = this.details;
    this.details = details;
    if (!before) this.build();
    this.state.replaceChildren(badge(details.state));
    setText(this.line, [details.model, `horizon ${details.horizon}`, details.data].filter(Boolean).join(" · "));
    setText(this.sentence, details.sentence);
    this.page.title(`${details.name}: ${details.state}`);
    const newest = details.decisions[0];
    if (before && newest && newest.number !== before.decisions[0]?.number) this.page.announce(newest.sentence);
    for (const tab of this.tabs.values()) tab.isOld = true;
    if (before) this.reveal(this.tabBar.shown);
    else this.tabBar.select(this.wanted);
    sweep();
  }

  build() {
    this.state = make("span", { id: "continuous-state" });
    this.line = make("p", { class: "quiet", id: "continuous-line" });
    this.sentence = make("p", { id: "continuous-sentence" });
    this.tabBar = new Tabs("Parts of the continuous training", TABS.map(([name, title, Tab]) => {
      this.tabs.set(name, new Tab(this));
      return [name, title, this.tabs.get(name).element];
    }), (name) => this.reveal(name));
    this.place.replaceChildren(
      make("div", { class: "heading" }, make("h1", { text: this.details.name }), make("span", { class: "kind", text: "continuous training" }), this.state),
      this.line, this.sentence, this.tabBar.list, ...this.tabBar.panels);
  }

  reveal(name) {
    const suffix = name === "overview" ? "" : `/${name}`;
    history.replaceState(null, "", `#/continuous/${encodeURIComponent(this.id)}${suffix}`);
    const tab = this.tabs.get(name);
    if (tab.isOld) {
      tab.isOld = false;
      tab.show();
    }
  }
}
