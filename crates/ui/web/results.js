// Earlier runs and campaigns: their list, and the figures of one or two of them.

const results = { folder: "", runs: [], open: [], read: new Map(), shown: [], off: [], words: {} };
/** The charts of runs over time, and over a swept setting. */
const OVER_TIME = { delay: "delay over time", goodput: "goodput over time", cdf: "distribution of the delay", queue: "queue of the RLC over time" };
const OVER_SETTING = { "p99-over": "99th percentile of the delay over a setting", "mean-over": "mean delay over a setting", "goodput-over": "goodput over a setting" };
/** Runs whose figures stand together at most. */
const MOST_OPEN = 2;

async function buildResults() {
  await knownThings();
  for (const id of ["results-what", "results-flow", "results-point", "results-over"]) $(id).addEventListener("change", () => { keepShown(); drawResults(); });
  const { folder: path, runs, all } = await ask("/api/results");
  const folder = path === "." ? "the folder of this page" : path;
  Object.assign(results, { folder: path, runs });
  $("results-folder").textContent = !runs.length ? `No folder below ${folder} holds results. A run or a campaign of justfull writes one; then load this page again.`
    : `${runs.length < all ? `The latest ${runs.length} of ${all} runs` : `${all} ${all === 1 ? "run" : "runs"}`} below ${folder}. Open one, or tick two to compare them.`;
  // In the link, names are escaped: a comma stands between two.
  const named = state.open.map(name => { try { return decodeURIComponent(name); } catch { return ""; } });
  results.open = named.filter(name => runs.some(run => run.folder === name)).slice(0, MOST_OPEN);
  listRuns();
  await openRuns();
  const lost = named.filter(name => !results.open.includes(name));
  if (lost.length) $("results-error").textContent = `The link names ${lost.join(" and ")}, which is not below ${folder}.`;
}

function listRuns() {
  const p99 = (run, of) => { const all = run.figures.map(f => f.delay_ms_p99).filter(v => v != null); return all.length ? Math[of](...all) : null; };
  const under = (run, of) => run.figures.find(f => f.delay_ms_p99 === p99(run, of))?.method;
  const delay = of => run => p99(run, of) == null ? "–" : `${figure(p99(run, of))} ${under(run, of)}`;
  tableOf("results-list", results.runs, !results.runs.length ? [] : [
    { title: "shown", text: true, value: run => results.open.indexOf(run.folder), cell: run => make("input", {
      type: "checkbox", checked: results.open.includes(run.folder), "aria-label": `Show ${run.folder}`, "data-run": run.folder,
      onchange: event => choose(event.target.checked ? [...results.open, run.folder].slice(-MOST_OPEN) : results.open.filter(name => name !== run.folder)),
    }) },
    { title: "run", text: true, value: run => run.folder, cell: run => make("button", { type: "button", class: "link", onclick: () => choose([run.folder], true) }, run.folder) },
    { title: "written, UTC", text: true, value: run => run.written.slice(0, 16).replace("T", " ") },
    { title: "scenario", text: true, value: run => (["run", "demo", ""].includes(run.kind) ? "" : `${run.kind} `) + run.scenario },
    { title: "seeds", whole: true, value: run => run.seeds.length },
    { title: "time, s", value: run => run.duration_s },
    { title: "least p99, ms", value: run => p99(run, "min"), cell: run => delay("min")(run) },
    { title: "greatest p99, ms", value: run => p99(run, "max"), cell: run => delay("max")(run) },
    { title: "goodput, Mbit/s", value: run => Math.max(...run.figures.map(f => f.goodput_mbit_s ?? 0)) || null },
    { title: "settings", text: true, wide: true, value: run => run.problem ? `not read: ${run.problem}` : run.settings.join("; ") },
    { title: "methods", text: true, wide: true, value: run => run.methods.join(", ") },
  ]);
}

/** The select lists with values in the link. */
const SHOWN = ["results-what", "results-flow", "results-point", "results-over"];

function keepShown() {
  state.shown = JSON.stringify(Object.fromEntries(SHOWN.map(id => [id, $(id).value])));
  keepLink();
}

async function choose(names, go) {
  results.open = names;
  state.open = names.map(encodeURIComponent);
  keepLink();
  for (const box of $("results-list").querySelectorAll("input")) box.checked = names.includes(box.dataset.run);
  await openRuns();
  if (go && names.length) $("results-title").focus();
}

