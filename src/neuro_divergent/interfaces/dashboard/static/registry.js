// The page of a registry: its models, and of each its versions, their details, the history of its aliases and differences.

import { failure, make, nothing } from "./elements.js";
import { aliasLine, modelAddress } from "./aliases.js";
import { keepCurrent, replace } from "./changes.js";
import { AliasHistory } from "./registry_history.js";
import { VersionDetails } from "./registry_version.js";
import { VersionDiff } from "./registry_diff.js";
import { Versions } from "./registry_versions.js";
import { Tabs } from "./tabs.js";
import { get } from "./server.js";
import { count } from "./format.js";

const TABS = [
  ["versions", "Versions", Versions],
  ["version", "One version", VersionDetails],
  ["history", "Aliases", AliasHistory],
  ["diff", "Differences", VersionDiff],
];

/** Show a registry; `parts` of the address are a model, a tab and what that shows. */
export function showRegistry(place, page, signal, id, parts) {
  new RegistryPage(place, page, signal, id, parts).start();
}

class RegistryPage {
  constructor(place, page, signal, id, [model, tab, chosen]) {
    Object.assign(this, { place, page, signal, id, details: null, model: model || null, loaded: null });
    this.path = `/api/registries/${encodeURIComponent(id)}`;
    this.wanted = TABS.some(([name]) => name === tab) ? tab : "versions";
    this.chosen = (chosen ?? "").split(",").map(Number).filter((number) => Number.isInteger(number) && number > 0);
    this.tabs = new Map();
  }

  start() {
    this.page.title("Registry");
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
    this.place.replaceChildren(make("h1", { text: "This registry cannot be shown" }), failure(error, () => this.start()));
  }

  update(details) {
    const isFirst = !this.details;
    this.details = details;
    this.page.title(`${details.name}: registry`);
    if (isFirst) this.build();
    const names = details.models.map(({ name }) => name);
    if (!names.includes(this.model)) this.model = names[0] ?? null;
    this.empty.hidden = names.length > 0;
    this.view.hidden = !names.length;
    this.menu.hidden = names.length < 2;
    this.split.classList.toggle("split", names.length > 1);
    replace(this.list, ...details.models.map((model) => this.item(model)));
    if (this.model) this.load();
  }

  build() {
    const { name, path } = this.details;
    this.empty = nothing("No model is registered yet. In Python: registry.register(model, \"sales\")");
    this.list = make("ul", { class: "series", id: "models" });
    this.menu = make("nav", { "aria-label": "Models" }, this.list);
    this.title = make("h2", { class: "model-name", id: "model-name" });
    this.line = make("div", { id: "model-aliases" });
    this.note = make("div");
    this.tabBar = new Tabs("Parts of the model", TABS.map(([tab, title, Tab]) => {
      this.tabs.set(tab, new Tab(this));
      return [tab, title, this.tabs.get(tab).element];
    }), (tab) => this.reveal(tab));
    this.view = make("div", { class: "view" }, this.title, this.line, this.note, this.tabBar.list, ...this.tabBar.panels);
    this.split = make("div", {}, this.menu, this.view);
    this.place.replaceChildren(
      make("div", { class: "heading" }, make("h1", { text: name }), make("span", { class: "kind", text: "registry" })),
      make("p", { class: "quiet", text: path }), this.empty, this.split);
  }

  item({ name, aliases }) {
    const champion = aliases.find(({ alias }) => alias === "champion");
    const choose = () => {
      this.model = name;
      this.chosen = [];
      this.update(this.details);
    };
    const button = make("button", { type: "button", "aria-current": name === this.model ? "true" : null },
      name, make("span", { class: "quiet", text: champion ? ` v${champion.number}` : "" }));
    button.addEventListener("click", choose);
    return make("li", {}, button);
  }

  /** Load the versions of the model, and show them. */
  async load() {
    const name = this.model;
    try {
      const loaded = await get(`${this.path}/models/${encodeURIComponent(name)}`, {}, this.signal);
      if (name !== this.model) return; // another one was chosen meanwhile
      const isOther = this.loaded?.name !== name;
      this.loaded = loaded;
      replace(this.note);
      this.title.textContent = name;
      replace(this.line, loaded.aliases.length
        ? aliasLine(loaded.aliases, this.id, name)
        : make("p", { class: "quiet", text: `${count(loaded.versions.length)} versions, and no champion yet.` }));
      for (const [tab, part] of this.tabs) part.isOld = tab !== this.tabBar.shown;
      if (isOther) this.tabBar.select(this.tabBar.shown ?? this.wanted);
      this.tabs.get(this.tabBar.shown).show();
    } catch (error) {
      if (!this.signal.aborted) replace(this.note, failure(error, () => this.load()));
    }
  }

  reveal(tab) {
    this.keepAddress(tab);
    const part = this.tabs.get(tab);
    if (this.loaded && (part.isOld ?? true)) {
      part.isOld = false;
      part.show();
    }
  }

  /** Keep in the address what is shown, so that it can be passed on. */
  keepAddress(tab = this.tabBar.shown) {
    const chosen = tab === "version" || tab === "diff" ? this.chosen : [];
    const rest = chosen.length ? [tab, chosen.join(",")] : tab === "versions" ? [] : [tab];
    if (this.model) history.replaceState(null, "", modelAddress(this.id, this.model, ...rest).replaceAll("%2C", ","));
  }

  /** Show a version, or the differences between two. */
  open(tab, ...numbers) {
    this.chosen = numbers;
    this.tabs.get(tab).isOld = true;
    this.tabBar.select(tab);
  }
}
