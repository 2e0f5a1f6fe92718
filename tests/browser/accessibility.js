// Evaluated in a page by accessibility.py.

function isShown(element) {
  if (!element.checkVisibility({ opacityProperty: true, visibilityProperty: true, contentVisibilityAuto: true })) return false;
  return element.getClientRects().length > 0;
}

/** Whether it is there for screen readers only. */
function isClipped(element) {
  for (let at = element; at; at = at.parentElement) {
    const style = getComputedStyle(at);
    if (style.clipPath === "inset(50%)") return true;
    if (at.getAttribute("aria-hidden") === "true") return true;
  }
  return false;
}

function describe(element) {
  const id = element.id ? `#${element.id}` : "";
  const text = (element.textContent ?? "").trim().replace(/\s+/g, " ").slice(0, 40);
  return `<${element.tagName.toLowerCase()}${id} class="${element.getAttribute("class") ?? ""}"> "${text}"`;
}

function nameOf(element) {
  const labelled = element.getAttribute("aria-labelledby");
  if (labelled) {
    return labelled.split(/\s+/).map((id) => document.getElementById(id)?.textContent ?? "").join(" ").trim();
  }
  const own = element.getAttribute("aria-label")?.trim();
  if (own) return own;
  if (element.labels?.length) return [...element.labels].map((label) => label.textContent).join(" ").trim();
  if (element.tagName === "IMG") return element.getAttribute("alt") ?? "";
  if (element.tagName === "svg") return element.querySelector("title")?.textContent ?? "";
  if (["INPUT", "SELECT", "TEXTAREA", "PROGRESS", "METER"].includes(element.tagName)) return element.title ?? "";
  return (element.textContent.trim() || element.getAttribute("title") || element.querySelector("[aria-label]")?.getAttribute("aria-label") || "").trim();
}

function parseColour(text) {
  const canvas = parseColour.canvas ??= Object.assign(document.createElement("canvas"), { width: 1, height: 1 });
  const context = parseColour.context ??= canvas.getContext("2d", { willReadFrequently: true });
  const known = /^rgba?\(([\d.]+),\s*([\d.]+),\s*([\d.]+)(?:,\s*([\d.]+))?\)$/.exec(text);
  if (known) return [Number(known[1]), Number(known[2]), Number(known[3]), known[4] === undefined ? 1 : Number(known[4])];
  context.clearRect(0, 0, 1, 1);
  context.fillStyle = text;
  context.fillRect(0, 0, 1, 1);
  const [red, green, blue, alpha] = context.getImageData(0, 0, 1, 1).data;
  return [red, green, blue, alpha / 255];
}

const over = (front, back) => front.slice(0, 3).map((value, place) => value * front[3] + back[place] * (1 - front[3]));

