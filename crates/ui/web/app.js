// The views of the page.

const CONTROLS = [
  { key: "radio", label: "Radio", options: [["walk", "a walk through the cell"], ["train", "a train ride"], ["steady", "steady"]] },
  { key: "rate", label: "Mean rate", unit: " Mbit/s", from: 2, to: 24, step: 1 },
  { key: "rtt", label: "Round trip without queues", unit: " ms", from: 10, to: 200, step: 10 },
  { key: "buffer", label: "Buffer", unit: " kB", from: 50, to: 5000, step: 50 },
  { key: "control", label: "The download's TCP", options: [["cubic", "CUBIC"], ["bbr", "BBR"], ["new_reno", "NewReno"], ["vegas", "Vegas"]] },
  { key: "at", label: "The download starts at second", unit: "", from: 2, to: 15, step: 1 },
  { key: "seed", label: "Chance (seed)", unit: "", from: 1, to: 20, step: 1 },
];
const METHODS = ["Vanilla", "CoDel", "FQ-CoDel", "DRQL", "5G-BDP", "Justfull"];

function controlOf({ key, label, unit, from, to, step, options }, read, write) {
  if (options) {
    const select = make("select", { onchange: () => write(key, select.value) }, ...options.map(option => {
      const [value, words] = Array.isArray(option) ? option : [option, option];
      return make("option", { value, selected: value === read(key) }, words);
    }));
    return make("label", {}, label, select);
  }
  const output = make("output", {}, `${read(key)}${unit || ""}`);
  const input = make("input", { type: "range", min: from, max: to, step, value: read(key), "data-key": key, oninput: () => { output.textContent = `${input.value}${unit || ""}`; write(key, Number(input.value)); } });
  return make("label", {}, label, " ", output, input);
}

// Try -----------------------------------------------------------------------------------------

let shown = null, running = null, again = false;

function buildControls() {
  const read = key => state[key];
  const write = (key, value) => { state[key] = value; refresh(); };
  const methods = make("fieldset", {}, make("legend", {}, "Methods"), make("div", { class: "chips" }, ...METHODS.map(method =>
    make("label", {}, make("input", { type: "checkbox", checked: state.methods.includes(method), onchange: event => {
      const chosen = METHODS.filter(m => m === method ? event.target.checked : state.methods.includes(m));
      if (chosen.length) { state.methods = chosen; refresh(); } else event.target.checked = true;
    } }), ` ${method}`))));
  $("controls").replaceChildren(methods, ...CONTROLS.map(control => controlOf(control, read, write)));
  $("controls").addEventListener("submit", event => event.preventDefault());
}

/** Simulates what the controls say; moves that come meanwhile are made up for by one more. */
async function refresh() {
  keepLink();
  if (running) { again = true; return; }
  running = true;
  do {
    again = false;
    const began = performance.now();
    try {
      shown = await simulate(order());
      drawTry();
      $("main").dataset.redrawn = String((Number($("main").dataset.redrawn) || 0) + 1);
      $("main").dataset.took = String(performance.now() - began);
    } catch (error) { $("answer").textContent = error.message; $("answer").classList.add("error"); }
  } while (again);
  running = false;
}

const flowOf = (run, name) => run.flows.find(flow => flow.name === name);
const times = (series, key) => series.flows[0] ? series.flows[0].goodput_mbit_s.map((_, i) => (i + 1) * series[key]) : [];

