// A live run or a proxy that is running, from the program's readings of it.

const live = { places: [], place: 0, from: 0, runs: {}, points: [], answer: null, off: [], asking: false };
/** Time between two requests, in ms. */
const EVERY = 500;
/** Points that are kept, as in the program. */
const MOST_POINTS = 2400;

async function buildLive() {
  live.places = (await knownThings()).watched;
  if (!live.places.length) {
    $("live-answer").replaceChildren("Nothing is watched. Start a live run with ", make("code", {}, "justfull live live-lte --metrics 9100"), " and this page with ", make("code", {}, "justfull ui --watch 9100"), "; for a proxy name its socket: ", make("code", {}, "justfull ui --watch /run/justfull-proxy.sock"), ".");
    return;
  }
  $("live-place").replaceChildren(...live.places.map((name, i) => make("option", { value: i }, name)));
  $("live-place-box").hidden = live.places.length < 2;
  $("live-place").addEventListener("change", () => {
    Object.assign(live, { place: Number($("live-place").value), from: 0, runs: {}, points: [], answer: null, off: [] });
    lookLive();
  });
  for (const id of ["live-flow", "live-layer"]) $(id).addEventListener("change", drawLive);
  setInterval(lookLive, EVERY);
  await lookLive();
}

/** Takes what is new, while the view is seen. */
async function lookLive() {
  if (live.asking || state.view !== "live" || document.hidden) return;
  live.asking = true;
  const { place } = live;
  try {
    const answer = await ask(`/api/watch/${place}?from=${live.from}`);
    if (place !== live.place) return;
    live.answer = answer;
    live.runs = answer.runs;
    live.points = [...live.points, ...answer.points].filter(point => point.run in live.runs).slice(-MOST_POINTS);
    live.from = answer.next;
    drawLive();
  } catch (error) { note("live-problem", `This page has lost the program: ${error.message}`); } finally { live.asking = false; }
}

/** Sets a text that is read aloud, when it is another one. */
function note(id, text) { if ($(id).textContent !== text) $(id).textContent = text; }

function drawLive() {
  const { answer, points } = live;
  if (!answer) return;
  note("live-problem", answer.problem ? `${live.places[live.place]}: no answer now (${answer.problem}). The charts keep what was seen.` : "");
  const numbers = Object.keys(live.runs).map(Number).filter(number => points.some(point => point.run === number));
  const last = live.runs[numbers.at(-1)];
  $("live-stage").hidden = !last;
  if (!last) { $("live-answer").textContent = answer.problem ? "" : "Waiting for the first packets …"; return; }
  if (last.kind === "proxy") drawProxy(points.filter(point => point.run === numbers.at(-1)));
  else drawRuns(numbers, last);
  $("main").dataset.watched = String(points.length);
}

/** One chart of lines [{label, look, points}]; `value` takes a point. */
function drawWatched(id, lines, value, options) {
  const own = lines.map(line => ({ label: line.label, ...line.look, x: line.points.map(point => point.at_s), values: line.points.map(line.value || value) }));
  const capacity = options.capacity ? [{ label: "capacity", colour: null, dash: [2, 4], width: 1.5, x: options.capacity.map(point => point.at_s), values: options.capacity.map(point => point.capacity_mbit_s) }] : [];
  const [x, shown] = joined([...own, ...capacity.filter(line => line.values.some(v => v != null))]);
  draw(id, { x, lines: shown, xLabel: "time, s", height: 220, ...options });
}

/** A legend that only names the lines. */
function keys(pairs) {
  $("live-legend").dataset.key = "";
  $("live-legend").replaceChildren(...pairs.map(([label, look]) => make("span", { class: "key" }, sample(look), label)));
}