function luminance(colour) {
  const [red, green, blue] = colour.map((value) => {
    const share = value / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

function ratio(first, second) {
  const [low, high] = [luminance(first), luminance(second)].sort((a, b) => a - b);
  return (high + 0.05) / (low + 0.05);
}

/** The colour behind an element: all that is painted behind it, from the page upwards. */
function behind(element) {
  const layers = [];
  for (let at = element; at; at = at.parentElement) {
    if (at instanceof SVGElement && at.tagName !== "svg") continue;
    layers.push(parseColour(getComputedStyle(at).backgroundColor));
  }
  const isDark = matchMedia("(prefers-color-scheme: dark)").matches && getComputedStyle(document.documentElement).colorScheme.includes("dark");
  return layers.reverse().reduce((back, layer) => over(layer, back), isDark ? [18, 18, 18] : [255, 255, 255]);
}

/** The colour behind text in a drawing: the last filled shape before it that covers its middle. */
function behindInDrawing(text) {
  const root = text.closest("svg");
  const area = text.getBoundingClientRect();
  const middle = new DOMPoint(area.x + area.width / 2, area.y + area.height / 2);
  let colour = behind(root.parentElement ?? root);
  for (const drawing of root.parentElement?.querySelectorAll("svg") ?? [root]) {
    for (const shape of drawing.querySelectorAll("rect, path, circle, polygon")) {
      if (!(text.compareDocumentPosition(shape) & Node.DOCUMENT_POSITION_PRECEDING) || !isShown(shape)) continue;
      const style = getComputedStyle(shape);
      if (style.fill === "none" || shape.closest("clipPath, defs")) continue;
      const matrix = shape.getScreenCTM()?.inverse();
      if (!matrix || !shape.isPointInFill(middle.matrixTransform(matrix))) continue;
      const fill = parseColour(style.fill);
      fill[3] *= Number(style.fillOpacity) * opacityOf(shape);
      colour = over(fill, colour);
    }
  }
  // An outline that is painted first is a rim around the letters: what lies behind it does not touch them.
  const own = getComputedStyle(text);
  if (own.paintOrder.startsWith("stroke") && own.stroke !== "none" && parseFloat(own.strokeWidth) >= 3) {
    colour = over(parseColour(own.stroke), colour);
  }
  return colour;
}

function opacityOf(element) {
  let product = 1;
  for (let at = element; at; at = at.parentElement) product *= Number(getComputedStyle(at).opacity);
  return product;
}

function contrastProblems() {
  const problems = [];
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const seen = new Set();
  while (texts.nextNode()) {
    const element = texts.currentNode.parentElement;
    if (!texts.currentNode.data.trim() || seen.has(element) || element.closest("option, script, style, noscript, title, desc")) continue;
    seen.add(element);
    if (!isShown(element) || isClipped(element)) continue;
    const style = getComputedStyle(element);
    const isDrawn = element instanceof SVGElement;
    const front = parseColour(isDrawn ? style.fill : style.color);
    front[3] *= opacityOf(element) * (isDrawn ? Number(style.fillOpacity) : 1);
    const back = isDrawn ? behindInDrawing(element.closest("text") ?? element) : behind(element);
    const size = parseFloat(style.fontSize);
    const isLarge = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700);
    const found = ratio(over(front, back), back);
    if (found < (isLarge ? 3 : 4.5) - 0.005) {
      problems.push(`contrast ${found.toFixed(2)} of ${describe(element)} (${isDrawn ? style.fill : style.color} on rgb(${back.map(Math.round).join(", ")}))`);
    }
  }
  return problems;
}

function findProblems() {
  const problems = [];
  const shown = (selector) => [...document.querySelectorAll(selector)].filter(isShown);
  if (!document.documentElement.lang) problems.push("the page does not say its language");
  if (!document.title.trim()) problems.push("the page has no title");
  if (!document.querySelector("main")) problems.push("there is no main part");
  for (const element of shown("a[href], button, input, select, textarea, progress, summary, [role=button], [role=tab], [role=switch]")) {
    if (element.closest("[aria-hidden=true]")) continue;
    if (!nameOf(element)) problems.push(`no name: ${element.outerHTML.slice(0, 200)}`);
  }
  for (const element of shown("img, svg[role=img], [role=img], [role=region], [role=group], [role=log], nav, dialog")) {
    if (!nameOf(element) && element.getAttribute("alt") !== "" ) problems.push(`no label: ${element.outerHTML.slice(0, 200)}`);
  }
  const ids = [...document.querySelectorAll("[id]")].map((element) => element.id);
  for (const id of new Set(ids.filter((id, place) => ids.indexOf(id) !== place))) problems.push(`id twice: ${id}`);
  for (const attribute of ["aria-labelledby", "aria-describedby", "aria-controls", "for"]) {
    for (const element of shown(`[${attribute}]`)) {
      for (const id of element.getAttribute(attribute).split(/\s+/)) {
        if (!document.getElementById(id)) problems.push(`${attribute} of ${describe(element)} names ${id}, which is not there`);
      }
    }
  }
  let before = 0;
  const headings = shown("h1, h2, h3, h4, h5, h6");
  for (const heading of headings) {
    const level = Number(heading.tagName[1]);
    if (level > before + 1) problems.push(`heading level ${level} after ${before}: ${describe(heading)}`);
    before = level;
  }
  if (headings.filter((heading) => heading.tagName === "H1").length !== 1) problems.push("there is not exactly one h1");
  for (const table of shown("table")) {
    const headers = [...table.querySelectorAll("th")];
    if (!headers.length) problems.push(`table without headers: ${describe(table)}`);
    for (const header of headers) {
      if (!header.scope) problems.push(`header without scope: ${describe(header)}`);
      if (!header.textContent.trim()) problems.push(`empty header: ${describe(header)} in ${describe(table)}`);
    }
    if (!table.caption && !nameOf(table)) problems.push(`table without caption: ${describe(table)}`);
  }
  for (const list of shown("[role=tablist]")) {
    const tabs = [...list.querySelectorAll("[role=tab]")];
    if (tabs.filter((tab) => tab.getAttribute("aria-selected") === "true").length !== 1) problems.push("not exactly one tab is selected");
    if (tabs.filter((tab) => tab.tabIndex === 0).length !== 1) problems.push("not exactly one tab is reached by the tabulator");
  }
  for (const element of shown("[tabindex]")) {
    if (element.tabIndex > 0) problems.push(`tabindex above 0: ${describe(element)}`);
  }
  return [...problems, ...contrastProblems()];
}

/** What has the focus now, with what is wrong about how that is shown; null when it left the page. */
function inFocus() {
  const element = document.activeElement;
  if (!element || element === document.body || element === document.documentElement || window.reached.has(element)) return null;
  window.reached.add(element);
  const style = getComputedStyle(element);
  const hasOutline = style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 1;
  const problems = [];
  if (!hasOutline && style.boxShadow === "none") problems.push(`the focus is not seen on ${describe(element)}`);
  const area = element.getBoundingClientRect();
  if (area.bottom < 0 || area.top > innerHeight || area.right < 0 || area.left > innerWidth) problems.push(`the focus is outside on ${describe(element)}`);
  return { problems };
}

function notReached() {
  const wanted = [...document.querySelectorAll("a[href], button, input, select, textarea, summary, [tabindex]")].filter((element) =>
    isShown(element) && element.tabIndex >= 0 && !element.disabled && !element.closest("[inert]"));
  return wanted.filter((element) => !window.reached.has(element)).map((element) => `not reached by keyboard: ${describe(element)}`);
}