function drawTry() {
  $("answer").classList.remove("error");
  $("answer").replaceChildren(...trySentence(shown.runs));
  const runs = shown.runs, visible = runs.filter(run => !state.off.includes(run.method));
  const all = runs.map(run => run.method);
  legendOf("legend", entries(all), state.off, method => {
    state.off = state.off.includes(method) ? state.off.filter(m => m !== method) : [...state.off, method];
    keepLink(); drawTry();
  });
  const most = Math.max(...runs.flatMap(run => ["UPF", "SDAP", "RLC"].flatMap(layer => run.series.queues[layer])));
  const pick = visible[0] || runs[0];
  const at = time => showScene(pick, time || 0, most);
  const x = times(runs[0].series, "flow_bin_s");
  const lines = (flow, key) => visible.map(run => ({ label: run.method, ...look(run.method, all), values: run.series.flows.find(f => f.name === flow)?.[key] || [] }));
  draw("chart-delay", { x, lines: lines("call", "delay_p90_ms"), log: true, unit: "ms", xLabel: "time, s", yLabel: "delay of the call, ms", at });
  const capacity = runs[0].series.capacity_per_slot;
  const perBin = capacity.length / x.length;
  const line = x.map((_, i) => {
    const part = capacity.slice(Math.floor(i * perBin), Math.max(Math.floor(i * perBin) + 1, Math.floor((i + 1) * perBin)));
    return part.reduce((a, b) => a + b, 0) / part.length * 8e-3;
  });
  draw("chart-rate", { x, lines: [{ label: "radio", colour: null, dash: [2, 4], width: 1.5, values: line }, ...lines("download", "goodput_mbit_s")], unit: "Mbit/s", xLabel: "time, s", yLabel: "download, Mbit/s", at, height: 200 });
  at(Math.min(19, state.at + 6));
  tableOf("table", runs, [
    { title: "method", text: true, value: run => run.method },
    { title: "call: mean delay, ms", value: run => flowOf(run, "call")?.delay?.mean, best: "min" },
    { title: "call: p99, ms", value: run => flowOf(run, "call")?.delay?.p99, best: "min" },
    { title: "download, Mbit/s", value: run => flowOf(run, "download")?.goodput_mbit_s, best: "max" },
    { title: "its round trip, ms", value: run => flowOf(run, "download")?.rtt?.mean, best: "min" },
    { title: "its drops, %", value: run => flowOf(run, "download")?.drops_percent },
  ]);
}

/** The answer in words, from the numbers of the methods [{method, delay, rate}]; the delay is that of packets of `low`, the
 * rate that of `bulk`. */
function sentence(all, low, bulk) {
  const found = all.filter(one => one.delay != null);
  if (!found.length) return [`No packet of ${low} arrived.`];
  const bold = text => make("b", {}, text);
  const worst = found.reduce((a, b) => b.delay > a.delay ? b : a);
  const top = Math.max(...found.map(one => one.rate || 0));
  const good = found.filter(one => (one.rate || 0) >= 0.95 * top);
  const best = (good.length ? good : found).reduce((a, b) => b.delay < a.delay ? b : a);
  const rates = found.some(one => one.rate != null);
  const waits = ["Under ", bold(worst.method), ` one in a hundred packets of ${low} waits longer than `, bold(figure(worst.delay, " ms"))];
  if (found.length === 1) return rates ? [...waits, `; the rate of ${bulk} is `, bold(figure(worst.rate, " Mbit/s")), "."] : [...waits, "."];
  if (best === worst) return [`All methods shown delay ${low} alike: p99 `, bold(figure(best.delay, " ms")), "."];
  const kept = bold(`${Math.round(100 * (best.rate || 0) / (top || 1))} %`);
  return [...waits, "; under ", bold(best.method), " than ", bold(figure(best.delay, " ms")), ...(rates ? [`, and ${bulk} keeps `, kept, " of the best rate."] : ["."])];
}

/** The same for the call and the download. */
function trySentence(runs) {
  const of = run => ({ method: run.method, delay: flowOf(run, "call")?.delay?.p99, rate: flowOf(run, "download")?.goodput_mbit_s });
  return sentence(runs.map(of), "the call", "the download");
}

/** What the program says of itself: scenarios, methods, factors of Student's t. */
let known = null;
async function knownThings() { known ??= await ask("/api/about"); return known; }

// Study ---------------------------------------------------------------------------------------

const study = { set: [], edited: false, result: null, off: [], abort: null, paths: new Map() };