/** The runs of a folder by method and by point of a sweep. */
async function readRuns(name) {
  if (!results.read.has(name)) {
    const { runs, words } = await ask(`/api/saved?folder=${encodeURIComponent(name)}`);
    Object.assign(results.words, words);
    const points = [...new Set(runs.map(run => run.point))];
    const groups = new Map(points.map(point => [point, { point, settings: null, runs: [] }]));
    for (const run of runs) Object.assign(groups.get(run.point), { settings: new Map(run.settings) }).runs.push(run);
    results.read.set(name, [...groups.values()]);
  }
  return results.read.get(name);
}

async function openRuns() {
  const names = results.open;
  $("results-error").textContent = "";
  try {
    const read = await Promise.all(names.map(readRuns));
    if (names !== results.open) return;
    results.shown = names.map((name, i) => ({ name, groups: read[i] }));
  } catch (error) {
    if (names !== results.open) return;
    $("results-error").textContent = error.message;
    results.shown = [];
  }
  // A reopened run is read again.
  for (const name of results.read.keys()) if (!names.includes(name)) results.read.delete(name);
  const asked = parsed(state.shown);
  const options = (id, all, first, words = {}) => {
    const kept = [$(id).value, asked[id], first].find(value => all.includes(value));
    $(id).replaceChildren(...all.map(value => make("option", { value, selected: value === kept }, words[value] || value)));
  };
  const groups = results.shown.flatMap(({ groups }) => groups);
  options("results-flow", [...new Set(groups.flatMap(group => group.runs.flatMap(run => run.flows.map(flow => flow.name))))], results.runs.find(run => run.folder === names[0])?.flow);
  options("results-point", [...new Set(groups.map(group => group.point))]);
  options("results-over", [...new Set(groups.flatMap(group => [...group.settings.keys()]))], undefined, results.words);
  const timed = groups.some(group => group.runs.some(run => run.series.flows.length));
  const swept = $("results-over").options.length > 0;
  options("results-what", [...(timed ? Object.keys(OVER_TIME) : []), ...(swept ? Object.keys(OVER_SETTING) : [])], swept ? "p99-over" : "delay", { ...OVER_TIME, ...OVER_SETTING });
  $("results-what-box").hidden = !timed && !swept;
  $("results-title").textContent = results.shown.map(({ name }) => name).join(" and ");
  $("results-commands").replaceChildren(...results.shown.map(({ name }) => make("li", {}, results.runs.find(run => run.folder === name)?.command || "")));
  drawResults();
}

/** The command that compares the shown runs, or draws the shown one. */
function comparison() {
  const paths = results.shown.map(({ name }) => quote(name === "." ? results.folder : `${results.folder}/${name}`));
  if (paths.length > 1) return `justfull compare ${paths.join(" ")}`;
  const what = $("results-what").value, flow = ` --flow ${quote($("results-flow").value)}`;
  if (!what) return `justfull campaign table ${paths[0]}${flow}`;
  if (what in OVER_SETTING) return `justfull plot ${paths[0]} --kind line --x ${quote($("results-over").value)} --y ${{ "p99-over": "delay.p99", "mean-over": "delay.mean", "goodput-over": "goodput" }[what]}${flow} -o figure.pdf`;
  return `justfull plot ${paths[0]} ${{ delay: `--kind series --y delay.p90${flow}`, goodput: `--kind series --y goodput${flow}`, cdf: `--kind cdf --y delay${flow}`, queue: "--kind series --y rlc_packets" }[what]} -o figure.pdf`;
}

