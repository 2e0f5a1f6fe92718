// Keeps a page up to date whose server sends an event whenever something changed.

import { follow, get } from "./server.js";

/**
 * Load details, show them, and do so again whenever they change.
 *
 * @param path Address of the details; that of the stream is below it.
 * @param show Called with the details, whenever they differ from those before.
 * @param failed Called with the error if the details cannot be loaded.
 */
export async function keepCurrent({ path, page, signal, show, failed }) {
  let shown = "";
  let last = Promise.resolve();
  const load = async () => {
    try {
      const details = await get(path, {}, signal);
      const content = JSON.stringify(details);
      if (content === shown) return;
      shown = content;
      show(details);
    } catch (error) {
      if (!signal.aborted) failed(error);
    }
  };
  await load();
  if (signal.aborted || !shown) return;
  await follow(() => `${path}/stream`, {
    changed: () => { last = last.then(load); }, // one after the other, so that the newest is shown last
    connection: (text) => page.connection(text),
    refused: (error) => page.connection(error.message),
  }, signal);
}

/** Put something in its place only if it differs, so that selection, scroll position and what is unfolded are kept. */
export function replace(place, ...elements) {
  const found = elements.filter(Boolean);
  const before = [...place.children];
  if (before.length === found.length && before.every((element, at) => element.isEqualNode(found[at]))) return;
  place.replaceChildren(...found);
}
