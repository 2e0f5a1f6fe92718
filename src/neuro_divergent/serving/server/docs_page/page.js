"use strict";

// The token travels in the fragment (/docs#token=...), which browsers do not send, and from there in a header.
const token = new URLSearchParams(location.hash.slice(1)).get("token");
const headers = token ? { authorization: `Bearer ${token}` } : {};

function element(name, text, attributes = {}) {
  const made = document.createElement(name);
  if (text !== undefined) made.textContent = text;
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  return made;
}

function pretty(value) {
  // Lists of numbers stay on one line.
  const joined = (_, inside) => `[${inside.replace(/\s+/g, " ")}]`;
  return JSON.stringify(value, null, 2).replace(/\[\s+([^[\]{}]*?)\s+\]/g, joined);
}

function resolved(document_, schema) {
  const name = schema && schema.$ref && schema.$ref.split("/").pop();
  return name ? document_.components.schemas[name] : schema;
}

function curl(path, example, secured) {
  const lines = [`curl ${location.origin}${path}`];
  if (secured) lines.push('-H "authorization: Bearer $ND_SERVE_TOKEN"');
  lines.push("-H 'content-type: application/json'", `-d '${JSON.stringify(example).replaceAll("'", "'\\''")}'`);
  return lines.join(" \\\n  ");
}

async function send(path, body, output) {
  output.classList.remove("failed");
  output.textContent = "...";
  try {
    const response = await fetch(path, { method: "POST", headers: { ...headers, "content-type": "application/json" }, body });
    const text = await response.text();
    output.classList.toggle("failed", !response.ok);
    try {
      output.textContent = `${response.status}\n${pretty(JSON.parse(text))}`;
    } catch {
      output.textContent = `${response.status}\n${text}`;
    }
  } catch (error) {
    output.classList.add("failed");
    output.textContent = String(error);
  }
}

function tryout(path, example) {
  const parts = [element("h3", "Try it")];
  const field = element("textarea", undefined, { "aria-label": "Body of the request", spellcheck: "false" });
  field.value = pretty(example);
  const button = element("button", "Send", { type: "button" });
  const output = element("pre", "", { "aria-live": "polite" });
  output.hidden = true;
  button.addEventListener("click", () => {
    output.hidden = false;
    send(path, field.value, output);
  });
  return [...parts, field, button, output];
}

function operation(document_, path, method, details) {
  const box = element("details");
  const head = element("summary");
  head.append(element("span", method.toUpperCase(), { class: "method" }), element("span", path, { class: "path" }));
  head.append(element("span", details.summary, { class: "what" }));
  const inside = element("div");
  if (details.description) inside.append(element("p", details.description));
  const media = details.requestBody && details.requestBody.content["application/json"];
  if (media && media.example) {
    const secured = Boolean(document_.security);
    inside.append(element("h3", "With curl"), element("pre", curl(path, media.example, secured)));
    inside.append(...tryout(path, media.example));
  }
  if (media) inside.append(element("h3", "Request"), element("pre", pretty(resolved(document_, media.schema))));
  for (const [status, response] of Object.entries(details.responses)) {
    const content = response.content && response.content["application/json"];
    const schema = content && resolved(document_, content.schema);
    inside.append(element("h3", `${status}: ${response.description}`));
    if (status === "200" && schema && Object.keys(schema).length) inside.append(element("pre", pretty(schema)));
  }
  box.append(head, inside);
  return box;
}

function show(document_) {
  document.getElementById("about").textContent = `${document_.info.description} Version ${document_.info.version}.`;
  const groups = new Map();
  for (const [path, methods] of Object.entries(document_.paths)) {
    for (const [method, details] of Object.entries(methods)) {
      const tag = details.tags[0];
      if (!groups.has(tag)) groups.set(tag, []);
      groups.get(tag).push(operation(document_, path, method, details));
    }
  }
  const main = document.getElementById("operations");
  for (const [tag, boxes] of groups) main.append(element("h2", tag), ...boxes);
  const first = main.querySelector("details");
  if (first) first.open = true;
}

async function start() {
  const response = await fetch("/openapi.json", { headers });
  if (response.status === 401) throw new Error("This needs the token: open /docs#token=TOKEN.");
  if (!response.ok) throw new Error(`The description could not be read (${response.status}).`);
  show(await response.json());
}

start().catch((error) => {
  const about = document.getElementById("about");
  about.textContent = error.message;
  about.classList.add("failed");
});
