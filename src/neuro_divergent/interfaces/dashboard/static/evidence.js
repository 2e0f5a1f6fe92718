// What a decision rests on: checks of a gate as sentences, and any other values as lists of facts.

import { facts, make } from "./elements.js";
import { number, plain, title } from "./format.js";

const MARKS = { true: ["✓", "passed"], false: ["✕", "not passed"], null: ["?", "cannot be judged"] };
const DEEPEST = 4;

const isObject = (value) => value !== null && typeof value === "object" && !Array.isArray(value);

/** Return whether a gate was passed as coloured text. */
export function verdict(passed) {
  const [mark, words] = MARKS[String(passed ?? null)] ?? MARKS.null;
  return make("span", { class: `verdict ${verdictClass(passed)}` }, make("span", { "aria-hidden": "true", text: `${mark} ` }), words);
}

const verdictClass = (passed) => (passed === true ? "good" : passed === false ? "bad" : "open");

/** Return the checks of a gate as a list of sentences. */
export function checks(gate) {
  const found = Array.isArray(gate?.checks) ? gate.checks.filter(isObject) : [];
  return make("ul", { class: "checks" }, found.map((check) => make("li", {},
    verdict(check.passed), " ", make("strong", { text: title(check.name ?? "") }), `: ${plain(check.sentence ?? "")}`)));
}

/** Return plain values, however deep, as lists of facts. */
export function evidence(values, depth = 0) {
  if (!isObject(values)) return make("p", { text: text(values) });
  return facts(Object.entries(values).map(([name, value]) => [title(name), part(name, value, depth)]));
}

function part(name, value, depth) {
  if (name === "gate" && isObject(value)) return make("div", {}, make("p", { text: plain(value.sentence ?? "") }), checks(value));
  if (isObject(value) && depth < DEEPEST && Object.keys(value).length) return evidence(value, depth + 1);
  if (Array.isArray(value) && value.some(isObject) && depth < DEEPEST) {
    return make("ul", { class: "checks" }, value.map((item) => make("li", {}, isObject(item) && item.sentence ? plain(item.sentence) : evidence(item, depth + 1))));
  }
  return text(value);
}

const text = (value) => (typeof value === "number" ? number(value) : plain(value));

/** Return a button-like line that unfolds what a decision rests on; null if that is nothing. */
export function unfolded(label, values) {
  if (!isObject(values) || !Object.keys(values).length) return null;
  return make("details", {}, make("summary", { text: label }), evidence(values));
}
