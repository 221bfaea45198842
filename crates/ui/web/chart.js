// Charts over uPlot: the same colours, tips and keys everywhere.

const charts = new Map();

function css(name) { return getComputedStyle(document.documentElement).getPropertyValue(name).trim(); }

/** Marks of a logarithmic axis that are worth a number: 1, 10, 100. */
function decades(self, splits) { return splits.map(v => Number.isInteger(Math.round(Math.log10(v) * 1e6) / 1e6) ? v : null); }

/** A logarithmic axis like `axis`, with lines at those marks only: lines between them would be a fence. */
function powers(axis) {
  return { filter: decades, grid: { ...axis.grid, filter: decades }, ticks: { ...axis.ticks, filter: decades } };
}

/** Numbers of an axis as in the tables, without a separator of thousands. */
function plain(self, splits) { return splits.map(v => v == null ? "" : String(+v.toPrecision(6))); }

function tip(legend) {
  let box;
  return {
    hooks: {
      init: u => { box = make("div", { class: "tip", hidden: true }); u.over.append(box); },
      setCursor: u => {
        const { idx, left, top } = u.cursor;
        if (idx == null || left < 0) { box.hidden = true; return; }
        box.replaceChildren(make("div", {}, `${legend.x}: ${legend.texts?.[idx] ?? figure(u.data[0][idx])}`));
        u.series.forEach((series, i) => {
          if (i === 0 || !series.show || series.quiet) return;
          const value = u.data[i][idx];
          if (value == null) return;
          const dot = make("i"); dot.style.background = series.stroke();
          box.append(make("div", {}, dot, `${series.label}: ${figure(value)} ${legend.unit}`));
        });
        box.hidden = box.childElementCount < 2;
        const right = left > u.over.clientWidth / 2;
        box.style.left = right ? "" : `${left + 14}px`;
        box.style.right = right ? `${u.over.clientWidth - left + 14}px` : "";
        box.style.top = `${Math.max(0, Math.min(top, u.over.clientHeight - box.offsetHeight))}px`;
        legend.at?.(u.data[0][idx]);
      },
    },
  };
}

/**
 * Draws `lines` [{label, colour, dash, width, values, quiet}] over `x` in the element `id`. Redraws the
 * existing chart if it has the same lines. `points` marks the values; `texts` replace the numbers 0, 1
 * and so on of `x`.
 */
function draw(id, { x, lines, log, unit, xLabel, yLabel, at, height = 240, range, points = false, texts = null }) {
  const box = $(id);
  const key = JSON.stringify([lines.map(l => [l.label, l.colour, l.quiet]), log, xLabel, yLabel, texts, document.documentElement.dataset.theme, height]);
  const data = [x, ...lines.map(line => log ? line.values.map(v => v == null ? v : Math.max(v, 0.05)) : line.values)];
  const old = charts.get(id);
  if (old && old.key === key) {
    old.legend.at = at;
    old.plot.setData(data);
    return old.plot;
  }
  old?.plot.destroy();
  const legend = { x: xLabel, unit, at, texts };
  const axis = { stroke: () => css("--ink"), grid: { stroke: () => css("--grid"), width: 1 }, ticks: { stroke: () => css("--grid"), width: 1 }, font: "13px system-ui, sans-serif", labelFont: "13px system-ui, sans-serif" };
  const options = {
    width: Math.max(240, box.clientWidth), height, cursor: { drag: { x: true, y: false } , sync: { key: "time" } },
    legend: { show: false },
    scales: { x: { time: false, range: range && (() => range) }, y: log ? { distr: 3, log: 10 } : { range: (u, lo, hi) => [Math.min(0, lo ?? 0), (hi ?? 1) * 1.05 || 1] } },
    axes: [
      { ...axis, label: xLabel, labelSize: 20, size: 38, values: texts ? (u, splits) => splits.map(v => texts[v] ?? "") : plain },
      { ...axis, label: yLabel, labelSize: 20, size: 58, values: plain, ...(log ? powers(axis) : {}) },
    ],
    series: [{}, ...lines.map(line => ({
      label: line.label, stroke: () => line.colour || css("--soft"), dash: line.dash, width: line.width || 2,
      points: points ? { show: true, size: 8, fill: line.colour } : { show: false }, spanGaps: points, quiet: line.quiet,
    }))],
    plugins: [tip(legend)],
  };
  options.series.slice(1).forEach((series, i) => { series.quiet = lines[i].quiet; });
  box.replaceChildren();
  const plot = new uPlot(options, data, box);
  plot.root.setAttribute("role", "img");
  plot.root.setAttribute("aria-label", `${yLabel} over ${xLabel}; the table below has the numbers`);
  charts.set(id, { plot, key, legend });
  return plot;
}

