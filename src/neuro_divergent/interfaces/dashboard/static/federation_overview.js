// Facts about a federation, and its figures, which follow its rounds.

import { facts, failure, make, nothing } from "./elements.js";
import { redraw, serverChart } from "./charts.js";
import { get } from "./server.js";
import { count, duration, moment, number, percent, plain, size } from "./format.js";

const PAUSE = 2000;

export class FederationOverview {
  constructor(federation) {
    Object.assign(this, { federation, charts: new Map(), timer: null });
    this.facts = make("div", { id: "federation-facts" });
    this.empty = nothing("Figures appear with the first round that is complete.");
    this.place = make("div", { class: "charts steady" });
    this.element = make("div", {}, this.facts, this.empty, this.place);
    federation.signal.addEventListener("abort", () => clearTimeout(this.timer));
  }

  /** Draw again soon, once for all rounds until then. */
  change(rounds) {
    this.fill();
    if (rounds.length) this.timer ??= setTimeout(() => this.draw(), PAUSE);
  }

  show() {
    this.fill();
    this.draw();
  }

  fill() {
    const { num_clients: clients, privacy, bytes_down: down, bytes_up: up, seconds_per_round: seconds, time, state, has_model: hasModel } = this.federation.details;
    const rounds = [...this.federation.rounds.values()];
    const sum = (value) => rounds.reduce((total, round) => total + value(round), 0);
    const missing = sum((round) => round.dropped.number);
    const refused = sum((round) => round.refused.number);
    const voids = rounds.filter((round) => round.is_void).length;
    this.facts.replaceChildren(facts([
      ["Clients", clients === null ? null : count(clients)],
      ["Updates", rounds.length ? `${count(sum((round) => round.participants))} counted, ${count(refused)} refused, ${count(missing)} did not come` : null],
      ["Void rounds", voids ? `${count(voids)}: too few updates, so the weights stayed as they were` : null],
      ["Time of a round", seconds === null ? null : duration(seconds)],
      ["Traffic", down + up ? `${size(down)} to clients, ${size(up)} from them` : null],
      ["Privacy", privacy ? promise(privacy) : null],
      ["Global model", hasModel ? "written" : state === "finished" ? "missing" : "not written yet"],
      ["Last change", moment(time)],
    ]));
  }

  async draw() {
    clearTimeout(this.timer);
    this.timer = null;
    const { path, signal, page } = this.federation;
    try {
      const { figures } = await get(`${path}/figures`, {}, signal);
      for (const name of figures) await this.drawOne(name, await get(`${path}/figures/${encodeURIComponent(name)}`, {}, signal));
    } catch (error) {
      if (signal.aborted) return;
      if (this.charts.size) page.announce(error.message);
      else this.place.replaceChildren(failure(error, () => this.draw()));
    }
  }

  async drawOne(name, figure) {
    this.empty.hidden = true;
    const known = this.charts.get(name);
    if (known) {
      await redraw(known, figure);
      return;
    }
    if (!this.charts.size) this.place.replaceChildren();
    const chart = serverChart(figure.title, figure);
    this.charts.set(name, chart);
    this.place.append(chart.element);
    await chart.draw();
  }
}

function promise({ epsilon, budget, delta, clip_norm: norm, noise_multiplier: noise, charges }) {
  const used = budget ? ` (${percent((epsilon ?? 0) / budget)})` : "";
  return [
    `epsilon ${number(epsilon ?? 0)} of ${number(budget)} spent${used}`,
    `delta ${plain(delta)}`,
    `updates clipped to ${number(norm)}`,
    typeof noise === "number" ? `noise ${number(noise)} times that` : "",
    `${count(charges)} rounds charged`,
  ].filter(Boolean).join(", ");
}
