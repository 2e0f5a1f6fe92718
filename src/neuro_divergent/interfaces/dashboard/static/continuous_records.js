// Trainings, incidents of the feed and settings of a continuous training.

import { badge, facts, make, nothing, table } from "./elements.js";
import { modelAddress } from "./aliases.js";
import { copyable } from "./clipboard.js";
import { replace } from "./changes.js";
import { checks, verdict } from "./evidence.js";
import { count, plain, quoted, title } from "./format.js";

const isObject = (value) => value !== null && typeof value === "object" && !Array.isArray(value);

export class Trainings {
  constructor(continuous) {
    this.continuous = continuous;
    this.element = make("div");
  }

  show() {
    const { attempts, registry_id: registry, model_name: name } = this.continuous.details;
    const columns = [{ title: "Training", numeric: true }, { title: "State" }, { title: "Kind" }, { title: "Started from" }, { title: "Version" }, { title: "Gate" }, { title: "Why" }];
    replace(this.element, attempts.length
      ? table("Trainings", columns, attempts.map((attempt) => [
        attempt.run_id ? make("a", { href: `#/run/${encodeURIComponent(attempt.run_id)}`, text: count(attempt.number), title: "The run" }) : count(attempt.number),
        badge(attempt.state), attempt.mode, attempt.parent === null ? "–" : `v${attempt.parent}`,
        version(attempt.version, registry, name), gate(attempt.gate), make("span", { class: "sentence", text: plain(attempt.reason) }),
      ]), { id: "trainings", class: "registry" })
      : nothing("Nothing was trained yet; the first tick that finds rows trains the first champion."));
  }
}

function version(number, registry, name) {
  if (number === null) return "–";
  return registry ? make("a", { href: modelAddress(registry, name, "version", number), text: `v${number}` }) : `v${number}`;
}

function gate(found) {
  if (!isObject(found)) return "–";
  return make("details", {}, make("summary", {}, verdict(found.passed)), checks(found));
}

export class Incidents {
  constructor(continuous) {
    this.continuous = continuous;
    this.element = make("div", { id: "incidents" });
  }

  show() {
    const { incidents, path } = this.continuous.details;
    if (!incidents.length) {
      replace(this.element, nothing("The feed was never found broken: no constant values, no gaps, no other units."));
      return;
    }
    const { page } = this.continuous;
    replace(this.element,
      make("p", { class: "quiet", text: "Rows of a broken feed are in quarantine: no model is trained on them. Rows that are right after all are accepted in a terminal; rows that the source corrects are taken in by themselves." }),
      ...[...incidents].reverse().map((incident) => make("section", { class: `finding ${incident.state === "quarantined" ? "problem" : "hint"}`, "aria-label": `Incident ${incident.number}` },
        make("h3", { text: `Incident ${incident.number}: ${count(incident.rows)} rows ${incident.state === "quarantined" ? "in quarantine" : incident.state}` }),
        make("ul", { class: "changes" }, findings(incident).map((text) => make("li", { text }))),
        incident.state === "quarantined" ? copyable(`nd continuous accept ${quoted(path)} ${incident.number}`, `Accept incident ${incident.number}`, page) : null)));
  }
}

const findings = ({ findings: found }) => (Array.isArray(found) ? found.filter(isObject).map((item) => plain(item.sentence ?? item)) : []);

export class ContinuousSettings {
  constructor(continuous) {
    this.continuous = continuous;
    this.element = make("div", { id: "continuous-settings" });
  }

  show() {
    const { settings, path } = this.continuous.details;
    replace(this.element,
      ...Object.entries(settings).filter(([, values]) => isObject(values) && Object.keys(values).length).flatMap(([name, values]) => [
        make("h3", { text: title(name) }),
        facts(Object.entries(values).map(([key, value]) => [title(key), value === null ? null : plain(value)])),
      ]),
      make("p", { class: "quiet", text: `All settings are in ${path}/continuous.toml; addresses of databases and hooks are not shown here.` }));
  }
}