async function buildStudy() {
  const about = await knownThings();
  $("study-scenario").replaceChildren(...about.scenarios.map(({ name }) => make("option", { value: name, selected: name === "demo" }, name)));
  study.titles = new Map(about.scenarios.map(({ name, title }) => [name, title]));
  $("study-methods").replaceChildren(...about.methods.map(({ name, about: words }) =>
    make("label", { title: words }, make("input", { type: "checkbox", value: name }), ` ${name}`)));
  $("study-scenario").addEventListener("change", loadScenario);
  $("study-toml").addEventListener("input", () => { study.edited = true; });
  const schema = await ask("/api/schema");
  walk(schema, "", 0);
  $("study-paths").replaceChildren(...[...study.paths.keys()].sort().map(path => make("option", { value: path })));
  $("study-find").addEventListener("input", () => offer(study.paths.get($("study-find").value.trim())));
  $("study-add").addEventListener("click", () => {
    const [path, value] = [$("study-find").value.trim(), $("study-value").value.trim()];
    if (!path || !value || !$("study-value").reportValidity()) return;
    study.set = [...study.set.filter(one => !one.startsWith(`${path}=`)), `${path}=${value}`];
    showSettings();
  });
  $("study").addEventListener("submit", event => { event.preventDefault(); runStudy(); });
  $("study-cancel").addEventListener("click", () => study.abort?.abort());
  for (const id of ["study-what", "study-flow", "study-point"]) $(id).addEventListener("change", () => { keepStudy(); drawStudy(); });
  await fromStudyLink(about);
  await runStudy();
}

/** Opens the study of the link, or the first study without one. */
async function fromStudyLink(about) {
  const { scenario, toml, methods, set, seed, runs, what, flow, point } = parsed(state.study);
  if (about.scenarios.some(({ name }) => name === scenario)) $("study-scenario").value = scenario;
  await loadScenario();
  const texts = list => Array.isArray(list) && list.every(one => typeof one === "string");
  if (typeof toml === "string") { $("study-toml").value = toml; study.edited = true; $("study-text-box").open = true; }
  if (texts(methods)) for (const box of $("study-methods").querySelectorAll("input")) box.checked = methods.includes(box.value);
  if (texts(set)) { study.set = set; showSettings(); }
  if (Number.isInteger(seed)) $("study-seed").value = seed;
  if (Number.isInteger(runs)) $("study-runs").value = runs;
  const select = $("study-what");
  if ([...select.options].some(option => option.value === what)) select.value = what;
  Object.assign(study, { flow, point });
}

/** Keeps the study and what of it is shown in the link. */
function keepStudy() {
  const [what, flow, point] = ["study-what", "study-flow", "study-point"].map(id => $(id).value);
  state.study = JSON.stringify({ ...studyOrder(), what, ...(flow ? { flow } : {}), ...(Number(point) ? { point } : {}) });
  keepLink();
}

/** Prepares the field for the value of a setting: help, default, bounds and choices. */
function offer(found) {
  const field = $("study-value"), isNumber = ["integer", "number"].includes(found?.type);
  $("study-help").textContent = found?.description || "";
  field.placeholder = found?.default === undefined ? "value" : `default: ${typeof found.default === "object" ? JSON.stringify(found.default) : found.default}`;
  field.value = "";
  field.type = isNumber ? "number" : "text";
  for (const [name, value] of Object.entries({ min: found?.minimum, max: found?.maximum, step: isNumber ? (found.type === "integer" ? 1 : "any") : undefined, pattern: isNumber ? undefined : found?.pattern })) {
    if (value === undefined) field.removeAttribute(name); else field.setAttribute(name, value);
  }
  $("study-values").replaceChildren(...(found?.type === "boolean" ? [true, false] : found?.enum || []).map(value => make("option", { value })));
}

/** Collects the paths of the schema's settings. */
function walk(schema, path, depth) {
  if (!schema || depth > 9) return;
  if (path && schema.description && !study.paths.has(path)) study.paths.set(path, schema);
  for (const key of ["anyOf", "oneOf", "allOf"]) for (const part of schema[key] || []) walk(part, path, depth + 1);
  for (const [key, part] of Object.entries(schema.properties || {})) if (key !== "kind") walk(part, path ? `${path}.${key}` : key, depth + 1);
}

