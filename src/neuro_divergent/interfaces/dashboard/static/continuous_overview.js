// Where a continuous training stands: champion and challenger, the comparison under way, and errors over time.

import { facts, make, nothing } from "./elements.js";
import { aliasBadge, aliasLine, modelAddress } from "./aliases.js";
import { replace } from "./changes.js";
import { Chart, colour, escaped } from "./charts.js";
import { decisionList } from "./decisions.js";
import { count, number, percent, plain } from "./format.js";

const RECENT = 3;
const PURPOSES = {
  promotion: ["challenger", "champion"],
  rollback: ["previous version", "champion"],
};

export class ContinuousOverview {
  constructor(continuous) {
    this.continuous = continuous;
    this.facts = make("div", { id: "continuous-facts" });
    this.comparison = make("div", { id: "comparison" });
    this.chart = new Chart("Errors over time", { height: "tall" });
    this.empty = nothing("No test has compared the errors with those of the back-test yet: that takes four complete forecasts of the champion.");
    this.recent = make("div", { id: "recent" });
    this.element = make("div", {}, this.facts, this.comparison, this.chart.element, this.empty, this.recent);
  }

  show() {
    const { details, id } = this.continuous;
    replace(this.facts, ...this.lines());
    replace(this.comparison, ...comparison(details.comparison));
    const hasLooks = details.looks.some((look) => typeof look.ratio === "number");
    this.chart.element.hidden = !hasLooks;
    this.empty.hidden = hasLooks;
    if (hasLooks) {
      this.chart.say(NOTE, describe(details));
      this.chart.draw(() => content(details));
    }
    const newest = details.decisions.slice(0, RECENT);
    replace(this.recent, ...(newest.length ? [
      make("h3", { text: "Latest decisions" }), decisionList(newest),
      make("p", {}, make("a", { href: `#/continuous/${encodeURIComponent(id)}/decisions`, text: "All decisions" })),
    ] : []));
  }

  lines() {
    const { details } = this.continuous;
    const { model_name: name, registry, registry_id: place, aliases, champion, incidents, waiting_hooks: hooks, skipped } = details;
    const quarantined = incidents.filter(({ state }) => state === "quarantined").length;
    const known = aliases.length ? aliasLine(aliases, place, name)
      : champion === null ? null : make("p", { class: "aliases" }, make("span", {}, aliasBadge("champion"), ` v${champion}`));
    return [
      known,
      facts([
        ["Registry", place ? make("a", { href: modelAddress(place, name), text: `${name} in ${registry}` }) : `${name} in ${registry}`],
        ["Data", details.end === null ? "none yet" : `${count(details.batches)} batches, up to ${plain(details.end)}`],
        ["Trainings", count(details.attempts.length)],
        ["Quarantine", quarantined ? `${count(quarantined)} of ${count(incidents.length)} incidents` : incidents.length ? `empty; ${count(incidents.length)} incidents so far` : null],
        ["Hooks to run", hooks ? count(hooks) : null],
        ["Skipped ticks", skipped ? `${count(skipped)}: another one was under way` : null],
      ]),
    ];
  }
}

/** Return the evidence of the comparison under way as a number and a bar. */
function comparison(found) {
  if (!found) return [];
  const [shadow, serving] = PURPOSES[found.purpose] ?? ["other version", "champion"];
  const label = `Evidence that the ${shadow} is better`;
  return [
    make("h3", { text: `Version ${found.shadow} compared with version ${found.serving}` }),
    make("div", { class: "now" },
      make("meter", { min: "0", max: "1", value: found.fraction, "aria-label": label }),
      make("strong", { id: "evidence", text: `${number(found.value)} of ${number(found.threshold)}` }),
      make("span", { class: "quiet", text: `after ${count(found.blocks)} of at most ${count(found.max_blocks)} blocks` })),
    make("p", { text: found.sentence }),
    make("p", { class: "quiet note", text: `${label} (an e-process). At ${number(found.threshold)} the ${shadow} takes over from the ${serving}; it may be looked at as often as one likes. The bar is on a logarithmic scale and empty below 1.` }),
  ];
}

