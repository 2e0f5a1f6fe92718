// The clients of a federation: what each did in all rounds, and the scores of its models.

import { button, failure, make, nothing, table } from "./elements.js";
import { get } from "./server.js";
import { count, moment, number, percent } from "./format.js";

const PAUSE = 2000;
const MOST_ROWS = 500;
const COLUMNS = [
  { title: "Client" }, { title: "Took part", numeric: true }, { title: "No answer", numeric: true }, { title: "Refused", numeric: true },
  { title: "Last answer", numeric: true }, { title: "When", numeric: true }, { title: "Last refusal" },
];
const SCORES = [
  { title: "Client" }, { title: "Model" }, { title: "Part" }, { title: "Windows", numeric: true }, { title: "MAE", numeric: true },
  { title: "RMSE", numeric: true }, { title: "MASE", numeric: true }, { title: "Skill", numeric: true },
];

export class FederationClients {
  constructor(federation) {
    Object.assign(this, { federation, timer: null, most: MOST_ROWS, shown: "" });
    this.element = make("div");
    federation.signal.addEventListener("abort", () => clearTimeout(this.timer));
  }

  /** Load again soon, once for all rounds until then. */
  change() {
    this.timer ??= setTimeout(() => this.show(), PAUSE);
  }

  async show() {
    clearTimeout(this.timer);
    this.timer = null;
    const { path, signal } = this.federation;
    try {
      const found = await get(`${path}/clients`, {}, signal);
      const content = JSON.stringify([found, this.most]);
      if (content === this.shown) return;
      this.shown = content;
      this.fill(found);
    } catch (error) {
      if (!signal.aborted) this.element.replaceChildren(failure(error, () => this.show()));
    }
  }

  fill({ clients, scores }) {
    if (!clients.length && !scores.length) {
      this.element.replaceChildren(nothing("No client has taken part yet."));
      return;
    }
    const isCut = Math.max(clients.length, scores.length) > this.most;
    const more = button("Show all clients", () => {
      this.most = Infinity;
      this.show();
    }, { id: "all-clients" });
    this.element.replaceChildren(...[
      clients.length ? table("Clients", COLUMNS, clients.slice(0, this.most).map(clientCells), { id: "clients", class: "federation" }) : null,
      ...(scores.length ? [
        make("h3", { text: "Scores" }),
        table("Scores", SCORES, scores.slice(0, this.most).map(scoreCells), { id: "client-scores" }),
        make("p", { class: "quiet note", text: "Skill is 1 minus the MAE divided by that of the seasonal naive forecast." }),
      ] : []),
      isCut ? more : null,
    ].filter(Boolean));
  }
}

const clientCells = (client) => [
  client.name, count(client.participated), count(client.dropped), count(client.refused),
  client.last_round === null ? "never" : `round ${count(client.last_round)}`, moment(client.last_time),
  make("span", { class: "sentence", text: client.reason }),
];

const scoreCells = (row) => [
  row.client, row.model, row.part || "–", count(row.windows), number(row.mae), number(row.rmse), number(row.mase), percent(row.skill),
];
