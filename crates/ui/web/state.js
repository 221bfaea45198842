// The state of the page, its link, and the same state as a command, as TOML and as Python.

const token = new URLSearchParams(location.search).get("token");

/** Asks the program. Throws an Error with the program's own sentence. */
async function ask(path, options = {}) {
  const headers = { "x-justfull-token": token };
  if (options.json !== undefined) {
    headers["content-type"] = "application/json";
    options = { ...options, method: "POST", body: JSON.stringify(options.json) };
  }
  const response = await fetch(path, { method: options.method, body: options.body, signal: options.signal, headers });
  const type = response.headers.get("content-type") || "";
  const value = type.includes("json") ? await response.json() : await response.text();
  if (!response.ok) throw Object.assign(new Error(value.error || value || response.statusText), { answer: value });
  return value;
}

/** Runs an order until it is done; `progress` is called with a share from 0 to 1. */
async function simulate(order, { signal, progress } = {}) {
  let answer = await ask("/api/run", { json: order, signal });
  while (!answer.done) {
    progress?.(answer.progress);
    const id = answer.id;
    if (signal?.aborted) { ask(`/api/run/${id}`, { method: "DELETE" }).catch(() => {}); throw new DOMException("cancelled", "AbortError"); }
    answer = await ask(`/api/run/${id}`);
  }
  if (answer.result.broken.length) throw new Error(answer.result.broken[0]);
  return answer.result;
}

const DEFAULTS = {
  view: "try", radio: "walk", rate: 20, rtt: 40, buffer: 2000, control: "cubic", at: 5,
  methods: ["Vanilla", "FQ-CoDel", "5G-BDP", "Justfull"], off: [], seed: 1, lesson: 0, open: [], shown: "", study: "", tried: "",
};
const state = { ...DEFAULTS, ...fromLink() };

function fromLink() {
  try {
    const parameters = new URLSearchParams(location.hash.slice(1));
    const found = {};
    for (const [key, value] of parameters) {
      if (!(key in DEFAULTS)) continue;
      const kind = DEFAULTS[key];
      found[key] = Array.isArray(kind) ? value.split(",").filter(Boolean) : typeof kind === "number" ? Number(value) : value;
      if (typeof kind === "number" && !Number.isFinite(found[key])) delete found[key];
    }
    return found;
  } catch { return {}; }
}

/** The object in the JSON text of a link; an empty object for any other text. */
function parsed(text) {
  try {
    const value = JSON.parse(text || "{}");
    return value && typeof value === "object" && !Array.isArray(value) ? value : {};
  } catch { return {}; }
}

function link() {
  const parameters = new URLSearchParams();
  for (const [key, value] of Object.entries(state)) {
    const text = Array.isArray(value) ? value.join(",") : String(value);
    const normal = Array.isArray(DEFAULTS[key]) ? DEFAULTS[key].join(",") : String(DEFAULTS[key]);
    if (text !== normal) parameters.set(key, text);
  }
  return parameters.toString();
}

function keepLink() {
  history.replaceState(null, "", `${location.pathname}${location.search}#${link()}`);
}

/** The settings of the scenario `demo` that make the cell of the controls. */
function settings(of = state) {
  const half = `${of.rtt / 2}ms`;
  const set = [
    "duration=20s", "warmup=2s", "series_bins=400", `core.delay=${half}`, `uplink.delay=${half}`,
    `rlc.queue.limit=${of.buffer}kB`, `sdap.queue.limit=${of.buffer}kB`, `flow.download.start=${of.at}s`,
  ];
  if (of.radio === "steady") {
    set.push(`channel={kind="constant", per_slot=${Math.max(1, Math.round(of.rate * 125))}}`);
  } else {
    set.push(`channel={kind="markov", fit="${of.radio === "train" ? "train-like" : "pedestrian-like"}", map="ns3_lteamc", n_prb=${blocks(of.radio, of.rate)}}`);
  }
  if (of.control !== "cubic") set.push(`flow.download.tcp.sender.cc={kind="${of.control}"}`);
  return set;
}

/** Mbit/s of goodput of 92 resource blocks, over 2000 s of the scenario `demo` under Vanilla. */
const MEASURED = { walk: 20.8, train: 24.1 };

/** Resource blocks on which a download gets about `rate` Mbit/s in the mean. */
function blocks(radio, rate) { return Math.max(6, Math.min(110, Math.round(rate * 92 / MEASURED[radio]))); }

function order(of = state) {
  return { scenario: "demo", methods: of.methods, set: settings(of), seed: of.seed, runs: 1 };
}

const quote = text => /^[\w@.,:=/+-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;

/** The file name for an edited text, or the name of a shipped scenario. */
const source = ({ scenario, toml }) => toml === undefined ? scenario : "study.toml";

function asCommand({ scenario, toml, methods, set, seed, runs }) {
  const note = toml === undefined ? "" : "# study.toml holds the text of the scenario\n";
  const parts = [`${note}justfull run ${quote(source({ scenario, toml }))}`];
  for (const method of methods || []) parts.push(`--method ${quote(method)}`);
  for (const one of set) parts.push(`--set ${quote(one)}`);
  parts.push(`--seed ${seed}`, `--runs ${runs}`);
  return parts.join(" \\\n  ");
}

function asPython({ scenario, toml, methods, set, seed, runs }) {
  const entries = set.map(one => {
    const at = one.indexOf("=");
    return `    ${JSON.stringify(one.slice(0, at))}: ${JSON.stringify(one.slice(at + 1))},`;
  });
  return [
    "import justfull as jf", `scenario = jf.scenario(${JSON.stringify(source({ scenario, toml }))}).set({`, ...entries, "})",
    `results = scenario.run(${JSON.stringify(methods || [])}, seeds=range(${seed}, ${seed + runs}))`, "print(results)",
  ].join("\n");
}

// The colours of the report, and the same hues, lighter, on a dark ground.
const COLOURS = ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#808080", "#d8cb1f"];
const NIGHT = ["#4aa8e0", "#f2bd3c", "#2fc79b", "#e79cc8", "#8fd0f5", "#ff8a3d", "#b0b0b0", "#e8dd5a"];
// The dashes of the report, for lines of two pixels.
const DASHES = PATTERNS.map(pattern => pattern.map(length => 2 * length));

/** Colour and dashes of a method: the same in every chart, told apart without colour too. LOOKS has
 * those of the report's figures. */
function look(method, methods) {
  const [own, pattern] = LOOKS[method] || [];
  const n = (methods.indexOf(method) + 3) % COLOURS.length;
  const at = own === undefined ? n : COLOURS.indexOf(own);
  const night = document.documentElement.dataset.theme === "dark";
  return { colour: at < 0 ? null : (night ? NIGHT : COLOURS)[at], dash: DASHES[(pattern ?? n) % DASHES.length] };
}

const $ = id => document.getElementById(id);

/** An element with attributes and children; texts are never read as HTML. */
function make(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else if (value === true) element.setAttribute(key, "");
    else if (value !== false && value != null) element.setAttribute(key, value);
  }
  element.append(...children.filter(child => child != null));
  return element;
}

/** A number with three digits that count. */
function figure(value, unit = "") {
  if (value == null || !Number.isFinite(value)) return "–";
  const size = Math.abs(value);
  const digits = size === 0 ? 0 : size < 1 ? 2 : size < 10 ? 2 : size < 100 ? 1 : 0;
  return value.toFixed(digits) + unit;
}
