// The stages of a pipeline as a graph: boxes with their state in colour, shape and words, and lines between them.

import { box } from "./elements.js";
import { arrange, spread } from "./graph_layout.js";
import { duration } from "./format.js";

const WIDTH = 168;
const HEIGHT = 52;
const BETWEEN = 40; // layers
const GAP = 18; // boxes of a layer
const POINT = 6; // room of a line that passes a layer
const MARGIN = 8;
const MOST_LETTERS = 20;
const SMALLEST = 0.8; // scale to which it shrinks where there is less room; then it scrolls
const MARKS = { waiting: "○", running: "▶", cached: "↺", done: "✓", failed: "✕", skipped: "–", interrupted: "‖", source: "▤" };

const narrow = matchMedia("(max-width: 44rem)");

/** Return an element of a drawing. */
function draw(tag, attributes = {}, ...children) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== null && value !== undefined) element.setAttribute(name, String(value));
  }
  element.append(...children.filter((child) => child !== null));
  return element;
}

export class PipelineGraph {
  /** @param choose Called with the name of a stage when it is selected. */
  constructor(choose, signal) {
    Object.assign(this, { choose, shape: "", boxes: new Map() });
    this.svg = draw("svg", { role: "group", "aria-label": "Stages" });
    this.element = box("Graph of the stages", this.svg);
    this.element.classList.add("graph");
    narrow.addEventListener("change", () => this.show(this.pipeline), { signal });
  }

  show(pipeline) {
    this.pipeline = pipeline;
    const stages = pipeline.stages.map(({ name }) => name);
    const links = [...new Map(pipeline.edges.filter(({ stage }) => stages.includes(stage)).map(({ producer, stage }) => [JSON.stringify([producer, stage]), [producer, stage]])).values()];
    const sources = [...new Set(links.map(([producer]) => producer).filter((producer) => !stages.includes(producer)))];
    const shape = JSON.stringify([sources, stages, links, narrow.matches]);
    if (shape !== this.shape) this.build(sources, stages, links);
    this.shape = shape;
    this.tick();
  }

  /** Draw everything again; needed only if there are other stages or connections. */
  build(sources, stages, links) {
    const isDown = narrow.matches;
    const { layers, paths } = arrange([...sources, ...stages], links);
    const across = isDown ? WIDTH : HEIGHT;
    const along = isDown ? HEIGHT : WIDTH;
    const step = along + (isDown ? BETWEEN * 0.6 : BETWEEN);
    const room = spread(layers, (item) => (item.isPoint ? POINT : across), GAP);
    layers.forEach((layer, depth) => layer.forEach((item) => { item.begin = depth * step; }));
    const place = (begin, at) => (isDown ? [MARGIN + at, MARGIN + begin] : [MARGIN + begin, MARGIN + at]);
    const [width, height] = (isDown ? [room, layers.length * step - step + along] : [layers.length * step - step + along, room]).map((length) => Math.ceil(length + 2 * MARGIN));
    for (const [name, value] of Object.entries({ width, height, viewBox: `0 0 ${width} ${height}` })) this.svg.setAttribute(name, String(value));
    this.svg.style.minWidth = `${Math.round(SMALLEST * width)}px`;
    const lines = paths.map((path) => this.line(path, along, place, isDown));
    this.boxes = new Map();
    const boxes = layers.flat().filter(({ isPoint }) => !isPoint).map((item) => {
      const [x, y] = place(item.begin, item.at - across / 2);
      return sources.includes(item.name) ? this.source(item.name, x, y) : this.stage(item.name, x, y);
    });
    this.svg.replaceChildren(...lines.flat(), ...boxes);
  }

  line(path, along, place, isDown) {
    const points = path.flatMap((item, at) => {
      const end = [item.begin + along, item.at];
      if (item.isPoint) return [[item.begin, item.at], end];
      return at ? [[item.begin - 7, item.at]] : [end];
    }).map(([begin, at]) => place(begin, at));
    const parts = points.slice(1).map(([x, y], at) => {
      const [fromX, fromY] = points[at];
      const [bendX, bendY] = [(x + fromX) / 2, (y + fromY) / 2];
      return isDown ? `C${fromX} ${bendY} ${x} ${bendY} ${x} ${y}` : `C${bendX} ${fromY} ${bendX} ${y} ${x} ${y}`;
    });
    const [x, y] = points.at(-1);
    const tip = isDown ? `M${x - 4} ${y}l4 7l4 -7z` : `M${x} ${y - 4}l7 4l-7 4z`;
    const ends = { "data-from": path[0].name, "data-to": path.at(-1).name };
    return [draw("path", { class: "link", d: `M${points[0].join(" ")}${parts.join("")}`, ...ends }), draw("path", { class: "tip", d: tip })];
  }

  source(name, x, y) {
    const text = this.pipeline.sources[name];
    return draw("g", { class: "source" }, titled(text ? `${name}: ${text}` : name),
      draw("rect", { x, y, width: WIDTH, height: HEIGHT, rx: HEIGHT / 2 }), label(name, x + 14, y), below(`${MARKS.source} source`, x + 14, y));
  }

  stage(name, x, y) {
    const state = below("", x, y);
    const title = titled(name);
    const element = draw("a", { href: `#/pipeline/${encodeURIComponent(this.pipeline.id)}/${encodeURIComponent(name)}`, class: "stage" }, title,
      draw("rect", { x, y, width: WIDTH, height: HEIGHT, rx: 6 }), label(name, x, y), state);
    element.addEventListener("click", (event) => {
      event.preventDefault();
      this.choose(name);
    });
    this.boxes.set(name, { element, state, title });
    return element;
  }

  /** Show the states and times as they are now. */
  tick() {
    for (const stage of this.pipeline.stages) {
      const known = this.boxes.get(stage.name);
      if (!known) continue;
      const text = stateText(stage);
      known.element.setAttribute("class", `stage ${stage.state}${stage.name === this.chosen ? " chosen" : ""}`);
      if (known.state.textContent !== text) known.state.textContent = text;
      known.title.textContent = [stage.name, stage.state, stage.message].filter(Boolean).join(": ");
    }
  }

  /** Mark the stage that is shown below. */
  mark(name) {
    this.chosen = name;
    this.tick();
  }
}

/** Return the state of a stage in words, with how long it took or takes. */
export function stateText(stage) {
  return [`${MARKS[stage.state] ?? "○"} ${stage.state}`, timeText(stage)].filter(Boolean).join(", ");
}

/** Return how long a stage took, or takes until now. */
export function timeText({ state, seconds, begun }) {
  if (state === "running") return typeof begun === "number" ? duration(Math.max(0, Date.now() / 1000 - begun)) : "";
  if (typeof seconds !== "number") return "";
  return seconds < 0.05 ? "under 0.1 s" : duration(seconds);
}

const titled = (text) => draw("title", {}, text);
const shortened = (name) => (name.length > MOST_LETTERS ? `${name.slice(0, MOST_LETTERS - 1)}…` : name);
const label = (name, x, y) => draw("text", { x: x + 12, y: y + 22 }, shortened(name));
const below = (text, x, y) => draw("text", { x: x + 12, y: y + 40, class: "small" }, text);
