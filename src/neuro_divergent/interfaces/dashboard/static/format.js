// Numbers, sizes, times and events as text; as core/formatting.py does for the rest of the package.

const grouped = new Intl.NumberFormat("en");
const isNumber = (value) => typeof value === "number" && Number.isFinite(value);

/** Return a count with separators. */
export const count = (value) => (isNumber(value) ? grouped.format(value) : "–");

/** Return a measured number with about four digits. */
export function number(value) {
  if (!isNumber(value)) return "–";
  const size = Math.abs(value);
  if (value === 0) return "0";
  if (size < 1e-3 || size >= 1e7) return value.toExponential(3);
  return Number.isInteger(value) || size >= 1000 ? grouped.format(Math.round(value)) : value.toPrecision(4);
}

/** Return a fraction as a percentage; small ones with a digit after the point. */
export function percent(fraction, digits = fraction > 0 && fraction < 0.1 ? 1 : 0) {
  if (!isNumber(fraction)) return "–";
  const least = 10 ** -digits;
  return fraction > 0 && 100 * fraction < least ? `under ${least} %` : `${(100 * fraction).toFixed(digits)} %`;
}

/** Return a length of time in its two largest units. */
export function duration(seconds) {
  if (!isNumber(seconds)) return "–";
  if (seconds < 10) return `${seconds.toFixed(seconds < 1 ? 1 : 0)} s`;
  const rounded = Math.round(seconds);
  const units = [["d", 86400], ["h", 3600], ["min", 60], ["s", 1]];
  const first = units.findIndex(([, size]) => rounded >= size);
  const [unit, size] = units[first];
  const major = Math.floor(rounded / size);
  const next = units[first + 1];
  const minor = next ? Math.floor((rounded - major * size) / next[1]) : 0;
  return minor ? `${major} ${unit} ${minor} ${next[0]}` : `${major} ${unit}`;
}

/** Return the time since a timestamp. */
export function age(moment) {
  if (!isNumber(moment) || moment <= 0) return "–";
  const seconds = Math.max(0, Date.now() / 1000 - moment);
  return seconds < 5 ? "just now" : `${duration(seconds)} ago`;
}

/** Return a timestamp as local date and time. */
export function moment(seconds) {
  if (!isNumber(seconds) || seconds <= 0) return "–";
  const date = new Date(seconds * 1000);
  const pad = (value) => String(value).padStart(2, "0");
  const day = `${date.getFullYear()}-${pad(date.getMonth() + 1)}-${pad(date.getDate())}`;
  return `${day} ${pad(date.getHours())}:${pad(date.getMinutes())}:${pad(date.getSeconds())}`;
}

/** Return a time in ISO 8601 as local date and time, to the minute; as it is, if it is none. */
export function instant(text) {
  const found = Date.parse(text);
  return Number.isNaN(found) ? plain(text) : moment(found / 1000).slice(0, -3);
}

/** Return a time of the data as it is, without what is zero: seconds, and the hour of midnight. */
export const dataTime = (time) => plain(time).replace("T", " ").replace(/(:\d\d):00(\.0+)?$/, "$1").replace(/ 00:00$/, "");

/** Return a number of bytes in the unit that suits it. */
export function size(bytes) {
  if (!isNumber(bytes)) return "–";
  const units = ["bytes", "kB", "MB", "GB", "TB"];
  let place = 0;
  let amount = bytes;
  while (amount >= 1000 && place < units.length - 1) {
    amount /= 1000;
    place += 1;
  }
  return `${place ? amount.toPrecision(3) : amount} ${units[place]}`;
}

/** Return any plain value as text, numbers with all their digits. */
export function plain(value) {
  if (value === null || value === undefined) return "–";
  if (typeof value === "boolean") return value ? "yes" : "no";
  if (typeof value !== "object") return String(value);
  if (Array.isArray(value)) return `[${value.map(plain).join(", ")}]`;
  return Object.entries(value).map(([key, item]) => `${key.replaceAll("_", " ")} ${plain(item)}`).join(", ");
}

/** Return an identifier as a title: `validation_loss` as "Validation loss". */
export function title(name) {
  const words = String(name).replaceAll("_", " ");
  return words.charAt(0).toUpperCase() + words.slice(1);
}

/** Return the progress of a run, between 0 and 1, or null. */
export function progress(run) {
  if (!isNumber(run.step) || !isNumber(run.total_steps) || run.total_steps <= 0) return null;
  return Math.min(1, run.step / run.total_steps);
}

/** Return whether the run is in training. */
export const isLive = (run) => run.state === "running" || run.state === "stalled";

/** Return an event of the log as a sentence. */
export function sentence(event) {
  switch (event.event) {
    case "start":
      return `Training starts: ${count(event.total_steps)} steps, ${count(event.parameters)} parameters, on ` +
        `${plain(event.device)} of ${plain(event.host)} (process ${plain(event.pid)}` +
        `${event.attempt > 1 ? `, start ${event.attempt}` : ""}).`;
    case "checkpoint": return "A checkpoint is complete.";
    case "rolled_back": return "Training went back to this step; rows after it are void.";
    case "control":
      return event.wish === "stop" ? "A stop was requested." : "A checkpoint was requested.";
    case "interrupted": return "Training was interrupted.";
    case "failed": return `Training failed: ${plain(event.error)}: ${plain(event.message)}`;
    case "end": return `Training ended: ${plain(event.reason)}.`;
    default: {
      const rest = Object.entries(event).filter(([key]) => !["event", "time", "step"].includes(key));
      return [title(event.event), ...rest.map(([key, value]) => `${key} ${plain(value)}`)].join(", ");
    }
  }
}

/** Quote an argument for a shell. */
export const quoted = (text) => (/^[\w.,=:/+-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`);