async function loadScenario() {
  const name = $("study-scenario").value;
  $("study-toml").value = await ask(`/api/scenario/${encodeURIComponent(name)}`);
  study.edited = false;
  $("study-title").textContent = study.titles.get(name) || "";
  tickMethods();
}

/** Ticks the methods of the scenario's text. The list is long: they come first, then those of the view Try. */
function tickMethods() {
  const list = /^methods\s*=\s*\[([^\]]*)\]/m.exec($("study-toml").value);
  const own = list ? [...list[1].matchAll(/"([^"]+)"/g)].map(m => m[1]) : ["Vanilla"];
  for (const box of $("study-methods").querySelectorAll("input")) box.checked = own.includes(box.value);
  const first = [...new Set([...own, ...METHODS])];
  $("study-methods").prepend(...first.map(method => $("study-methods").querySelector(`input[value="${CSS.escape(method)}"]`)?.parentElement).filter(Boolean));
}

function showSettings() {
  $("study-set").replaceChildren(...study.set.map(one => make("li", {}, one, make("button", { type: "button", "aria-label": `Remove ${one}`, onclick: () => { study.set = study.set.filter(other => other !== one); showSettings(); } }, "×"))));
}

function studyOrder() {
  const methods = [...$("study-methods").querySelectorAll("input:checked")].map(box => box.value);
  return {
    scenario: $("study-scenario").value, ...(study.edited ? { toml: $("study-toml").value } : {}),
    methods, set: study.set, seed: Number($("study-seed").value), runs: Number($("study-runs").value),
  };
}

async function runStudy() {
  study.abort?.abort();
  study.abort = new AbortController();
  const { signal } = study.abort;
  keepStudy();
  $("study-error").textContent = "";
  $("study-progress").hidden = $("study-cancel").hidden = false;
  $("study-progress").value = 0;
  if (!study.result) $("study-answer").textContent = "Simulating …";
  try {
    study.result = await simulate(studyOrder(), { signal, progress: share => { $("study-progress").value = share; } });
    const names = [...new Set(study.result.runs.flatMap(run => run.flows.map(flow => flow.name)))];
    const kept = $("study-flow").value || study.flow;
    $("study-flow").replaceChildren(...names.map(name => make("option", { value: name, selected: name === kept }, name)));
    const points = study.result.points;
    $("study-point-box").hidden = points.length < 2;
    $("study-point").replaceChildren(...points.map((point, i) => make("option", { value: i, selected: String(i) === study.point }, point || "")));
    keepStudy();
    drawStudy();
  } catch (error) {
    if (error.name !== "AbortError") $("study-error").textContent = error.message;
    if (!study.result) $("study-answer").textContent = "";
  }
  // A study that another one has replaced leaves that one's progress alone.
  if (signal === study.abort.signal) $("study-progress").hidden = $("study-cancel").hidden = true;
}

/** The runs of the chosen point, by method. */
function chosenRuns() {
  const { runs, points, methods } = study.result;
  const each = runs.length / points.length, point = Number($("study-point").value) || 0;
  const here = runs.slice(point * each, (point + 1) * each);
  return methods.map(method => [method, here.filter(run => run.method === method)]).filter(([, found]) => found.length);
}

