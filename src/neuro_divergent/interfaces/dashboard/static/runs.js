// The list of runs, updated live.

import { badge, box, button, failure, make, setText } from "./elements.js";
import { follow, get } from "./server.js";
import { age, count, duration, isLive, moment, number, percent, progress, title } from "./format.js";

const PAGE = 50;
const MOST_COMPARED = 8;
const COLUMNS = [
  { title: "Run", sort: "name" },
  { title: "State", sort: "state" },
  { title: "Progress", sort: "step" },
  { title: "Model", sort: "model" },
  { title: "Best validation", sort: "best", numeric: true },
  { title: "Time left", numeric: true },
  { title: "Data" },
  { title: "Changed", sort: "time", numeric: true },
];
const PARTS = { study: "trials", federation: "rounds", pipeline: "stages", continuous: "batches", registry: "models" };
const KINDS = {
  study: "studies", federation: "federations", pipeline: "pipelines", continuous: "continuous trainings", registry: "registries",
};
const DESCENDING_FIRST = new Set(["time", "step"]);

/** The query; kept while other pages are shown. */
const query = { search: "", state: "", sort: "time", order: "desc", offset: 0 };
const chosen = new Map();

/** Show the list. */
export function showRuns(place, page, signal) {
  new RunsPage(place, page, signal).start();
}

class RunsPage {
  constructor(place, page, signal) {
    Object.assign(this, { place, page, signal, rows: new Map(), total: 0, timer: null, isFirst: true });
  }

  start() {
    this.page.title("Runs");
    this.build();
    this.load();
    const clock = setInterval(() => this.rows.forEach((row) => row.tick()), 5000);
    this.signal.addEventListener("abort", () => {
      clearInterval(clock);
      clearTimeout(this.timer);
    });
    follow(() => "/api/stream", {
      runs: (news) => this.receive(news),
      connection: (text) => {
        this.page.connection(text);
        if (!text && !this.isFirst) this.soon(); // what happened meanwhile
        this.isFirst = false;
      },
      refused: () => {}, // the list itself says why
    }, this.signal);
  }

  build() {
    this.search = make("input", { type: "search", id: "search", value: query.search, autocomplete: "off" });
    this.search.addEventListener("input", () => {
      query.search = this.search.value.trim();
      query.offset = 0;
      this.soon(200);
    });
    this.states = make("select", { id: "state" });
    this.states.addEventListener("change", () => {
      query.state = this.states.value;
      query.offset = 0;
      this.load();
    });
    this.summary = make("p", { class: "quiet", id: "runs-summary", role: "status" });
    this.compare = button("Compare", () => { location.hash = `#/compare/${[...chosen.keys()].join(",")}`; }, { id: "compare" });
    this.clear = button("Clear selection", () => {
      chosen.clear();
      this.rows.forEach((row) => row.tick());
      this.choose();
    });
    this.chosen = make("span", { class: "quiet", id: "chosen" });
    this.headers = COLUMNS.map((column) => this.header(column));
    this.body = make("tbody");
    this.table = box("Runs", make("table", { id: "runs", class: "runs" },
      make("caption", { class: "unseen", text: "Runs" }),
      make("thead", {}, make("tr", {},
        make("th", { scope: "col" }, make("span", { class: "unseen", text: "Compare" })), this.headers)),
      this.body));
    this.empty = make("div", { class: "empty" });
    this.back = button("Earlier page", () => this.turn(-PAGE), { id: "previous" });
    this.next = button("Next page", () => this.turn(PAGE), { id: "next" });
    this.pages = make("span", { class: "quiet", id: "pages" });
    this.paging = make("nav", { class: "buttons", "aria-label": "Pages" }, this.back, this.pages, this.next);
    this.place.append(
      make("div", { class: "heading" }, make("h1", { text: "Runs" }), this.summary),
      make("div", { class: "tools" },
        make("div", { class: "field" }, make("label", { for: "search", text: "Search" }), this.search),
        make("div", { class: "field" }, make("label", { for: "state", text: "State" }), this.states),
        make("div", { class: "buttons" }, this.compare, this.clear, this.chosen)),
      this.empty, this.table, this.paging);
    this.choose();
    this.count({});
  }

