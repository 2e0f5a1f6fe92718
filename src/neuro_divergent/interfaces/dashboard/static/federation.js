// The page of a federation: how far it is, its rounds, clients and settings, updated live.

import { badge, failure, make, setText } from "./elements.js";
import { sweep } from "./charts.js";
import { FederationClients } from "./federation_clients.js";
import { FederationOverview } from "./federation_overview.js";
import { FederationSettings } from "./federation_settings.js";
import { Rounds } from "./rounds.js";
import { Tabs } from "./tabs.js";
import { follow, get } from "./server.js";
import { count, duration, number, percent, progress } from "./format.js";

const TABS = [
  ["overview", "Overview", FederationOverview],
  ["rounds", "Rounds", Rounds],
  ["clients", "Clients", FederationClients],
  ["settings", "Settings", FederationSettings],
];
const SECRET = "This federation promises privacy, which counts on nobody but the server knowing who took part in a round. " +
  "This page shows that; the report leaves it out.";

/** Show a federation. */
export function showFederation(place, page, signal, id, tab) {
  new FederationPage(place, page, signal, id, tab).start();
}

class FederationPage {
  constructor(place, page, signal, id, tab) {
    Object.assign(this, { place, page, signal, id, details: null });
    this.path = `/api/federations/${encodeURIComponent(id)}`;
    this.wanted = TABS.some(([name]) => name === tab) ? tab : "overview";
    this.tabs = new Map();
  }

  async start() {
    this.page.title("Federation");
    try {
      this.details = await get(this.path, {}, this.signal);
    } catch (error) {
      if (this.signal.aborted) return;
      this.page.title("Not found");
      this.place.replaceChildren(make("h1", { text: "This federation cannot be shown" }), failure(error, () => this.start()));
      return;
    }
    this.rounds = new Map(this.details.rounds.map((round) => [round.round, round]));
    this.build();
    this.update(this.details);
    this.tabBar.select(this.wanted);
    this.follow();
  }

  build() {
    this.state = make("span", { id: "federation-state" });
    this.line = make("p", { class: "quiet", id: "federation-line" });
    this.bar = make("progress", { max: "1", id: "federation-progress", "aria-label": "Rounds" });
    this.step = make("span", { id: "federation-step" });
    this.left = make("span", { id: "federation-left", class: "quiet" });
    this.result = make("p", { id: "federation-result" });
    this.message = make("p", { class: "notice", id: "federation-message", role: "status" });
    this.secret = make("p", { class: "notice", id: "federation-secret", text: SECRET });
    this.tabBar = new Tabs("Parts of the federation", TABS.map(([name, title, Tab]) => {
      this.tabs.set(name, new Tab(this));
      return [name, title, this.tabs.get(name).element];
    }), (name) => this.reveal(name));
    this.place.replaceChildren(
      make("div", { class: "heading" }, make("h1", { text: this.details.name }), make("span", { class: "kind", text: "federation" }), this.state),
      this.line,
      make("div", { class: "now" }, this.bar, this.step, this.left),
      this.result, this.message, this.secret, this.tabBar.list, ...this.tabBar.panels);
  }

  reveal(name) {
    const suffix = name === "overview" ? "" : `/${name}`;
    history.replaceState(null, "", `#/federation/${encodeURIComponent(this.id)}${suffix}`);
    const tab = this.tabs.get(name);
    if (tab.isOld ?? true) {
      tab.isOld = false;
      tab.show();
    }
  }

  /** Follow the federation while somebody works on it; wait for that while nobody does. */
  async follow() {
    const over = new AbortController();
    const signal = AbortSignal.any([this.signal, over.signal]);
    const listeners = {
      connection: (text) => this.page.connection(text),
      refused: (error) => this.page.connection(error.message),
    };
    await follow(() => `${this.path}/stream`, { ...listeners, rounds: (news) => this.receive(news) }, signal);
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

  receive({ row, rounds, ...rest }) {
    for (const round of rounds) this.rounds.set(round.round, round);
    for (const round of this.rounds.keys()) {
      if (round > row.step) this.rounds.delete(round); // one that was not complete and is done again
    }
    this.update({ ...row, ...rest });
    for (const [name, tab] of this.tabs) {
      if (name === this.tabBar.shown) tab.change(rounds);
      else tab.isOld = true;
    }
    sweep();
  }

  update(news) {
    const before = this.details.state;
    Object.assign(this.details, news);
    const found = this.details;
    const fraction = progress(found);
    this.state.replaceChildren(badge(found.state));
    setText(this.line, [found.model, found.horizon ? `horizon ${found.horizon}` : null, found.data,
      found.aggregation ? `by ${found.aggregation}` : null].filter(Boolean).join(" · "));
    this.bar.hidden = fraction === null || found.state === "finished";
    if (fraction !== null) this.bar.value = fraction;
    setText(this.step, `round ${count(found.step)}${found.total_steps ? ` of ${count(found.total_steps)}` : ""}`);
    setText(this.left, typeof found.seconds_left === "number" ? `about ${duration(found.seconds_left)} left` : "");
    setText(this.result, resultText(found));
    this.result.hidden = !this.result.textContent;
    setText(this.message, messageText(found));
    this.message.hidden = !this.message.textContent;
    this.secret.hidden = !found.privacy;
    this.page.title(`${found.name}: ${found.state}${found.state === "running" && fraction !== null ? ` ${percent(fraction)}` : ""}`);
    if (before !== found.state) this.page.announce(`The federation is ${found.state} now.`);
  }
}

function resultText({ best, privacy }) {
  const budget = privacy && typeof privacy.budget === "number" ? ` of ${number(privacy.budget)}` : "";
  return [
    typeof best === "number" ? `Training loss ${number(best)}` : "",
    privacy ? `Epsilon ${number(privacy.epsilon ?? 0)}${budget} spent` : "",
  ].filter(Boolean).join(" · ");
}

function messageText({ state, message, damaged }) {
  const files = damaged.length ? `Files that cannot be read: ${damaged.join(", ")}.` : "";
  return [state === "running" || state === "finished" ? "" : message, files].filter(Boolean).join(" ");
}