function drawStudy() {
  if (!study.result) return;
  $("study-shown").hidden = false;
  const groups = chosenRuns(), flow = $("study-flow").value, what = $("study-what").value;
  const all = groups.map(([method]) => method);
  const visible = groups.filter(([method]) => !study.off.includes(method));
  legendOf("study-legend", entries(all), study.off, method => {
    study.off = study.off.includes(method) ? study.off.filter(m => m !== method) : [...study.off, method];
    drawStudy();
  });
  drawGroups("study-chart", what, flow, visible.map(([method, runs]) => ({ label: method, look: look(method, all), runs })));
  const rows = groups.flatMap(([method, runs]) => [...new Set(runs.flatMap(run => run.flows.map(f => f.name)))].map(name => ({ method, name, flows: runs.map(run => flowOf(run, name)).filter(Boolean) })));
  const value = get => row => mean(row.flows.map(get));
  tableOf("study-table", rows, [
    { title: "method", text: true, value: row => row.method }, { title: "flow", text: true, value: row => row.name },
    { title: "delay mean, ms", value: value(f => f.delay?.mean) }, { title: "±", value: row => half(row.flows.map(f => f.delay?.mean)) },
    { title: "p99, ms", value: value(f => f.delay?.p99) }, { title: "goodput, Mbit/s", value: value(f => f.goodput_mbit_s) },
    { title: "round trip, ms", value: value(f => f.rtt?.mean) }, { title: "drops, %", value: value(f => f.drops_percent) },
  ]);
  const { runs, took_ms: took, warnings } = study.result;
  const seconds = runs.reduce((sum, run) => sum + run.duration_s, 0);
  const others = run => run.flows.filter(one => one.name !== flow).map(one => one.goodput_mbit_s);
  const total = run => others(run).some(rate => rate != null) ? others(run).reduce((sum, rate) => sum + (rate || 0), 0) : null;
  const of = ([method, runs]) => ({ method, delay: mean(runs.map(run => flowOf(run, flow)?.delay?.p99)), rate: mean(runs.map(total)) });
  $("study-answer").replaceChildren(...sentence(groups.map(of), flow, "the rest of the traffic"));
  $("study-done").textContent = `${study.result.title}: ${runs.length} ${runs.length === 1 ? "run" : "runs"}, ${figure(seconds)} s simulated in ${figure(took / 1000)} s.${warnings.length ? ` Note: ${warnings[0]}` : ""}`;
}

// Learn ---------------------------------------------------------------------------------------

/** The simulation of a lesson at a value of its control. */
function lessonOrder({ scenario, set, more, control }, value) {
  const own = (more || []).map(one => one.replace("{value}", value));
  if (scenario) return { scenario, methods: set.methods, set: own, seed: 1, runs: 1 };
  const { set: settings, ...rest } = order({ ...DEFAULTS, ...set, [control.key]: value });
  return { ...rest, set: [...settings, ...own] };
}

/** The value of the link if the control allows it, else the control's initial value. */
function triedIn({ options, from, to, value }) {
  if (options) return options.find(option => option === state.tried) || value;
  const tried = Number(state.tried);
  return state.tried !== "" && tried >= from && tried <= to ? tried : value;
}

