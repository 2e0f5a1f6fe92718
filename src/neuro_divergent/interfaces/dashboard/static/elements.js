// Creation of elements. Text is always inserted as text, never as markup.

const DIRECT = new Set(["text", "on", "class"]);

/** Return a new element; `properties` are attributes, besides `text`, `class` and `on` (listeners). */
export function make(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  if (properties.class) element.className = properties.class;
  if (properties.text !== undefined) element.textContent = properties.text;
  for (const [name, listener] of Object.entries(properties.on ?? {})) element.addEventListener(name, listener);
  for (const [name, value] of Object.entries(properties)) {
    if (DIRECT.has(name) || value === null || value === undefined || value === false) continue;
    element.setAttribute(name, value === true ? "" : String(value));
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return element;
}

/** Return the element with an id. */
export const byId = (id) => document.getElementById(id);

/** Set text only where it differs, so that screen readers and selections are not disturbed. */
export function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

/** Return a button. */
export function button(text, action, properties = {}) {
  return make("button", { type: "button", text, ...properties, on: { click: action } });
}

/** Return the state of a run as coloured text. */
export const badge = (state) => make("span", { class: `state ${state}`, text: state });

/**
 * Return a table in a box that scrolls by itself.
 *
 * @param caption What it shows, for screen readers.
 * @param columns `{title, numeric}` for each column.
 * @param rows Lists of text or elements; the first of each row is its header. `row.class` becomes that of the row.
 */
export function table(caption, columns, rows, properties = {}) {
  const head = columns.map((column) =>
    make("th", { scope: "col", text: column.title, class: column.numeric ? "number" : null }));
  const body = rows.map((row) => {
    const cells = row.map((value, place) => {
      const kind = columns[place].numeric ? "number" : null;
      const cell = place === 0 ? make("th", { scope: "row", class: kind }) : make("td", { class: kind });
      cell.append(value ?? "–");
      return cell;
    });
    return make("tr", { class: row.class }, cells);
  });
  return box(caption, make("table", properties,
    make("caption", { class: "unseen", text: caption }),
    make("thead", {}, make("tr", {}, head)),
    make("tbody", {}, body)));
}

/** Return a box that scrolls sideways, also by keyboard. */
export function box(label, ...children) {
  return make("div", { class: "wide", tabindex: "0", role: "region", "aria-label": label }, ...children);
}

/** Return a description list; unknown values are left out. */
export function facts(pairs) {
  const known = pairs.filter(([, value]) => value !== null && value !== undefined && value !== "");
  return make("dl", {}, known.flatMap(([term, value]) => {
    const description = make("dd");
    description.append(value);
    return [make("dt", { text: term }), description];
  }));
}

/** Return a text for an empty view, with what to do. */
export const nothing = (text) => make("p", { class: "quiet nothing", text });

/** Return an error message with a button to try again. */
export function failure(error, again) {
  return make("div", { class: "failure", role: "alert" },
    make("p", { text: error.message }),
    again ? button("Try again", again) : null);
}
