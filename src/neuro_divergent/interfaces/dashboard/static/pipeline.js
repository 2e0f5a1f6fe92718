// The page of a pipeline: its stages as a graph and as a table, and one of them in detail, updated live.

import { badge, button, failure, make, setText } from "./elements.js";
import { keepCurrent, replace } from "./changes.js";
import { PipelineGraph } from "./pipeline_graph.js";
import { Stages } from "./pipeline_stages.js";
import { stageDetails } from "./pipeline_stage.js";
import { download } from "./server.js";
import { count, moment, percent, progress } from "./format.js";

const SECOND = 1000;

/** Show a pipeline; `stage` is the one whose details are shown. */
export function showPipeline(place, page, signal, id, stage) {
  new PipelinePage(place, page, signal, id, stage).start();
}

class PipelinePage {
  constructor(place, page, signal, id, stage) {
    Object.assign(this, { place, page, signal, id, details: null, chosen: stage || null });
    this.path = `/api/pipelines/${encodeURIComponent(id)}`;
  }

  start() {
    this.page.title("Pipeline");
    keepCurrent({
      path: this.path, page: this.page, signal: this.signal,
      show: (details) => this.update(details),
      failed: (error) => this.fail(error),
    });
  }

  fail(error) {
    if (this.details) {
      this.page.announce(error.message);
      return;
    }
    this.page.title("Not found");
    this.place.replaceChildren(make("h1", { text: "This pipeline cannot be shown" }), failure(error, () => this.start()));
  }

  build() {
    this.name = make("h1");
    this.state = make("span", { id: "pipeline-state" });
    this.line = make("p", { class: "quiet", id: "pipeline-line" });
    this.bar = make("progress", { max: "1", id: "pipeline-progress", "aria-label": "Stages" });
    this.step = make("span", { id: "pipeline-step" });
    this.message = make("p", { class: "notice", id: "pipeline-message", role: "status" });
    this.report = button("Download the report", () => this.download(), { id: "report" });
    this.graph = new PipelineGraph((name) => this.choose(name), this.signal);
    this.stages = new Stages((name) => this.choose(name));
    this.stage = make("section", { id: "stage", "aria-label": "One stage", tabindex: "-1" });
    this.place.replaceChildren(
      make("div", { class: "heading" }, this.name, make("span", { class: "kind", text: "pipeline" }), this.state),
      this.line,
      make("div", { class: "now" }, this.bar, this.step, this.report),
      this.message, this.graph.element, this.stage,
      make("h2", { text: "All stages" }), this.stages.element);
    const clock = setInterval(() => this.tick(), SECOND);
    this.signal.addEventListener("abort", () => clearInterval(clock));
  }

  update(details) {
    const before = this.details;
    this.details = details;
    if (!before) this.build();
    const { name, state, data, step, total_steps: total, begun, holder, has_report: hasReport } = details;
    const fraction = progress(details);
    setText(this.name, name);
    this.state.replaceChildren(badge(state));
    setText(this.line, [details.model, data, begun ? `begun ${moment(begun)}` : "", who(holder), details.path].filter(Boolean).join(" · "));
    this.bar.hidden = fraction === null || state !== "running";
    if (fraction !== null) this.bar.value = fraction;
    const counts = Object.entries(details.counts).map(([kind, found]) => `${count(found)} ${kind}`).join(", ");
    setText(this.step, `${count(step)} of ${count(total)} stages${counts ? ` (${counts})` : ""}`);
    this.report.hidden = !hasReport;
    setText(this.message, messageText(details));
    this.message.hidden = !this.message.textContent;
    this.page.title(`${name}: ${state}${state === "running" && fraction !== null ? ` ${percent(fraction)}` : ""}`);
    if (before && before.state !== state) this.page.announce(`The pipeline is ${state} now.`);
    this.graph.show(details);
    this.stages.show(details);
    this.fill();
  }

  /** Show the details of a stage: the one that was chosen, or the first one that somebody should look at. */
  fill() {
    const { stages } = this.details;
    const shown = stages.find((stage) => stage.name === this.chosen) ??
      ["failed", "running", "interrupted"].map((state) => stages.find((stage) => stage.state === state)).find(Boolean) ?? stages.at(-1);
    this.graph.mark(shown?.name);
    replace(this.stage, ...(shown ? stageDetails(shown) : []));
  }

  choose(name) {
    this.chosen = name;
    history.replaceState(null, "", `#/pipeline/${encodeURIComponent(this.id)}/${encodeURIComponent(name)}`);
    this.fill();
    this.stage.scrollIntoView({ block: "nearest" });
    this.page.announce(`Stage ${name} is shown below the graph.`);
  }

  tick() {
    if (!this.details.stages.some(({ state }) => state === "running")) return;
    this.graph.tick();
    this.stages.tick();
  }

  async download() {
    try {
      const address = URL.createObjectURL(await download(`${this.path}/report`));
      make("a", { href: address, download: "report.html" }).click();
      setTimeout(() => URL.revokeObjectURL(address), 10 * SECOND);
    } catch (error) {
      this.page.announce(error.message);
    }
  }
}

const who = (holder) => (holder?.pid ? `process ${holder.pid} on ${holder.host}` : "");

function messageText({ state, message, damaged }) {
  const files = damaged.length ? `Files that cannot be read: ${damaged.join(", ")}.` : "";
  const killed = state === "killed" ? "Its process ended without a word; the next start goes on where it was." : "";
  return [state === "running" || state === "finished" ? "" : message, killed, files].filter(Boolean).join(" ");
}