new ResizeObserver(() => {
  for (const [id, { plot }] of charts) {
    const width = $(id)?.clientWidth;
    if (width && Math.abs(width - plot.width) > 2) plot.setSize({ width, height: plot.height });
  }
}).observe(document.documentElement);

/** Names the chart in the element `id`, and says in small letters how to read it. */
function caption(id, title, how) {
  const figure = $(id).parentElement;
  if (!figure.querySelector("figcaption")) figure.prepend(make("figcaption"));
  figure.querySelector("figcaption").replaceChildren(`${title} `, make("small", {}, how));
}

/** A line as the chart draws it, so that lines are told apart in grey too. */
function sample({ colour, dash }) {
  const [svg, stroke] = ["svg", "line"].map(name => document.createElementNS("http://www.w3.org/2000/svg", name));
  for (const [k, v] of Object.entries({ x1: 1, x2: 39, y1: 6, y2: 6, stroke: colour || css("--soft"), "stroke-width": 3, "stroke-dasharray": dash.join(" ") })) stroke.setAttribute(k, v);
  svg.setAttribute("aria-hidden", "true");
  svg.append(stroke);
  return svg;
}

/** Buttons that show or hide lines [{label, colour, dash}]; they stay as long as they say the same. */
function legendOf(id, lines, off, toggle) {
  const key = JSON.stringify([lines.map(line => [line.label, line.colour, line.dash]), off]);
  if ($(id).dataset.key === key) return;
  $(id).dataset.key = key;
  $(id).replaceChildren(...lines.map(line =>
    make("button", { type: "button", "aria-pressed": String(!off.includes(line.label)), onclick: () => toggle(line.label) }, sample(line), line.label)));
}

/** The entries of a legend for methods that stand together. */
const entries = methods => methods.map(method => ({ label: method, ...look(method, methods) }));

/** A table that sorts by a click on a heading. `columns`: [{title, value, best, text, wide, whole,
 * cell}]; `cell` makes the content of a cell. A table with the same headings keeps them, and its order. */
function tableOf(id, rows, columns) {
  const table = $(id), titles = JSON.stringify(columns.map(column => column.title));
  const sort = table.sort?.titles === titles ? table.sort : (table.sort = { titles, by: null, down: false });
  const best = columns.map(column => {
    if (!column.best) return null;
    const values = rows.map(column.value).filter(v => v != null && Number.isFinite(v));
    return values.length ? Math[column.best](...values) : null;
  });
  function body() {
    const sorted = sort.by == null ? rows : [...rows].sort((a, b) => {
      const [u, v] = [columns[sort.by].value(a), columns[sort.by].value(b)];
      const order = u == null ? 1 : v == null ? -1 : u < v ? -1 : u > v ? 1 : 0;
      return sort.down ? -order : order;
    });
    return make("tbody", {}, ...sorted.map(row => make("tr", {}, ...columns.map((column, i) => {
      const value = column.value(row);
      const isBest = best[i] != null && rows.length > 1 && Math.abs(value - best[i]) <= Math.abs(best[i]) * 0.005;
      const content = column.cell ? column.cell(row) : column.text ? String(value ?? "") : column.whole && value != null ? String(Math.round(value)) : figure(value);
      const whole = column.wide ? make("div", { class: "clamp", title: content }, content) : content;
      return make("td", { class: column.wide ? "text wide" : column.text ? "text" : isBest ? "best" : null }, whole);
    }))));
  }
  const order = i => sort.by === i ? (sort.down ? "descending" : "ascending") : "none";
  const press = i => {
    Object.assign(sort, { down: sort.by === i && !sort.down, by: i });
    table.tHead.querySelectorAll("th").forEach((head, j) => head.setAttribute("aria-sort", order(j)));
    table.tBodies[0].replaceWith(body());
  };
  if (table.tHead && table.dataset.titles === titles) {
    table.tBodies[0].replaceWith(body());
    // A heading sorts the rows that are there now.
    table.tHead.querySelectorAll("th button").forEach((button, i) => { button.onclick = () => press(i); });
    return;
  }
  table.dataset.titles = titles;
  const head = make("tr", {}, ...columns.map((column, i) => make("th", { scope: "col", class: column.text ? "text" : null, "aria-sort": order(i) }, make("button", { type: "button" }, column.title))));
  head.querySelectorAll("button").forEach((button, i) => { button.onclick = () => press(i); });
  table.replaceChildren(make("thead", {}, head), body());
}

