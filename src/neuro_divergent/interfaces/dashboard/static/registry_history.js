// How the aliases of a model moved, the latest change on top.

import { make, nothing, table } from "./elements.js";
import { aliasBadge } from "./aliases.js";
import { replace } from "./changes.js";
import { unfolded } from "./evidence.js";
import { count, instant } from "./format.js";

const COLUMNS = [{ title: "Change", numeric: true }, { title: "When" }, { title: "What" }, { title: "Aliases since" }, { title: "Reason" }];
const ACTIONS = { promote: "moved", rollback: "rolled back", remove: "removed" };

export class AliasHistory {
  constructor(registry) {
    this.registry = registry;
    this.element = make("div");
  }

  show() {
    const { history } = this.registry.loaded;
    replace(this.element, history.length
      ? table("Changes of aliases", COLUMNS, history.map(cells), { id: "alias-history", class: "registry" })
      : nothing("No alias was set yet."));
  }
}

const cells = (change) => [
  count(change.revision), instant(change.created),
  make("span", {}, aliasBadge(change.alias), ` ${ACTIONS[change.action] ?? change.action}: ${target(change.before)} → ${target(change.after)}`),
  Object.entries(change.aliases).map(([alias, number]) => `${alias} v${number}`).join(", ") || "none",
  make("div", { class: "sentence" }, change.reason || "–", unfolded("Evidence", change.evidence)),
];

const target = (number) => (number === null ? "none" : `v${number}`);