  header(column) {
    const cell = make("th", { scope: "col", class: column.numeric ? "number" : null });
    if (!column.sort) {
      cell.textContent = column.title;
      return cell;
    }
    cell.append(button(column.title, () => {
      const first = DESCENDING_FIRST.has(column.sort) ? "desc" : "asc";
      const isSame = query.sort === column.sort;
      query.order = isSame ? (query.order === "asc" ? "desc" : "asc") : first;
      query.sort = column.sort;
      query.offset = 0;
      this.load();
    }, { class: "sort" }));
    cell.dataset.sort = column.sort;
    return cell;
  }

  /** Load the list again soon, once for all that happens until then. */
  soon(milliseconds = 300) {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.load(), milliseconds);
  }

  async load() {
    clearTimeout(this.timer);
    const sent = JSON.stringify(query);
    try {
      const found = await get("/api/runs", { ...query, limit: PAGE }, this.signal);
      if (sent !== JSON.stringify(query)) return; // another query was sent meanwhile
      if (!found.runs.length && query.offset) {
        query.offset = 0;
        this.load();
        return;
      }
      this.show(found);
    } catch (error) {
      if (this.signal.aborted) return;
      this.table.hidden = true;
      this.paging.hidden = true;
      this.empty.replaceChildren(failure(error, () => this.load()));
    }
  }

  show({ runs, total, counts }) {
    this.total = total;
    for (const cell of this.headers) {
      if (!cell.dataset.sort) continue;
      const isSorted = cell.dataset.sort === query.sort;
      cell.setAttribute("aria-sort", isSorted ? (query.order === "asc" ? "ascending" : "descending") : "none");
    }
    const rows = new Map(runs.map((run) => [run.id, this.rows.get(run.id) ?? new Row(run, () => this.choose())]));
    runs.forEach((run) => rows.get(run.id).update(run));
    this.rows = rows;
    this.count(counts);
    this.arrange([...rows.values()].map((row) => row.element));
    const isEmpty = !runs.length;
    this.table.hidden = isEmpty;
    this.empty.replaceChildren(...(isEmpty ? this.advice() : []));
    const last = query.offset + runs.length;
    this.paging.hidden = total <= PAGE;
    this.pages.textContent = `${count(query.offset + 1)} to ${count(last)} of ${count(total)}`;
    this.back.disabled = query.offset === 0;
    this.next.disabled = last >= total;
  }

  /** Put the rows in their order; where nothing moves, nothing is touched and the focus stays. */
  arrange(elements) {
    const before = [...this.body.children];
    if (before.length === elements.length && before.every((element, place) => element === elements[place])) return;
    const focused = this.body.contains(document.activeElement) ? document.activeElement : null;
    this.body.replaceChildren(...elements);
    if (focused?.isConnected) focused.focus();
  }

  advice() {
    if (query.search || query.state) return [make("p", { text: "No run fits the search." })];
    return [
      make("h2", { text: "No runs here yet" }),
      make("p", { text: "Train a model, and it appears here while it trains:" }),
      make("pre", {}, make("code", { text: "nd train FILE --horizon 24" })),
      make("p", { text: "Searches for settings are in studies/ unless you name another place: nd dashboard studies" }),
    ];
  }

  count(counts) {
    const states = Object.entries(counts ?? {}).filter(([state, found]) => found || state === query.state);
    const all = states.reduce((sum, [, found]) => sum + found, 0);
    const options = [["", `All (${count(all)})`], ...states.map(([state, found]) => [state, `${title(state)} (${count(found)})`])];
    if (query.state && !states.some(([state]) => state === query.state)) options.push([query.state, `${title(query.state)} (0)`]);
    if (JSON.stringify(options) !== this.options) {
      this.options = JSON.stringify(options);
      this.states.replaceChildren(...options.map(([value, text]) => make("option", { value, text })));
      this.states.value = query.state;
    }
    const live = counts?.running ?? 0;
    const kinds = new Set([...this.rows.values()].map(({ run }) => run.kind));
    const what = list(["runs", ...Object.keys(KINDS).filter((kind) => kinds.has(kind)).map((kind) => KINDS[kind])]);
    setText(this.summary, all ? `${count(all)} ${all === 1 ? "run" : what}, ${count(live)} running` : "");
  }

  receive({ changed = [], removed = [], counts }) {
    if (counts) this.count(counts);
    let isKnown = !removed.length;
    for (const run of changed) {
      const row = this.rows.get(run.id);
      isKnown &&= row !== undefined && row.run.state === run.state;
      row?.update(run);
    }
    if (!isKnown) this.soon();
  }

  choose() {
    this.compare.disabled = chosen.size < 2 || chosen.size > MOST_COMPARED;
    this.clear.hidden = chosen.size === 0;
    const hint = chosen.size < 2 ? "Select two or more runs to compare them." : "";
    const many = chosen.size > MOST_COMPARED ? ` At most ${MOST_COMPARED} can be compared.` : "";
    setText(this.chosen, chosen.size ? `${chosen.size} selected.${many}` : hint);
  }

  turn(by) {
    query.offset = Math.max(0, query.offset + by);
    this.load();
  }
}

