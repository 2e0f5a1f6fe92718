// Figures that the server draws of a run, by group.

import { failure, make } from "./elements.js";
import { serverChart } from "./charts.js";
import { get } from "./server.js";

/**
 * Fill a place with the figures of a group.
 *
 * @returns How many there are.
 */
export async function showFigures(place, run, group, { wide = false } = {}) {
  try {
    const { figures } = await get(`${run.path}/figures`, {}, run.signal);
    const found = figures.filter((figure) => figure.group === group);
    const contents = await Promise.all(
      found.map(({ name }) => get(`${run.path}/figures/${encodeURIComponent(name)}`, {}, run.signal).catch((error) => error)));
    const charts = contents.map((content, place) =>
      content instanceof Error ? null : serverChart(found[place].title, content));
    const shown = charts.map((chart, place) => chart?.element ?? failed(found[place].title, contents[place]));
    place.replaceChildren(make("div", { class: wide ? "charts one" : "charts" }, shown));
    for (const chart of charts) await chart?.draw();
    return found.length;
  } catch (error) {
    if (run.signal.aborted) return 0;
    place.replaceChildren(failure(error, () => showFigures(place, run, group, { wide })));
    return 1;
  }
}

function failed(title, error) {
  return make("figure", { class: "chart" }, make("figcaption", {}, make("h3", { text: title })), failure(error));
}
