// Aliases of versions in a registry.

import { make } from "./elements.js";

/** Return an alias as coloured text. */
export const aliasBadge = (alias) => make("span", { class: `alias ${["champion", "challenger", "previous"].includes(alias) ? alias : ""}`.trim(), text: alias });

/** Return the address of the page of a model, or of a part of it. */
export const modelAddress = (registry, name, ...rest) =>
  `#/registry/${[registry, name, ...rest].map((part) => encodeURIComponent(part)).join("/")}`;

/** Return where the aliases of a model point as badges with links to the versions; without a registry, as text. */
export function aliasLine(aliases, registry, name) {
  return make("p", { class: "aliases" }, aliases.map(({ alias, number, version }, place) => {
    const text = `v${number}${version ? ` (${version})` : ""}`;
    const target = registry ? make("a", { href: modelAddress(registry, name, "version", number), text }) : text;
    const comma = place < aliases.length - 1 ? make("span", { class: "unseen", text: ", " }) : null; // for screen readers
    return make("span", {}, aliasBadge(alias), " ", target, comma);
  }));
}
