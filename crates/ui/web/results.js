// Earlier runs: their list, and the figures of one or two of them.

const results = { folder: "", runs: [], open: [], read: new Map(), shown: [], off: [] };
/** Runs whose figures stand together at most. */
const MOST_OPEN = 2;

async function buildResults() {
  await knownThings();
  for (const id of ["results-what", "results-flow", "results-point"]) $(id).addEventListener("change", drawResults);
  const { folder, runs, all } = await ask("/api/results");
  Object.assign(results, { folder, runs });
  $("results-folder").textContent = !runs.length ? `No folder below ${folder} holds results. A run of justfull writes one; then load this page again.`
    : `${runs.length < all ? `The latest ${runs.length} of ${all} runs` : `${all} ${all === 1 ? "run" : "runs"}`} below ${folder}. Open one, or tick two to compare them.`;
  // In the link, names are escaped: a comma stands between two.
  const named = state.open.map(name => { try { return decodeURIComponent(name); } catch { return ""; } });
  results.open = named.filter(name => runs.some(run => run.folder === name)).slice(0, MOST_OPEN);
  listRuns();
  await openRuns();
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
    { title: "settings", text: true, wide: true, value: run => run.problem ? `not read: ${run.problem}` : run.settings.join("; ") },
    { title: "seeds", whole: true, value: run => run.seeds.length },
    { title: "time, s", value: run => run.duration_s },
    { title: "least p99, ms", value: run => p99(run, "min"), cell: run => delay("min")(run) },
    { title: "greatest p99, ms", value: run => p99(run, "max"), cell: run => delay("max")(run) },
    { title: "goodput, Mbit/s", value: run => Math.max(...run.figures.map(f => f.goodput_mbit_s ?? 0)) || null },
    { title: "methods", text: true, value: run => run.methods.join(", ") },
  ]);
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
    const { runs } = await ask(`/api/saved?folder=${encodeURIComponent(name)}`);
    const points = [...new Set(runs.map(run => run.point))];
    const groups = points.map(point => ({ point, runs: runs.filter(run => run.point === point) }));
    results.read.set(name, groups);
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
  // A run that is opened again is read again.
  for (const name of results.read.keys()) if (!names.includes(name)) results.read.delete(name);
  const options = (id, all, first) => {
    const kept = all.includes($(id).value) ? $(id).value : first;
    $(id).replaceChildren(...all.map(value => make("option", { value, selected: value === kept }, value)));
  };
  const groups = results.shown.flatMap(({ groups }) => groups);
  options("results-flow", [...new Set(groups.flatMap(group => group.runs.flatMap(run => run.flows.map(flow => flow.name))))], results.runs.find(run => run.folder === names[0])?.flow);
  const points = [...new Set(groups.map(group => group.point))];
  options("results-point", points);
  $("results-point-box").hidden = points.length < 2 || results.shown.every(({ groups }) => groups.length < 2);
  $("results-title").textContent = results.shown.map(({ name }) => name).join(" and ");
  $("results-commands").replaceChildren(...results.shown.map(({ name }) => make("li", {}, results.runs.find(run => run.folder === name)?.command || "")));
  drawResults();
}

/** The command that compares the shown runs, or draws the shown one. */
function comparison() {
  const paths = results.shown.map(({ name }) => quote(name === "." ? results.folder : `${results.folder}/${name}`));
  if (paths.length > 1) return `justfull compare ${paths.join(" ")}`;
  const what = $("results-what").value, flow = ` --flow ${quote($("results-flow").value)}`;
  return `justfull plot ${paths[0]} ${{ delay: `--kind series --y delay.p90${flow}`, goodput: `--kind series --y goodput${flow}`, cdf: `--kind cdf --y delay${flow}`, queue: "--kind series --y rlc_packets" }[what]} -o figure.pdf`;
}

function drawResults() {
  $("results-open").hidden = !results.shown.length;
  if (!results.shown.length) return;
  const point = $("results-point").value, flow = $("results-flow").value;
  const all = [...new Set(results.shown.flatMap(({ groups }) => groups.flatMap(group => group.runs.map(run => run.method))))];
  const lines = results.shown.flatMap(({ name, groups }, i) => {
    const group = groups.find(one => one.point === point) || groups[0];
    const of = method => (group?.runs || []).filter(run => run.method === method);
    return all.filter(method => of(method).length).map(method => {
      const own = look(method, all);
      // The second folder has the colours of the first, in other dashes.
      const dash = i ? DASHES[(DASHES.findIndex(d => d === own.dash) + 4) % DASHES.length] : own.dash;
      return { method, folder: name, label: results.shown.length > 1 ? `${method} (${name})` : method, look: { ...own, dash }, runs: of(method) };
    });
  });
  legendOf("results-legend", lines.map(line => ({ label: line.label, ...line.look })), results.off, label => {
    results.off = results.off.includes(label) ? results.off.filter(other => other !== label) : [...results.off, label];
    drawResults();
  });
  drawGroups("results-chart", $("results-what").value, flow, lines.filter(line => !results.off.includes(line.label)));
  const rows = lines.flatMap(line => [...new Set(line.runs.flatMap(run => run.flows.map(f => f.name)))].map(name => ({ ...line, name, flows: line.runs.map(run => flowOf(run, name)).filter(Boolean) })));
  const value = get => row => mean(row.flows.map(get));
  tableOf("results-table", rows, [
    { title: "method", text: true, value: row => row.method }, { title: "flow", text: true, value: row => row.name },
    ...(results.shown.length > 1 ? [{ title: "run", text: true, value: row => row.folder }] : []),
    { title: "seeds", whole: true, value: row => row.flows.length }, { title: "delay mean, ms", value: value(f => f.delay?.mean) }, { title: "±", value: row => half(row.flows.map(f => f.delay?.mean)) },
    { title: "p99, ms", value: value(f => f.delay?.p99) }, { title: "goodput, Mbit/s", value: value(f => f.goodput_mbit_s) },
    { title: "round trip, ms", value: value(f => f.rtt?.mean) }, { title: "drops, %", value: value(f => f.drops_percent) },
  ]);
}