function drawResults() {
  $("results-open").hidden = !results.shown.length;
  if (!results.shown.length) return;
  const point = $("results-point").value, flow = $("results-flow").value, what = $("results-what").value;
  const over = what in OVER_SETTING;
  $("results-point-box").hidden = over || $("results-point").options.length < 2;
  $("results-over-box").hidden = !over || $("results-over").options.length < 2;
  $("results-chart").parentElement.hidden = !what;
  const all = [...new Set(results.shown.flatMap(({ groups }) => groups.flatMap(group => group.runs.map(run => run.method))))];
  const lines = results.shown.flatMap(({ name, groups }, i) => (over ? otherSettings(groups) : [["", [groups.find(one => one.point === point) || groups[0]]]]).flatMap(([beside, own], j) => all.filter(method => own.some(group => group.runs.some(run => run.method === method))).map(method => {
    const looks = look(method, all);
    // The second folder and other settings have the same colours with other dashes.
    const dash = i + j ? DASHES[(DASHES.findIndex(d => d === looks.dash) + 4 * i + j) % DASHES.length] : looks.dash;
    const label = [method, beside].filter(Boolean).join(", ");
    const groups = own.map(({ point, settings, runs }) => ({ point, settings, runs: runs.filter(run => run.method === method) })).filter(group => group.runs.length);
    return { method, folder: name, label: results.shown.length > 1 ? `${label} (${name})` : label, look: { ...looks, dash }, groups, runs: groups.flatMap(group => group.runs) };
  })));
  legendOf("results-legend", lines.map(line => ({ label: line.label, ...line.look })), results.off, label => {
    results.off = results.off.includes(label) ? results.off.filter(other => other !== label) : [...results.off, label];
    drawResults();
  });
  const seen = lines.filter(line => !results.off.includes(line.label));
  if (over) drawOver("results-chart", what, flow, $("results-over").value, seen);
  else if (what) drawGroups("results-chart", what, flow, seen);
  const rows = lines.flatMap(line => line.groups.flatMap(group => [...new Set(group.runs.flatMap(run => run.flows.map(f => f.name)))].map(name => ({ ...line, point: group.point, name, flows: group.runs.map(run => flowOf(run, name)).filter(Boolean) }))));
  const value = get => row => mean(row.flows.map(get));
  tableOf("results-table", rows, [
    { title: "method", text: true, value: row => row.method }, { title: "flow", text: true, value: row => row.name },
    ...(over ? [{ title: "at", text: true, value: row => row.point }] : []),
    ...(results.shown.length > 1 ? [{ title: "run", text: true, value: row => row.folder }] : []),
    { title: "seeds", whole: true, value: row => row.flows.length }, { title: "delay mean, ms", value: value(f => f.delay?.mean) }, { title: "±", value: row => half(row.flows.map(f => f.delay?.mean)) },
    { title: "p99, ms", value: value(f => f.delay?.p99) }, { title: "goodput, Mbit/s", value: value(f => f.goodput_mbit_s) },
    { title: "round trip, ms", value: value(f => f.rtt?.mean) }, { title: "drops, %", value: value(f => f.drops_percent) },
  ]);
}

/** Groups the points of a sweep by the settings other than the x axis: [[settings in words, points]]. */
function otherSettings(groups) {
  const found = new Map();
  for (const group of groups) {
    const others = [...group.settings].filter(([name]) => name !== $("results-over").value);
    const words = [group.runs[0].scenario, ...others.map(([name, value]) => results.words[`${name}=${value}`])].filter(Boolean).join(", ");
    found.set(words, [...(found.get(words) || []), group]);
  }
  return [...found];
}

/** Draws means over seeds at each value of a setting, for lines [{label, look, groups}]. */
function drawOver(id, what, flow, name, lines) {
  const get = { "p99-over": f => f?.delay?.p99, "mean-over": f => f?.delay?.mean, "goodput-over": f => f?.goodput_mbit_s }[what];
  const texts = [...new Set(lines.flatMap(line => line.groups.map(group => group.settings.get(name))))].filter(text => text != null);
  const isNumber = texts.every(text => Number.isFinite(Number(text)));
  const x = isNumber ? texts.map(Number).sort((a, b) => a - b) : texts.map((_, i) => i);
  const at = value => line => line.groups.filter(group => isNumber ? Number(group.settings.get(name)) === value : group.settings.get(name) === texts[value]);
  const shown = lines.map(line => ({ label: line.label, ...line.look, values: x.map(value => mean(at(value)(line).flatMap(group => group.runs).map(run => get(flowOf(run, flow))))) }));
  const [yLabel, unit] = { "p99-over": [`delay of ${flow} (p99), ms`, "ms"], "mean-over": [`mean delay of ${flow}, ms`, "ms"], "goodput-over": [`goodput of ${flow}, Mbit/s`, "Mbit/s"] }[what];
  const log = what !== "goodput-over", xLabel = results.words[name] || name;
  caption(id, `${yLabel[0].toUpperCase()}${yLabel.slice(1)}`, `mean over seeds${log ? "; logarithmic" : ""}`);
  draw(id, { x, lines: shown, log, unit, xLabel, yLabel, height: 320, points: true, texts: isNumber ? null : texts });
}