/** Methods of live runs over each other, each from its start. */
function drawRuns(numbers, last) {
  $("live-flow-box").hidden = $("live-layer-box").hidden = false;
  const methods = [...new Set(numbers.map(number => live.runs[number].method))];
  const twice = numbers.length > methods.length;
  const lines = numbers.map(number => {
    const run = live.runs[number];
    const alike = numbers.filter(other => ["method", "point", "seed"].every(key => live.runs[other][key] === run[key]));
    const more = [run.point, `seed ${run.seed}`, alike.length > 1 && `run ${alike.indexOf(number) + 1}`].filter(Boolean).join(", ");
    return { run, label: twice ? `${run.method}, ${more}` : run.method, look: look(run.method, methods), points: live.points.filter(point => point.run === number) };
  });
  const names = [...new Set(live.points.flatMap(point => Object.keys(point.rate_mbit_s)))];
  if (names.join() !== [...$("live-flow").options].map(option => option.value).join()) {
    const kept = $("live-flow").value;
    $("live-flow").replaceChildren(...names.map(name => make("option", { value: name, selected: name === kept }, name)));
  }
  const flow = $("live-flow").value, layer = $("live-layer").value;
  legendOf("live-legend", lines.map(line => ({ label: line.label, ...line.look })), live.off, label => {
    live.off = live.off.includes(label) ? live.off.filter(other => other !== label) : [...live.off, label];
    drawLive();
  });
  const shown = lines.filter(line => !live.off.includes(line.label));
  const running = lines.at(-1), { now } = live.answer;
  const second = running.points.at(-1).at_s;
  $("live-answer").textContent = `${last.scenario} under ${running.label}: second ${second.toFixed(0)}${now?.end_s ? ` of ${now.end_s.toFixed(0)}` : ""}.${now?.late ? " The run is late: this machine is too slow for it." : ""}`;
  $("live-delay-title").replaceChildren(`Delay of ${flow}, ms `, make("small", {}, "90th percentile of each half second; logarithmic"));
  $("live-level-title").textContent = `Queue of the ${layer}, packets`;
  drawWatched("live-delay", shown, point => point.delay_ms[flow] ?? null, { log: true, unit: "ms", yLabel: `delay of ${flow}, ms` });
  drawWatched("live-rate", shown, point => point.rate_mbit_s[flow] ?? null, { unit: "Mbit/s", yLabel: `${flow}, Mbit/s`, capacity: running.points });
  drawWatched("live-level", shown, point => point.level[layer] ?? null, { unit: "packets", yLabel: "packets" });
  tableOf("live-table", lines, [
    { title: "method", text: true, value: line => line.label }, { title: "seconds", value: line => line.points.at(-1).at_s },
    { title: "delay now, ms", value: line => line.points.at(-1).delay_ms[flow] }, { title: "greatest, ms", value: line => Math.max(...line.points.map(point => point.delay_ms[flow] ?? 0)) },
    { title: "throughput now, Mbit/s", value: line => line.points.at(-1).rate_mbit_s[flow] }, { title: "mean, Mbit/s", value: line => mean(line.points.map(point => point.rate_mbit_s[flow])) },
    { title: "queue now, packets", whole: true, value: line => line.points.at(-1).level[layer] },
  ]);
}

/** Legs, rates and windows of a proxy. */
function drawProxy(points) {
  $("live-flow-box").hidden = $("live-layer-box").hidden = true;
  const names = key => [...new Set(points.flatMap(point => Object.keys(point[key])))];
  const all = [...names("delay_ms"), ...names("rate_mbit_s"), ...names("level")];
  const hue = label => { const n = all.indexOf(label) % COLOURS.length; return { colour: (document.documentElement.dataset.theme === "dark" ? NIGHT : COLOURS)[n], dash: DASHES[n] }; };
  const lines = key => names(key).map(label => ({ label, look: hue(label), points, value: point => point[key][label] ?? null }));
  keys(all.map(label => [label, hue(label)]));
  const { now, rows } = live.answer, at = points.at(-1);
  const words = [now.state && `The proxy is ${now.state}`, now.control && `control ${now.control}`, now.source && `reports of the radio: ${now.source}`, `${now.open ?? now.flows ?? 0} connections`, ...(now.unsplit || []).map(why => `new connections pass unsplit: ${why}`)];
  $("live-answer").textContent = `${words.filter(Boolean).join("; ")}.`;
  $("live-delay-title").replaceChildren("Round trips, ms ", make("small", {}, "means over open connections"));
  $("live-level-title").textContent = "Windows";
  drawWatched("live-delay", lines("delay_ms"), null, { unit: "ms", yLabel: "round trip, ms" });
  drawWatched("live-rate", lines("rate_mbit_s"), null, { unit: "Mbit/s", yLabel: "Mbit/s", capacity: points });
  drawWatched("live-level", lines("level"), null, { unit: "", yLabel: names("level")[0]?.includes("%") ? "%" : "kB" });
  tableOf("live-table", rows.length ? rows : [at], rows.length ? [
    { title: "client", text: true, value: row => row.client }, { title: "server", text: true, value: row => row.server }, { title: "kind", text: true, value: row => row.category },
    { title: "down, Mbit/s", value: row => row.down_mbit_s }, { title: "server window, kB", value: row => row.server_window == null ? null : row.server_window / 1e3 },
    { title: "radio window, kB", value: row => row.radio_window == null ? null : row.radio_window / 1e3 }, { title: "in flight, kB", value: row => row.in_flight == null ? null : row.in_flight / 1e3 },
    { title: "wired, ms", value: row => row.wired_rtt_s * 1e3 || null }, { title: "radio, ms", value: row => row.radio_rtt_s * 1e3 || null },
  ] : [
    { title: "seconds", value: point => point.at_s }, { title: "capacity, Mbit/s", value: point => point.capacity_mbit_s },
    ...names("rate_mbit_s").map(label => ({ title: `${label}, Mbit/s`, value: point => point.rate_mbit_s[label] })),
    ...names("delay_ms").map(label => ({ title: `${label}, ms`, value: point => point.delay_ms[label] })),
  ]);
}
