// The series of a run: a search, and a list page by page, since there may be millions.

import { button, make, setText } from "./elements.js";
import { get } from "./server.js";
import { count } from "./format.js";

const PAGE = 50;
const PATIENCE = 200;
const READING = 400;
const MATCHES = [["contains", "Any part of the name"], ["prefix", "Beginning of the name"]];

export class SeriesList {
  /**
   * @param run The page of the run.
   * @param chosen Called with the name of a series that is to be shown.
   * @param failed Called with an error, and with what tries again.
   */
  constructor(run, chosen, failed) {
    Object.assign(this, { run, chosen, failed, search: "", offset: 0, names: [], total: 0, series: undefined, query: 0, timer: null });
    this.input = make("input", { type: "search", id: "series-search", autocomplete: "off", "aria-describedby": "series-hint" });
    this.input.addEventListener("input", () => {
      clearTimeout(this.timer);
      this.timer = setTimeout(() => this.look(), PATIENCE);
    });
    this.input.addEventListener("keydown", (event) => this.enter(event));
    this.match = make("select", { id: "series-match" }, MATCHES.map(([value, text]) => make("option", { value, text })));
    this.match.addEventListener("change", () => this.look());
    this.found = make("p", { class: "quiet", id: "series-found", role: "status" });
    this.list = make("ul", { class: "series", id: "series", "aria-label": "Series", on: { keydown: (event) => this.move(event) } });
    this.back = button("Earlier page", () => this.turn(-PAGE), { id: "series-previous" });
    this.next = button("Next page", () => this.turn(PAGE), { id: "series-next" });
    this.pages = make("span", { class: "quiet", id: "series-pages" });
    this.paging = make("nav", { class: "paging", "aria-label": "Pages of series", hidden: true }, this.pages, this.back, this.next);
    this.element = make("div", { class: "side" },
      make("div", { class: "field" }, make("label", { for: "series-search", text: "Search series" }), this.input),
      make("div", { class: "field" }, make("label", { for: "series-match", text: "Search in" }), this.match),
      make("p", { class: "quiet note", id: "series-hint", text: "Enter goes to the series of exactly this name." }),
      this.found, this.list, this.paging);
  }

  /** Search for what is written in the field. */
  look() {
    clearTimeout(this.timer);
    this.search = this.input.value.trim();
    this.load(0);
  }

  turn(by) {
    return this.load(Math.max(0, this.offset + by));
  }

  /** Show a page of what was searched for; returns whether it is shown. */
  async load(offset = this.offset, around = undefined) {
    const query = this.query += 1; // answers that come after the next question are not shown
    const patience = setTimeout(() => setText(this.found, "Reading the names of the series…"), READING);
    try {
      const parameters = { search: this.search, match: this.search ? this.match.value : "", offset, limit: PAGE };
      const path = around === undefined ? "series" : `series?${new URLSearchParams({ around, limit: PAGE })}`;
      const answer = await get(`${this.run.path}/${path}`, around === undefined ? parameters : {}, this.run.signal);
      if (query !== this.query) return false;
      if (answer.offset === null) return false; // no series has exactly this name
      if (!answer.series.length && offset) return this.load(0);
      this.show(answer, answer.offset ?? offset);
      return true;
    } catch (error) {
      if (query !== this.query || this.run.signal.aborted) return false;
      this.failed(error, () => this.load(offset, around));
      return false;
    } finally {
      clearTimeout(patience);
      if (query === this.query) setText(this.found, `${count(this.total)} series${this.search ? " found" : ""}`);
    }
  }

  show({ series, total }, offset) {
    Object.assign(this, { names: series, total, offset });
    const hadFocus = this.list.contains(document.activeElement);
    this.list.replaceChildren(...series.map((name) => make("li", {},
      button(labelOf(name), () => this.choose(name), { "aria-current": name === this.series ? "true" : null }))));
    this.list.scrollTop = 0;
    const last = offset + series.length;
    this.paging.hidden = total <= PAGE;
    setText(this.pages, `${count(offset + 1)} to ${count(last)} of ${count(total)}`);
    this.back.disabled = offset === 0;
    this.next.disabled = last >= total;
    if (hadFocus) this.focus(0);
    if (this.series === undefined && series.length) this.choose(series[0]);
  }

  choose(name) {
    this.series = name;
    this.names.forEach((other, place) => {
      const choice = this.list.children[place].firstElementChild;
      if (other === name) choice.setAttribute("aria-current", "true");
      else choice.removeAttribute("aria-current");
    });
    this.chosen(name);
  }

  /** Go to the series of exactly the name that is written, among all; or to the first that was found. */
  async enter(event) {
    if (event.key === "ArrowDown" && this.names.length) {
      event.preventDefault();
      this.focus(0);
      return;
    }
    if (event.key !== "Enter") return;
    event.preventDefault();
    clearTimeout(this.timer);
    const name = this.input.value.trim();
    if (name && await this.load(0, name)) {
      this.input.value = this.search = "";
      setText(this.found, `${count(this.total)} series`);
      this.choose(name);
      const item = this.list.children[this.names.indexOf(name)];
      // Only the list is scrolled, not the page.
      if (item) this.list.scrollTop = item.offsetTop - this.list.offsetTop - this.list.clientHeight / 2;
      return;
    }
    this.search = name;
    if (await this.load(0) && this.names.length) this.choose(this.names[0]);
  }

  /** Move the focus within the list, and turn pages at its ends. */
  async move(event) {
    const place = [...this.list.children].indexOf(event.target.closest("li"));
    const steps = { ArrowDown: place + 1, ArrowUp: place - 1, Home: 0, End: this.names.length - 1 };
    const pages = { PageDown: this.next, PageUp: this.back };
    if (!(event.key in steps) && !(event.key in pages)) return;
    event.preventDefault();
    if (event.key in pages) {
      if (!pages[event.key].disabled) await this.turn(event.key === "PageDown" ? PAGE : -PAGE);
    } else if (steps[event.key] < 0) this.input.focus();
    else this.focus(Math.min(steps[event.key], this.names.length - 1));
  }

  focus(place) {
    this.list.children[place]?.firstElementChild.focus();
  }
}

/** Return how a series is called: one without a name, too. */
export const labelOf = (name) => (name === null || name === "" ? "The series" : String(name));
