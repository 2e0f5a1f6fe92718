// Requests to the server, and event streams that reconnect.

const KEY = "token";
const LONGEST_WAIT = 15;
let token = null;

/** An error response of the server. */
export class ServerError extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

/** Move the token from the address, where it could be copied, into the session storage of this tab. */
export function takeToken() {
  const match = /^#token=([^&]*)/.exec(location.hash);
  try {
    if (match) sessionStorage.setItem(KEY, decodeURIComponent(match[1]));
    token = sessionStorage.getItem(KEY);
  } catch {
    if (match) token = match[1]; // storage is switched off; it is kept until the page is reloaded
  }
  if (match) history.replaceState(null, "", `${location.pathname}#/`);
}

/** Return whether there is a token to change things with. */
export const hasToken = () => Boolean(token);

/** Send a GET request; returns the JSON of the response. */
export async function get(path, parameters = {}, signal = undefined) {
  const response = await request(withParameters(path, parameters), { signal });
  return response.json();
}

/** Send a POST request; returns the JSON of the response. */
export async function post(path) {
  const response = await request(path, { method: "POST" });
  return (await response.json()).detail;
}

/** Return the bytes of a file, with the token sent along. */
export async function download(path) {
  return (await request(path, {})).blob();
}

/** Return an address with its parameters; those that are empty are left out. */
export function withParameters(path, parameters) {
  const known = Object.entries(parameters).filter(([, value]) => value !== "" && value !== null && value !== undefined);
  const query = new URLSearchParams(known).toString();
  return query ? `${path}?${query}` : path;
}

async function request(path, options) {
  const headers = token ? { Authorization: `Bearer ${token}` } : {};
  let response;
  try {
    response = await fetch(path, { ...options, headers: { ...headers, ...options.headers } });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new ServerError(0, "The server does not respond. Is 'nd dashboard' still running?");
  }
  if (response.ok) return response;
  throw new ServerError(response.status, await explanation(response));
}

async function explanation(response) {
  let detail = "";
  try {
    detail = String((await response.json()).detail ?? "");
  } catch {
    // not a response of ours: the status code is all there is
  }
  if (response.status === 401) {
    const reason = token ? "The server does not accept the token of this page" : "This needs a token";
    return `${reason}. Open the address that 'nd dashboard' printed, with all that follows the '#'.`;
  }
  return detail || `The server answered with an error (${response.status}).`;
}

/**
 * Follow a stream of events until it ends or `signal` aborts; lost connections are made again, after longer and longer.
 *
 * @param address Returns the address to read on from, given the id of the last event, or null.
 * @param listeners Functions by name of event, given its data. Besides: `connection(text)`, with what to show about
 *   the connection ("" for nothing), and `refused(error)`, after which nothing more comes.
 */
export async function follow(address, listeners, signal) {
  let last = null;
  let wait = 0.5;
  while (!signal.aborted) {
    try {
      const response = await request(address(last), { signal, headers: { Accept: "text/event-stream" } });
      listeners.connection("");
      for await (const event of events(response.body)) {
        wait = 0.5;
        if (event.id !== null) last = event.id;
        if (event.name === "end") return;
        listeners[event.name]?.(event.data);
      }
    } catch (error) {
      if (signal.aborted) return;
      const isFull = error.status === 429; // too many pages follow something; one may be closed soon
      if (error.status >= 400 && error.status < 500 && !isFull) {
        listeners.refused(error);
        return;
      }
    }
    if (signal.aborted) return;
    listeners.connection(`Connection lost. Trying again in ${wait < 1 ? "a moment" : `${wait} s`}.`);
    await pause(wait, signal);
    listeners.connection("Connection lost. Trying again now.");
    wait = Math.min(LONGEST_WAIT, 2 * wait);
  }
}

async function* events(body) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      rest += value.replaceAll("\r", "");
      const blocks = rest.split("\n\n");
      rest = blocks.pop();
      for (const block of blocks) {
        const event = parsed(block);
        if (event) yield event;
      }
    }
  } finally {
    reader.cancel().catch(() => {});
  }
}

function parsed(block) {
  const event = { name: "message", id: null, data: null };
  const data = [];
  for (const line of block.split("\n")) {
    const colon = line.indexOf(":");
    const field = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
    if (field === "event") event.name = value;
    if (field === "id") event.id = value;
    if (field === "data") data.push(value);
  }
  if (!data.length && event.name === "message") return null; // a comment that keeps the connection open
  try {
    event.data = data.length ? JSON.parse(data.join("\n")) : {};
  } catch {
    return null;
  }
  return event;
}

/** Wait for some seconds, or until `signal` aborts. */
export function pause(seconds, signal) {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, 1000 * seconds);
    signal?.addEventListener("abort", () => {
      clearTimeout(timer);
      resolve();
    }, { once: true });
  });
}