const mean = values => { const all = values.filter(v => v != null && Number.isFinite(v)); return all.length ? all.reduce((a, b) => a + b, 0) / all.length : null; };

/** Half of the 95 % interval by Student's t, for 3 to 100 values. */
function half(values) {
  const all = values.filter(v => v != null && Number.isFinite(v)), n = all.length;
  if (n < 3) return null;
  const m = mean(all), sd = Math.sqrt(all.reduce((s, v) => s + (v - m) ** 2, 0) / (n - 1));
  return known?.student_t[n] == null ? null : known.student_t[n] * sd / Math.sqrt(n);
}

/** Lines with times of their own over all times: a time that a line lacks is no gap in it. */
function joined(lines) {
  const tables = lines.map(line => [line.x, line.values]);
  if (lines.every(line => line.x.length === lines[0].x.length && line.x.every((t, i) => t === lines[0].x[i]))) return [lines[0]?.x || [], lines];
  const [x, ...values] = uPlot.join(tables);
  return [x, lines.map((line, i) => ({ ...line, values: values[i] }))];
}

/** The means over seeds of what was chosen, of `groups` [{label, look, runs}], in the element `id`. */
function drawGroups(id, what, flow, groups) {
  const [title, how] = {
    delay: [`Delay of ${flow}, ms`, "90th percentile of each moment, mean over seeds; logarithmic"], goodput: [`Goodput of ${flow}, Mbit/s`, "mean over seeds"],
    queue: ["Queue of the RLC, packets", "mean over seeds"], cdf: [`Packets of ${flow} by their delay`, "share that waits at most this long, mean over seeds; logarithmic"],
  }[what];
  caption(id, title, how);
  if (what === "cdf") {
    const grid = Array.from({ length: 200 }, (_, i) => 10 ** (-1 + i * 5 / 199));
    const share = runs => grid.map(x => mean(runs.map(run => shareBelow(flowOf(run, flow)?.delay?.cdf, x))));
    drawCdf(id, grid, groups.map(group => ({ label: group.label, ...group.look, values: share(group.runs) })));
    return;
  }
  const key = what === "delay" ? "delay_p90_ms" : "goodput_mbit_s", queue = what === "queue";
  const of = run => queue ? run.series.queues.RLC : run.series.flows.find(f => f.name === flow)?.[key] || [];
  const lines = groups.map(({ label, look: own, runs }) => {
    const { series } = runs[0];
    const x = queue ? series.queues.RLC.map((_, i) => (i + 1) * series.bin_s) : times(series, "flow_bin_s");
    return { label, ...own, x, values: x.map((_, i) => mean(runs.map(run => of(run)[i]))) };
  });
  const [x, shown] = joined(lines);
  const [yLabel, unit] = { delay: [`delay of ${flow} (p90), ms`, "ms"], goodput: [`goodput of ${flow}, Mbit/s`, "Mbit/s"], queue: ["queue of the RLC, packets", "packets"] }[what];
  draw(id, { x, lines: shown, log: what === "delay", unit, xLabel: "time, s", yLabel, height: 320 });
}

function shareBelow(cdf, x) {
  if (!cdf?.length) return null;
  let share = 0;
  for (const [time, at] of cdf) { if (time > x) break; share = at; }
  return share;
}

function drawCdf(id, x, lines) {
  const box = $(id), old = charts.get(id);
  old?.plot.destroy();
  charts.delete(id);
  box.replaceChildren();
  const axis = { stroke: () => css("--ink"), grid: { stroke: () => css("--grid") }, font: "13px system-ui, sans-serif", labelFont: "13px system-ui, sans-serif" };
  const legend = { x: "delay, ms", unit: "" };
  const plot = new uPlot({
    width: Math.max(240, box.clientWidth), height: 320, legend: { show: false },
    scales: { x: { time: false, distr: 3 }, y: { range: [0, 1] } },
    axes: [{ ...axis, ...powers(axis), label: "delay, ms", values: plain }, { ...axis, label: "share of packets", size: 58 }],
    series: [{}, ...lines.map(line => ({ label: line.label, stroke: () => line.colour || css("--soft"), dash: line.dash, width: 2, points: { show: false } }))],
    plugins: [tip(legend)],
  }, [x, ...lines.map(line => line.values)], box);
  charts.set(id, { plot, key: "cdf", legend });
}
