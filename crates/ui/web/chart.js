// Charts over uPlot: the same colours, tips and keys everywhere.

const charts = new Map();

function css(name) { return getComputedStyle(document.documentElement).getPropertyValue(name).trim(); }

/** Marks of a logarithmic axis that are worth a number: 1, 10, 100. */
function decades(self, splits) { return splits.map(v => Number.isInteger(Math.round(Math.log10(v) * 1e6) / 1e6) ? v : null); }

function tip(legend) {
  let box;
  return {
    hooks: {
      init: u => { box = make("div", { class: "tip", hidden: true }); u.over.append(box); },
      setCursor: u => {
        const { idx, left, top } = u.cursor;
        if (idx == null || left < 0) { box.hidden = true; return; }
        box.replaceChildren(make("div", {}, `${legend.x}: ${figure(u.data[0][idx])}`));
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
 * Draws `lines` [{label, colour, dash, width, values, quiet}] over `x` in the element `id`, or redraws
 * the chart that is there if it has the same lines.
 */
function draw(id, { x, lines, log, unit, xLabel, yLabel, at, height = 240, range }) {
  const box = $(id);
  const key = JSON.stringify([lines.map(l => [l.label, l.colour, l.quiet]), log, xLabel, yLabel, document.documentElement.dataset.theme, height]);
  const data = [x, ...lines.map(line => log ? line.values.map(v => v == null ? null : Math.max(v, 0.05)) : line.values)];
  const old = charts.get(id);
  if (old && old.key === key) {
    old.legend.at = at;
    old.plot.setData(data);
    return old.plot;
  }
  old?.plot.destroy();
  const legend = { x: xLabel, unit, at };
  const axis = { stroke: () => css("--ink"), grid: { stroke: () => css("--grid"), width: 1 }, ticks: { stroke: () => css("--grid"), width: 1 }, font: "13px system-ui, sans-serif", labelFont: "13px system-ui, sans-serif" };
  const options = {
    width: Math.max(240, box.clientWidth), height, cursor: { drag: { x: true, y: false } , sync: { key: "time" } },
    legend: { show: false },
    scales: { x: { time: false, range: range && (() => range) }, y: log ? { distr: 3, log: 10 } : { range: (u, lo, hi) => [Math.min(0, lo ?? 0), (hi ?? 1) * 1.05 || 1] } },
    axes: [
      { ...axis, label: xLabel, labelSize: 20, size: 38 },
      { ...axis, label: yLabel, labelSize: 20, size: 58, ...(log ? { filter: decades } : {}) },
    ],
    series: [{}, ...lines.map(line => ({
      label: line.label, stroke: () => line.colour || css("--soft"), dash: line.dash, width: line.width || 2,
      points: { show: false }, spanGaps: false, quiet: line.quiet,
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

/** Buttons that show or hide methods. */
function legendOf(id, methods, all, off, toggle) {
  $(id).replaceChildren(...methods.map(method => {
    const { colour, dash } = look(method, all);
    const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
    const stroke = document.createElementNS(svg.namespaceURI, "line");
    for (const [k, v] of Object.entries({ x1: 1, x2: 25, y1: 6, y2: 6, stroke: colour, "stroke-width": 3, "stroke-dasharray": dash.join(" ") })) stroke.setAttribute(k, v);
    svg.setAttribute("aria-hidden", "true");
    svg.append(stroke);
    return make("button", { type: "button", "aria-pressed": String(!off.includes(method)), onclick: () => toggle(method) }, svg, method);
  }));
}

/** A table that sorts by a click on a heading. `columns`: [{title, value, best}]. */
function tableOf(id, rows, columns) {
  const table = $(id);
  let by = null, down = false;
  const best = columns.map(column => {
    if (!column.best) return null;
    const values = rows.map(column.value).filter(v => v != null && Number.isFinite(v));
    return values.length ? Math[column.best](...values) : null;
  });
  function fill() {
    const sorted = by == null ? rows : [...rows].sort((a, b) => {
      const [u, v] = [columns[by].value(a), columns[by].value(b)];
      const order = u == null ? 1 : v == null ? -1 : u < v ? -1 : u > v ? 1 : 0;
      return down ? -order : order;
    });
    const head = make("tr", {}, ...columns.map((column, i) => make("th", { scope: "col", class: column.text ? "text" : null, "aria-sort": by === i ? (down ? "descending" : "ascending") : "none" },
      make("button", { type: "button", onclick: () => { down = by === i && !down; by = i; fill(); } }, column.title))));
    const body = sorted.map(row => make("tr", {}, ...columns.map((column, i) => {
      const value = column.value(row);
      const isBest = best[i] != null && rows.length > 1 && Math.abs(value - best[i]) <= Math.abs(best[i]) * 0.005;
      return make("td", { class: column.text ? "text" : isBest ? "best" : null }, column.text ? String(value) : figure(value));
    })));
    table.replaceChildren(make("thead", {}, head), make("tbody", {}, ...body));
  }
  fill();
}
