// The rounds of a federation as a table, the last one on top, updated in place.

import { box, button, make, nothing } from "./elements.js";
import { count, duration, moment, number, size } from "./format.js";

const MOST_ROWS = 200;
const COLUMNS = [
  { title: "Round", numeric: true, value: (round) => count(round.round) },
  { title: "Took part", numeric: true, value: (round) => `${count(round.participants)}${typeof round.sampled === "number" ? ` of ${count(round.sampled)}` : ""}` },
  { title: "No answer", numeric: true, value: (round) => count(round.dropped.number) },
  { title: "Refused", numeric: true, value: (round) => count(round.refused.number) },
  { title: "Loss", numeric: true, isPrivate: false, value: (round) => number(round.loss) },
  { title: "Mean norm", numeric: true, isPrivate: false, value: (round) => number(round.mean_norm) },
  { title: "Largest norm", numeric: true, isPrivate: false, value: (round) => number(round.max_norm) },
  { title: "Change", numeric: true, value: (round) => number(round.change) },
  { title: "Sent", numeric: true, value: (round) => size(round.bytes_down) },
  { title: "Received", numeric: true, value: (round) => size(round.bytes_up) },
  { title: "Time", numeric: true, value: (round) => duration(round.seconds) },
  { title: "Epsilon", numeric: true, isPrivate: true, value: (round) => number(round.epsilon) },
  { title: "Remarks", class: "reason", value: remarks },
];

export class Rounds {
  constructor(federation) {
    Object.assign(this, { federation, rows: new Map(), most: MOST_ROWS });
    const hasPrivacy = Boolean(federation.details.privacy);
    this.columns = COLUMNS.filter(({ isPrivate }) => (isPrivate ?? hasPrivacy) === hasPrivacy);
    this.body = make("tbody");
    this.empty = nothing("No round is complete yet.");
    this.table = box("Rounds", make("table", { id: "rounds", class: "federation" },
      make("caption", { class: "unseen", text: "Rounds" }),
      make("thead", {}, make("tr", {}, this.columns.map(({ title, numeric }) =>
        make("th", { scope: "col", class: numeric ? "number" : null, text: title })))),
      this.body));
    this.more = button("Show all rounds", () => {
      this.most = Infinity;
      this.show();
    }, { id: "all-rounds" });
    this.element = make("div", {}, this.empty, this.table, this.more);
  }

  change() {
    this.show();
  }

  show() {
    const rounds = [...this.federation.rounds.values()].sort((one, other) => other.round - one.round);
    const shown = rounds.slice(0, this.most);
    this.empty.hidden = rounds.length > 0;
    this.table.hidden = rounds.length === 0;
    this.more.hidden = shown.length === rounds.length;
    this.rows = new Map(shown.map((round) => [round.round, this.row(round)]));
    const elements = [...this.rows.values()].map(({ element }) => element);
    const before = [...this.body.children];
    if (before.length === elements.length && before.every((element, place) => element === elements[place])) return;
    this.body.replaceChildren(...elements);
  }

  /** Return the row of a round; the one that is shown, if the round is unchanged. */
  row(round) {
    const content = JSON.stringify(round);
    const known = this.rows.get(round.round);
    if (known?.content === content) return known;
    const cells = this.columns.map(({ numeric, class: kind, value }, place) => place
      ? make("td", { class: [numeric ? "number" : "", kind ?? ""].join(" ").trim() || null, text: value(round) })
      : make("th", { scope: "row", class: "number", title: moment(round.time), text: value(round) }));
    return { content, element: make("tr", { class: round.is_void ? "void" : null }, cells) };
  }
}

function remarks({ is_void: isVoid, dropped, refused }) {
  const more = (found, names) => (found > names.length ? ` and ${count(found - names.length)} more` : "");
  return [
    isVoid ? "void: too few updates" : "",
    dropped.number ? `no answer from ${dropped.names.join(", ")}${more(dropped.number, dropped.names)}` : "",
    ...refused.reasons.map(([name, reason]) => `${name} refused: ${reason}`),
    refused.number > refused.reasons.length ? `${count(refused.number - refused.reasons.length)} more refused` : "",
  ].filter(Boolean).join("; ");
}