const NOTE = "Mean error of the newest forecasts of the champion, divided by that of its back-test when it was registered. " +
  "1 means: as good as then. Another champion has another back-test.";

const isFound = (look) => Boolean(look?.is_drift || look?.is_worse);

/** Return what happened at a test, for the marks on the line. */
function events({ looks, attempts, decisions }) {
  const place = (end) => looks.findLast((look) => look.row <= end) ?? looks[0];
  const versions = looks.map((look) => look.version);
  const known = looks.filter((look) => typeof look.ratio === "number");
  const rolledBack = new Set(decisions.filter(({ kind }) => kind === "rolled back").map(({ evidence }) => evidence.shadow));
  return {
    found: known.filter(isFound)
      .map((look) => ({ look, isSmall: isFound(known[known.indexOf(look) - 1]), text: look.is_drift ? "drift" : "worse than in the back-test" })),
    trained: attempts.filter((attempt) => attempt.parent !== null && attempt.end >= (looks[0]?.row ?? Infinity))
      .map((attempt) => ({ look: place(attempt.end), text: `training ${attempt.number} (${attempt.mode}): ${attempt.state}` })),
    champion: looks.filter((look, at) => at && look.version !== versions[at - 1])
      .map((look) => ({ look, text: `version ${look.version} serves${rolledBack.has(look.version) ? " (again)" : ""}` })),
  };
}

function content(details) {
  const { looks } = details;
  const marks = events(details);
  const base = { type: "scatter", mode: "markers" };
  const marked = (name, list, symbol, tint) => ({
    ...base, name, x: list.map(({ look }) => look.at), y: list.map(({ look }) => look.ratio), text: list.map(({ text }) => escaped(text)),
    marker: { symbol, opacity: 1, size: list.map(({ isSmall }) => (isSmall ? 6 : 12)), color: colour(tint), line: { color: colour("page"), width: list.map(({ isSmall }) => (isSmall ? 0 : 1)) } }, hovertemplate: "%{text}<extra></extra>",
  });
  const data = [
    {
      type: "scatter", mode: "lines", name: "errors", x: looks.map(({ at }) => at), y: looks.map(({ ratio }) => ratio),
      customdata: looks.map(({ version }) => version), line: { color: colour("line-1"), width: 1.8 }, connectgaps: false,
      hovertemplate: "%{y:.3f} times the back-test, version %{customdata}<extra></extra>",
    },
    marked("drift or worse", marks.found, "diamond", "bad"),
    marked("training", marks.trained, "triangle-up", "line-2"),
    marked("other champion", marks.champion, "star", "good"),
  ].filter((trace) => trace.x.length);
  const limit = 1 + (details.settings.triggers?.degradation ?? 0);
  const rule = (y, dash) => ({ type: "line", xref: "paper", x0: 0, x1: 1, y0: y, y1: y, line: { color: colour("edge"), width: 1, dash } });
  return {
    data,
    layout: {
      uirevision: "looks", showlegend: true, hovermode: "x unified",
      xaxis: { title: { text: "End of the data", standoff: 6 } },
      yaxis: { title: { text: "Times the back-test" }, rangemode: "tozero" },
      shapes: [rule(1, "dot"), ...(limit > 1 ? [rule(limit, "dash")] : [])],
    },
  };
}

function describe({ looks, attempts }) {
  const ratios = looks.map(({ ratio }) => ratio).filter((ratio) => typeof ratio === "number");
  const found = looks.filter(isFound).length;
  return `${count(looks.length)} tests from ${plain(looks[0].at)} to ${plain(looks.at(-1).at)}: errors between ${number(Math.min(...ratios))} and ` +
    `${number(Math.max(...ratios))} times those of the back-test, ${number(ratios.at(-1))} at the last one. ` +
    `Something was found at ${count(found)} of them (${percent(found / looks.length)}). ${count(attempts.length)} trainings.`;
}