/** A row of the list. */
class Row {
  constructor(run, changed) {
    this.run = run;
    this.box = make("input", { type: "checkbox", "aria-label": `Compare ${run.name}` });
    this.box.addEventListener("change", () => {
      if (this.box.checked) chosen.set(this.run.id, this.run.name);
      else chosen.delete(this.run.id);
      changed();
    });
    const isRun = run.kind === "run"; // others are not compared
    this.link = make("a", { href: `#/${run.kind}/${encodeURIComponent(run.id)}`, text: run.name });
    this.bar = make("progress", { max: "1", "aria-label": `Progress of ${run.name}` });
    this.step = make("span");
    this.time = make("time");
    this.cells = {
      state: make("td"), progress: make("td", { class: "progress" }, this.bar, this.step), model: make("td"),
      best: make("td", { class: "number" }), left: make("td", { class: "number" }), data: make("td", { class: "data" }),
      time: make("td", { class: "number" }, this.time),
    };
    this.element = make("tr", { "data-run": run.id },
      make("td", { class: "choice" }, isRun ? this.box : null),
      make("th", { scope: "row" }, this.link, isRun ? null : make("span", { class: "kind", text: run.kind })), Object.values(this.cells));
  }

  update(run) {
    this.run = run;
    const fraction = progress(run);
    this.cells.state.replaceChildren(badge(run.state));
    this.cells.state.title = run.message ?? "";
    this.bar.hidden = fraction === null || !isLive(run);
    if (fraction !== null) this.bar.value = fraction;
    setText(this.step, progressText(run, fraction));
    setText(this.cells.model, run.model ?? "–");
    setText(this.cells.best, number(run.best));
    this.cells.best.title = run.metric ?? "";
    setText(this.cells.left, isLive(run) ? duration(run.seconds_left) : "–");
    setText(this.cells.data, run.data ?? "–");
    this.cells.data.title = run.data ?? "";
    this.time.dateTime = run.time ? new Date(run.time * 1000).toISOString() : "";
    this.time.title = moment(run.time);
    this.tick();
  }

  tick() {
    setText(this.time, age(this.run.time));
    this.box.checked = chosen.has(this.run.id);
  }
}

/** Return names as a list in a sentence. */
const list = (names) => (names.length < 2 ? names.join("") : `${names.slice(0, -1).join(", ")} and ${names.at(-1)}`);

function progressText(run, fraction) {
  if (typeof run.step !== "number") return "–";
  if (run.kind in PARTS) return partsText(run);
  if (fraction === null) return `step ${count(run.step)}`;
  return isLive(run) ? `${percent(fraction)} of ${count(run.total_steps)}` : `${count(run.step)} of ${count(run.total_steps)}`;
}

function partsText({ kind, step, total_steps: total }) {
  const parts = (total || step) === 1 ? PARTS[kind].replace(/(?<=ch)es$|s$/, "") : PARTS[kind];
  return `${count(step)}${total ? ` of ${count(total)}` : ""} ${parts}`;
}
