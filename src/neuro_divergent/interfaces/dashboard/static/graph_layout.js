// Layout of a directed graph in layers: each box after all that it needs, with few crossings.

const SWEEPS = 12;

/**
 * Return the layers of a graph. A connection that passes layers gets a point in each of them, so that no line runs
 * through a box.
 *
 * @param names All boxes; their order decides where nothing else does.
 * @param links `[from, to]` for each connection.
 * @returns `{layers, paths}`: lists of `{name, isPoint}` in order, and for each connection the items it goes through.
 */
export function arrange(names, links) {
  const depth = depths(names, links);
  const layers = Array.from({ length: 1 + Math.max(0, ...depth.values()) }, () => []);
  const items = new Map(names.map((name) => [name, { name, isPoint: false, before: [], after: [] }]));
  for (const name of names) layers[depth.get(name)].push(items.get(name));
  const paths = links.filter(([from, to]) => depth.get(from) < depth.get(to)).map(([from, to]) => {
    const path = [items.get(from)];
    for (let layer = depth.get(from) + 1; layer < depth.get(to); layer += 1) {
      const point = { name: null, isPoint: true, before: [], after: [] };
      layers[layer].push(point);
      path.push(point);
    }
    path.push(items.get(to));
    path.slice(1).forEach((item, at) => {
      item.before.push(path[at]);
      path[at].after.push(item);
    });
    return path;
  });
  order(layers);
  return { layers, paths };
}

/** Return the layer of each box: the longest way to it. What needs itself in a circle, which files could say, ends. */
function depths(names, links) {
  const depth = new Map(names.map((name) => [name, 0]));
  for (let round = 0; round < names.length; round += 1) {
    let isChanged = false;
    for (const [from, to] of links) {
      const next = depth.get(from) + 1;
      if (next > depth.get(to) && next < names.length) {
        depth.set(to, next);
        isChanged = true;
      }
    }
    if (!isChanged) break;
  }
  return depth;
}

/** Order the layers so that connected items stand near each other. */
function order(layers) {
  const number = () => layers.forEach((layer) => layer.forEach((item, place) => { item.place = place; }));
  number();
  for (let sweep = 0; sweep < SWEEPS; sweep += 1) {
    const side = sweep % 2 ? "after" : "before";
    for (const layer of sweep % 2 ? [...layers].reverse() : layers) {
      const wish = new Map(layer.map((item) => [item, item[side].length ? mean(item[side].map(({ place }) => place)) : item.place]));
      layer.sort((one, other) => wish.get(one) - wish.get(other));
      layer.forEach((item, place) => { item.place = place; });
    }
  }
}

/**
 * Set `at` of each item: the middle of it across the direction of the layers, near those it is connected with.
 *
 * @param size Returns how much room an item needs.
 * @param gap Room between two items.
 * @returns How much room all of them need.
 */
export function spread(layers, size, gap) {
  const stack = (layer) => layer.reduce((at, item) => {
    item.at = at + size(item) / 2;
    return at + size(item) + gap;
  }, 0);
  layers.forEach(stack);
  for (let sweep = 0; sweep < SWEEPS; sweep += 1) {
    const side = sweep % 2 ? "after" : "before";
    for (const layer of sweep % 2 ? [...layers].reverse() : layers) {
      const wish = layer.map((item) => (item[side].length ? mean(item[side].map(({ at }) => at)) : item.at));
      layer.forEach((item, place) => {
        const before = layer[place - 1];
        item.at = before ? Math.max(wish[place], before.at + (size(before) + size(item)) / 2 + gap) : wish[place];
      });
      const error = mean(layer.map((item, place) => item.at - wish[place]));
      for (const item of layer) item.at -= error;
    }
  }
  const all = layers.flat();
  const least = Math.min(...all.map((item) => item.at - size(item) / 2));
  for (const item of all) item.at -= least;
  return Math.max(...all.map((item) => item.at + size(item) / 2));
}

const mean = (values) => values.reduce((sum, value) => sum + value, 0) / values.length;
