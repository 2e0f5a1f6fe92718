// How a federation trains.

import { facts, make, nothing } from "./elements.js";
import { count, duration, number, percent, plain } from "./format.js";

export class FederationSettings {
  constructor(federation) {
    this.federation = federation;
    this.element = make("div", { id: "federation-settings" });
  }

  change() {} // settings do not depend on the rounds

  show() {
    const { settings, config, path, created } = this.federation.details;
    const [federation, task, training] = [settings.federation, settings.task, settings.training].map(section);
    this.element.replaceChildren(
      facts([
        ["Model", component(settings.model)],
        ["Horizon", component(task.horizon)],
        ["History", component(task.input_size)],
        ["Loss", component(task.loss)],
        ["Aggregation", component(federation.aggregation)],
        ["Local epochs", component(federation.local_epochs)],
        ["Local steps", component(federation.local_steps)],
        ["Optimizer of the clients", component(training.optimizer)],
        ["Participation", typeof federation.participation === "number" ? `${percent(federation.participation)} of the clients in a round` : null],
        ["Clients needed", typeof federation.min_clients === "number" ? count(federation.min_clients) : null],
        ["Deadline", typeof federation.deadline === "number" ? `${duration(federation.deadline)} for a round` : null],
        ["Updates refused above", typeof federation.max_norm === "number" ? `a norm of ${number(federation.max_norm)}` : null],
        ["Privacy", component(federation.privacy)],
        ["Personalization", component(federation.personalization)],
        ["Seed", component(federation.seed)],
        ["Begun", created],
        ["Directory", path],
      ]),
      make("h3", { text: "All settings" }),
      config
        ? make("pre", { id: "federation-config", tabindex: "0", role: "region", "aria-label": "Settings" }, make("code", { text: config }))
        : nothing("There are no settings to be read."));
  }
}

const section = (value) => (value && typeof value === "object" && !Array.isArray(value) ? value : {});

/** Return a setting as text; one with a name as `name (its settings)`. */
function component(value) {
  if (value === null || value === undefined) return null;
  const { name, ...rest } = section(value);
  if (name === undefined) return plain(value);
  const others = plain(rest);
  return others ? `${plain(name)} (${others})` : plain(name);
}
