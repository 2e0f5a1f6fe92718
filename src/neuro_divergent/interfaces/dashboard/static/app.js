// The page: routing, messages and dialogs.

import { byId, failure, make, setText } from "./elements.js";
import { sweep } from "./charts.js";
import { showComparison } from "./compare.js";
import { showContinuous } from "./continuous.js";
import { showFederation } from "./federation.js";
import { showPipeline } from "./pipeline.js";
import { showRegistry } from "./registry.js";
import { showRun } from "./run.js";
import { showRuns } from "./runs.js";
import { showStudy } from "./study.js";
import { takeToken } from "./server.js";

const SILENCE = 8000;
let current = null;
let silence = null;

/** Services of the page for its views. */
const page = {
  /** Show a message. */
  announce(text) {
    const announcer = byId("announcer");
    announcer.textContent = text;
    clearTimeout(silence);
    silence = setTimeout(() => { announcer.textContent = ""; }, SILENCE);
  },

  /** Show the state of the connection; nothing if it works. */
  connection(text) {
    setText(byId("connection"), text);
  },

  /** Set the title of the window. */
  title(text) {
    document.title = `${text} · Neuro-Divergent`;
  },

  /** Show a confirmation dialog; true if confirmed. */
  confirm({ title, text, action }) {
    const dialog = byId("dialog");
    byId("dialog-title").textContent = title;
    byId("dialog-text").textContent = text;
    byId("dialog-confirm").textContent = action;
    dialog.returnValue = "";
    dialog.showModal();
    return new Promise((resolve) => {
      dialog.addEventListener("close", () => resolve(dialog.returnValue === "yes"), { once: true });
    });
  },
};

/** Show the view of the current address. */
function route() {
  if (location.hash.startsWith("#token=")) takeToken();
  current?.abort();
  current = new AbortController();
  const main = byId("main");
  const place = make("div", { class: "place" });
  main.replaceChildren(place);
  page.connection("");
  if (byId("dialog").open) byId("dialog").close();
  sweep();
  const [, name, rest, tab, ...more] = location.hash.split("/").map(decoded);
  if (name) byId("to-runs").removeAttribute("aria-current");
  else byId("to-runs").setAttribute("aria-current", "page");
  if (!name) showRuns(place, page, current.signal);
  else if (name === "run" && rest) showRun(place, page, current.signal, rest, tab);
  else if (name === "study" && rest) showStudy(place, page, current.signal, rest, tab);
  else if (name === "federation" && rest) showFederation(place, page, current.signal, rest, tab);
  else if (name === "pipeline" && rest) showPipeline(place, page, current.signal, rest, tab);
  else if (name === "continuous" && rest) showContinuous(place, page, current.signal, rest, tab);
  else if (name === "registry" && rest) showRegistry(place, page, current.signal, rest, [tab, ...more]);
  else if (name === "compare" && rest) showComparison(place, page, current.signal, rest.split(","));
  else {
    page.title("Not found");
    place.append(make("h1", { text: "There is no such page" }), failure(new Error("The list of runs has them all.")));
  }
}

/** Return a part of the address as text; as it is, if it is not encoded properly. */
function decoded(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

byId("dialog-cancel").addEventListener("click", () => byId("dialog").close(""));
byId("dialog-confirm").addEventListener("click", () => byId("dialog").close("yes"));
byId("skip").addEventListener("click", (event) => {
  event.preventDefault(); // the fragment of the address says which page is shown
  byId("main").focus();
});
addEventListener("hashchange", () => {
  route();
  byId("main").focus({ preventScroll: true });
  scrollTo(0, 0);
});
takeToken();
route();