function buildLessons() {
  $("lessons").replaceChildren(...LESSONS.map((lesson, i) => make("li", {}, make("button", { type: "button", "aria-current": String(i === state.lesson), onclick: () => { Object.assign(state, { lesson: i, tried: "" }); keepLink(); buildLessons(); } }, `${i + 1}. ${lesson.title}`))));
  const lesson = LESSONS[state.lesson] || LESSONS[0], [low, bulk] = lesson.flows;
  let value = triedIn(lesson.control);
  for (const id of ["lesson-delay", "lesson-rate"]) { charts.get(id)?.plot.destroy(); charts.delete(id); }
  let busy = false, next = false, off = [];
  const update = async () => {
    if (busy) { next = true; return; }
    busy = true;
    do {
      next = false;
      const { runs } = await simulate(lessonOrder(lesson, value));
      if (LESSONS[state.lesson] !== lesson) return;
      const all = runs.map(run => run.method), x = times(runs[0].series, "flow_bin_s");
      const visible = runs.filter(run => !off.includes(run.method));
      const lines = (flow, key) => visible.map(run => ({ label: run.method, ...look(run.method, all), values: run.series.flows.find(f => f.name === flow)?.[key] || [] }));
      legendOf("lesson-legend", entries(all), off, method => {
        off = off.includes(method) ? off.filter(m => m !== method) : [...off, method];
        update();
      });
      caption("lesson-delay", `Delay of ${low}, ms`, "90th percentile of each moment; logarithmic");
      caption("lesson-rate", `Rate of ${bulk}, Mbit/s`, "");
      draw("lesson-delay", { x, lines: lines(low, "delay_p90_ms"), log: true, unit: "ms", xLabel: "time, s", yLabel: `delay of ${low}, ms`, height: 220 });
      draw("lesson-rate", { x, lines: lines(bulk, "goodput_mbit_s"), unit: "Mbit/s", xLabel: "time, s", yLabel: `${bulk}, Mbit/s`, height: 180 });
      tableOf("lesson-table", runs, [
        { title: "method", text: true, value: run => run.method }, { title: `${low}: p99, ms`, value: run => flowOf(run, low)?.delay?.p99 },
        { title: `${bulk}, Mbit/s`, value: run => flowOf(run, bulk)?.goodput_mbit_s }, { title: "its round trip, ms", value: run => flowOf(run, bulk)?.rtt?.mean },
      ]);
    } while (next);
    busy = false;
  };
  const control = controlOf(lesson.control, () => value, (key, moved) => { value = moved; state.tried = String(moved); keepLink(); update(); });
  control.classList.add("wide");
  $("lesson").replaceChildren(
    make("h2", {}, lesson.title), ...lesson.text.map(words => make("p", {}, words)), make("div", { class: "panel" }, control),
    make("div", { id: "lesson-legend", class: "legend" }), make("figure", { class: "chart" }, make("div", { id: "lesson-delay" })), make("figure", { class: "chart" }, make("div", { id: "lesson-rate" })),
    make("div", { class: "scroll" }, make("table", { id: "lesson-table" })),
    ...lesson.questions.map(([question, words]) => make("details", {}, make("summary", {}, question), make("p", {}, words))),
  );
  update().catch(error => $("lesson").append(make("p", { class: "error", role: "alert" }, error.message)));
}

// Around them ---------------------------------------------------------------------------------

const built = new Set();
const BUILD = { try: () => { buildControls(); buildScene(); return refresh(); }, study: buildStudy, results: buildResults, live: buildLive, learn: buildLessons };

function show(view) {
  if (!(view in BUILD)) view = "try";
  state.view = view;
  for (const tab of document.querySelectorAll("[role=tab]")) {
    const own = tab.dataset.view === view;
    tab.setAttribute("aria-selected", String(own));
    tab.tabIndex = own ? 0 : -1;
    $(`view-${tab.dataset.view}`).hidden = !own;
  }
  keepLink();
  if (!built.has(view)) {
    built.add(view);
    Promise.resolve(BUILD[view]()).catch(error => $("main").prepend(make("p", { class: "error", role: "alert" }, error.message)));
  }
}

$("tabs").addEventListener("click", event => { const view = event.target.dataset?.view; if (view) show(view); });
$("tabs").addEventListener("keydown", event => {
  const tabs = [...document.querySelectorAll("[role=tab]")], at = tabs.indexOf(document.activeElement);
  const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
  if (at < 0 || !step) return;
  const next = tabs[(at + step + tabs.length) % tabs.length];
  next.focus();
  show(next.dataset.view);
});

async function resolved(of) { return (await ask("/api/check", { json: of })).toml; }

let silence = null;
/** Shows a short message over every view for a moment. */
function say(words) {
  $("said").textContent = words;
  clearTimeout(silence);
  silence = setTimeout(() => { $("said").textContent = ""; }, 2500);
}

const COPIES = {
  link: async () => location.href, command: async () => asCommand(order()), toml: () => resolved(order()), python: async () => asPython(order()),
  "study-command": async () => asCommand(studyOrder()), "study-toml": () => resolved(studyOrder()), "study-python": async () => asPython(studyOrder()),
  "results-command": async () => comparison(),
};
document.addEventListener("click", async event => {
  const what = event.target.dataset?.copy;
  if (!what) return;
  try {
    await navigator.clipboard.writeText(await COPIES[what]());
    say("Copied.");
  } catch (error) { say(error.message); }
});

