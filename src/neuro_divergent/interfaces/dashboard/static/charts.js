// Charts with Plotly, in the colours of the page.

import { make } from "./elements.js";

const dark = matchMedia("(prefers-color-scheme: dark)");
const drawn = new Set();
const LETTER = 7; // pixels, on average
let loading = null;

const BUTTONS = [["zoomIn2d", "zoomOut2d", "resetScale2d"], ["toImage"]];
const CONFIG = { responsive: true, displaylogo: false, modeBarButtons: BUTTONS, showTips: false, doubleClick: "autosize" };

/**
 * Load Plotly, the first time something is drawn.
 *
 * The content security policy allows only our own style sheet. Plotly adds its rules to that (see
 * index.html), and where it writes style attributes into an SVG, they are set as properties.
 */
export function plotly() {
  loading ??= new Promise((resolve, reject) => {
    SVGElement.prototype.setAttribute = function setAttribute(name, value) {
      if (name === "style") this.style.cssText = value;
      else Element.prototype.setAttribute.call(this, name, value);
    };
    // It brings a style sheet for maps, which the content security policy blocks; there are no maps here.
    const create = document.createElement;
    document.createElement = (name, ...rest) => create.call(document, name === "style" ? "template" : name, ...rest);
    const done = (action) => () => {
      document.createElement = create;
      action();
    };
    const script = create.call(document, "script");
    script.src = "/static/plotly.min.js";
    script.addEventListener("load", done(() => resolve(window.Plotly)));
    script.addEventListener("error", done(() => {
      loading = null;
      reject(new Error("The charts cannot be loaded from the server. Is 'nd dashboard' still running?"));
    }));
    document.head.append(script);
  });
  return loading;
}

/** Escape text, as Plotly interprets markup in it. */
export function escaped(text) {
  return String(text).replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}

/** Return a colour of the page by its name in the style sheet. */
export const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();

/** Return the nth colour of the palette. */
export const nthColour = (place) => colour(`line-${(place % 8) + 1}`);

function theme() {
  const [ink, quiet, line] = [colour("ink"), colour("quiet"), colour("line")];
  const axis = { gridcolor: line, linecolor: line, zerolinecolor: line, tickcolor: line, tickfont: { color: quiet }, automargin: true };
  return {
    paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)",
    font: { color: quiet, size: 12, family: "system-ui, sans-serif" },
    modebar: { color: quiet, activecolor: ink, bgcolor: "rgba(0,0,0,0)" },
    hoverlabel: { bgcolor: colour("page"), bordercolor: line, font: { color: ink } },
    legend: { font: { color: quiet }, orientation: "h", x: 0, y: 1, yanchor: "bottom" },
    margin: { l: 48, r: 12, t: 28, b: 40 }, hovermode: "x unified", dragmode: "zoom",
    xaxis: axis, yaxis: axis,
  };
}

/** Merge the layout of a figure into that of the page, key by key. */
function merged(below, above) {
  const result = { ...below };
  for (const [key, value] of Object.entries(above ?? {})) {
    const isPlain = value && typeof value === "object" && !Array.isArray(value);
    result[key] = isPlain && below[key] && typeof below[key] === "object" ? merged(below[key], value) : value;
  }
  return result;
}

/**
 * A chart with its title and note.
 *
 * `content(place)` is called whenever it is drawn, also when the colours of the page change, and returns
 * `{data, layout}`.
 */
export class Chart {
  constructor(title, { note = "", altText = "", tools = [], height = "" } = {}) {
    this.place = make("div", { class: `plot ${height}`, role: "group", "aria-label": `Chart: ${title}` });
    this.note = make("p", { class: "quiet note", text: note });
    this.altText = make("p", { class: "unseen", text: altText });
    const caption = make("figcaption", {}, make("h3", { text: title }), ...tools);
    this.element = make("figure", { class: "chart" }, caption, this.place, this.altText, this.note);
    this.title = title;
    this.content = null;
    this.isDrawn = false;
  }

  /** Draw, or draw again. */
  async draw(content = this.content) {
    this.content = content;
    const Plotly = await plotly();
    if (!this.place.isConnected) return;
    const { data, layout } = this.content(this.place);
    if (layout.height) this.place.style.height = `${layout.height}px`; // it has rows, which need room each
    const name = this.title.toLowerCase().replaceAll(/[^a-z0-9]+/g, "-");
    const config = { ...CONFIG, toImageButtonOptions: { format: "png", filename: name, scale: 2 } };
    await Plotly.react(this.place, data, merged(theme(), layout), config);
    this.isDrawn = true;
    drawn.add(this);
  }

  /** Set the note and the alternative text. */
  say(note, altText) {
    this.note.textContent = note ?? "";
    this.altText.textContent = altText ?? "";
  }
}

/** Release charts that are no longer on the page. */
export function sweep() {
  for (const chart of drawn) {
    if (!chart.place.isConnected) {
      window.Plotly?.purge(chart.place);
      drawn.delete(chart);
    }
  }
}

/** Draw a figure from the server: `{data, layout, note, alt_text}`. */
export function serverChart(title, figure, options = {}) {
  const chart = new Chart(title, { note: figure.note, altText: figure.alt_text, ...options });
  chart.content = (place) => serverContent(figure, place);
  return chart;
}

/** Draw a chart again with a newer figure of the server. */
export function redraw(chart, figure) {
  chart.say(figure.note, figure.alt_text);
  return chart.draw((place) => serverContent(figure, place));
}

/** Return what Plotly needs for a figure of the server; the title stands above it already. */
function serverContent(figure, place) {
  const { data = [], layout = {} } = structuredClone({ data: figure.data, layout: figure.layout });
  delete layout.title;
  // Labels of rules may lie over bars of any colour.
  layout.annotations = (layout.annotations ?? []).map((label) => ({ bgcolor: colour("page"), borderpad: 1, ...label }));
  const height = layout.height ?? place.clientHeight;
  wrap(layout.xaxis?.title, place.clientWidth - 90);
  wrap(layout.yaxis?.title, height - 90);
  for (const trace of data) wrap(trace.colorbar?.title, height - 90);
  return { data, layout };
}

/** Break the text of a label into lines that fit; Plotly would cut it off. */
function wrap(label, room) {
  const most = Math.max(12, room / LETTER);
  const lines = [];
  for (const word of (label?.text ?? "").split(" ")) {
    const last = lines.at(-1);
    if (last !== undefined && last.length + word.length < most) lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(word);
  }
  if (lines.length > 1) label.text = lines.join("<br>");
}

dark.addEventListener("change", () => {
  sweep();
  for (const chart of drawn) chart.draw();
});