function theme(dark) {
  document.documentElement.dataset.theme = dark ? "dark" : "light";
  $("theme").textContent = dark ? "☀" : "☾";
  if (shown) drawTry();
  drawStudy();
  drawResults();
  drawLive();
  if (built.has("learn")) buildLessons();
}
const night = matchMedia("(prefers-color-scheme: dark)");
night.addEventListener("change", () => theme(night.matches));
$("theme").addEventListener("click", () => { theme(document.documentElement.dataset.theme !== "dark"); });
theme(night.matches);

let dragged = 0;
addEventListener("dragenter", event => { event.preventDefault(); dragged += 1; $("drop").hidden = false; });
addEventListener("dragover", event => event.preventDefault());
addEventListener("dragleave", () => { dragged -= 1; if (dragged <= 0) $("drop").hidden = true; });
addEventListener("drop", async event => {
  event.preventDefault();
  dragged = 0;
  $("drop").hidden = true;
  const [file] = event.dataTransfer.files;
  if (file) await takeFile(file);
});

/** A scenario is shown; a trace is kept beside the page and becomes the channel. */
async function takeFile(file) {
  show("study");
  $("study-error").textContent = "";
  try {
    if (file.name.endsWith(".toml")) {
      $("study-toml").value = await file.text();
      study.edited = true;
      $("study-text-box").open = true;
      tickMethods();
      $("study-title").textContent = `The text of ${file.name}`;
      await runStudy();
      return;
    }
    await takeTrace(file, {});
  } catch (error) { $("study-error").textContent = error.message; }
}

/** Keeps a trace, read by these keys of a channel; asks for others where it cannot be read so. */
async function takeTrace(file, keys) {
  const name = file.name.replaceAll(/[^\w.-]/g, "_").replace(/^\.+/, "");
  try {
    const { file: kept, info } = await ask(`/api/trace/${encodeURIComponent(name)}?${new URLSearchParams(keys)}`, { method: "POST", body: await file.arrayBuffer() });
    const all = Object.entries({ kind: "trace", format: "auto", file: kept, ...keys }).map(([key, value]) => `${key}=${JSON.stringify(value)}`);
    study.set = [...study.set.filter(one => !one.startsWith("channel=")), `channel={${all.join(", ")}}`];
    showSettings();
    $("study-answer").textContent = `${file.name}: ${info.format || "a trace"}, ${figure(info.duration_s)} s, mean ${figure(info.rate_mbit_s_mean)} Mbit/s. It is the channel of the next run.`;
  } catch (error) {
    // A file whose columns nothing names, and a table that these keys do not read.
    const { columns, keys: guess = {} } = error.answer || {};
    if (!columns || (!columns.length && !Object.keys(keys).length)) throw error;
    if (columns.length) $("columns-known").replaceChildren(...columns.map(value => make("option", { value })));
    const first = !Object.keys(keys).length && guess.time_column;
    $("columns-why").className = first ? "hint" : "error";
    const why = first ? `The columns are ${columns.join(", ")}. Which are the times and the rates?` : error.message;
    const other = await askKeys(file.name, why, { ...guess, ...keys });
    if (other) await takeTrace(file, other);
  }
}

/** The keys by which a table is to be read; none if the user gives up. */
function askKeys(name, why, keys) {
  const dialog = $("columns"), form = dialog.querySelector("form");
  $("columns-title").textContent = `How is ${name} read?`;
  $("columns-why").textContent = why;
  for (const field of form.querySelectorAll("[name]")) field.value = keys[field.name] || "";
  dialog.returnValue = "";
  dialog.showModal();
  return new Promise(done => dialog.addEventListener("close", () => {
    const filled = [...new FormData(form)].filter(([, value]) => value !== "");
    done(dialog.returnValue === "read" ? Object.fromEntries(filled) : undefined);
  }, { once: true }));
}
$("study-file").addEventListener("change", event => { const [file] = event.target.files; if (file) takeFile(file); event.target.value = ""; });

show(state.view);
