// Makes tables sortable and charts interactive. Without this script the page shows the same tables and pictures.
"use strict";
(() => {
  const make = (name, attributes, ...children) => {
    const element = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) {
      if (key.startsWith("on")) element.addEventListener(key.slice(2), value); else element.setAttribute(key, value);
    }
    element.append(...children);
    return element;
  };

  // A sort keeps a row and its sub-rows together.
  const grouped = body => [...body.rows].reduce((groups, row) => {
    if (groups.length && (row.classList.contains("part") || row.classList.contains("note"))) groups.at(-1).push(row); else groups.push([row]);
    return groups;
  }, []);
  // `5G-BDP` is a name, not the number 5.
  const number = text => /^[-+]?[\d.]+(e[-+]?\d+)?(?![\w.-])/.test(text) ? parseFloat(text) : null;
  const sort = (table, column, head) => {
    const down = head.getAttribute("aria-sort") === "ascending", body = table.tBodies[0], groups = grouped(body);
    const text = ([row]) => row.cells[column]?.textContent.trim() || "";
    const order = (a, b) => {
      const [u, v] = [number(text(a)), number(text(b))];
      if ((u === null) !== (v === null)) return u === null ? 1 : -1;
      return (down ? -1 : 1) * (u === null ? text(a).localeCompare(text(b)) : u - v);
    };
    groups.sort((a, b) => a[0].classList.contains("reference") - b[0].classList.contains("reference") || order(a, b));
    for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", down ? "descending" : "ascending");
    body.append(...groups.flat());
  };
  for (const table of document.querySelectorAll("table")) {
    [...table.tHead.rows[0].cells].forEach((head, column) => {
      head.replaceChildren(make("button", { type: "button", class: "sort", onclick: () => sort(table, column, head) }, ...head.childNodes));
    });
  }

  // The colours of methods, and their lighter hues on a dark screen.
  const HUES = { "#0072b2": "#4aa8e0", "#e69f00": "#f2bd3c", "#009e73": "#2fc79b", "#cc79a7": "#e79cc8", "#56b4e9": "#8fd0f5", "#d55e00": "#ff8a3d", "#808080": "#b0b0b0", "#d8cb1f": "#e8dd5a", "#000000": "#ffffff" };
  const night = matchMedia("(prefers-color-scheme: dark)");
  const shade = colour => night.matches && HUES[colour.toLowerCase()] || colour;
  const ink = () => getComputedStyle(document.body).color;
  const figures = value => value === null || value === undefined ? "–" : value >= 100 ? value.toFixed(0) : value >= 10 ? value.toFixed(1) : value.toFixed(2);
  const tip = unit => {
    let box;
    return { hooks: {
      init: plot => { box = make("div", { class: "tip", hidden: "" }); plot.over.append(box); },
      setCursor: plot => {
        const { idx, left } = plot.cursor;
        box.hidden = idx === null || idx === undefined || left < 0;
        if (box.hidden) return;
        box.replaceChildren(make("div", {}, `${figures(plot.data[0][idx])} s`));
        plot.series.forEach((series, i) => {
          if (!i || !series.show || series.of || plot.data[i][idx] == null) return;
          const dot = make("i", {});
          dot.style.background = series.stroke();
          box.append(make("div", {}, dot, ` ${series.label}: ${figures(plot.data[i][idx])} ${unit}`));
        });
        const right = left > plot.over.clientWidth / 2;
        box.style.left = right ? "" : `${left + 14}px`;
        box.style.right = right ? `${plot.over.clientWidth - left + 14}px` : "";
      },
    } };
  };

  // Of a logarithmic axis the powers of ten: lines between them would be a fence.
  const decades = (_, splits) => splits.map(v => Number.isInteger(Math.round(Math.log10(v) * 1e6) / 1e6) ? v : null);
  // A line as the chart draws it, so that methods are told apart in grey too.
  const sample = ({ colour, dashes }) => {
    const [svg, line] = ["svg", "line"].map(name => document.createElementNS("http://www.w3.org/2000/svg", name));
    const looks = { x1: 1, x2: 39, y1: 6, y2: 6, stroke: shade(colour), "stroke-width": 3, "stroke-dasharray": dashes.map(length => 2 * length).join(" ") };
    for (const [key, value] of Object.entries(looks)) line.setAttribute(key, value);
    svg.setAttribute("aria-hidden", "true");
    svg.append(line);
    return svg;
  };
  const explore = (box, { log, unit, panels }) => {
    const plots = [], off = new Set();
    const legend = make("div", { class: "legend" }), live = make("div", { class: "live" }, legend);
    box.replaceWith(live);
    for (const { name, step, methods } of panels) {
      const place = make("div", {});
      live.append(make("h5", {}, `${log ? "delay" : "goodput"} of ${name}, ${unit}${log ? " (logarithmic)" : ""}`), place);
      const count = Math.max(...methods.map(method => method.mid.length));
      const x = Array.from({ length: count }, (_, i) => (i + 0.5) * step);
      const series = [{}], data = [x], bands = [];
      for (const { name: label, colour, dashes, low, mid, high } of methods) {
        series.push({ label, stroke: () => shade(colour), dash: dashes.map(length => 2 * length), width: 2, points: { show: false } });
        data.push(mid);
        if (!low) continue;
        for (const edge of [high, low]) { series.push({ stroke: () => "transparent", points: { show: false }, of: label }); data.push(edge); }
        bands.push({ series: [series.length - 2, series.length - 1], fill: () => `${shade(colour)}33` });
      }
      const line = { stroke: "#8884", width: 1 }, power = { ...line, filter: decades };
      const axis = { stroke: ink, grid: line, ticks: line };
      plots.push(new uPlot({
        width: Math.max(280, live.clientWidth), height: 260, legend: { show: false }, cursor: { drag: { x: true, y: false }, sync: { key: "time" } },
        scales: { x: { time: false }, y: log ? { distr: 3 } : { range: (_, low, high) => [Math.min(0, low ?? 0), 1.05 * (high || 1)] } },
        axes: [{ ...axis, label: "time, s", labelSize: 18, size: 34 }, { ...axis, size: 56, values: (_, splits) => splits.map(v => v == null ? "" : String(+v.toPrecision(6))), ...(log ? { filter: decades, grid: power, ticks: power } : {}) }],
        series, bands, plugins: [tip(unit)],
      }, data, place));
    }
    addEventListener("resize", () => plots.forEach(plot => plot.setSize({ width: Math.max(280, live.clientWidth), height: 260 })));
    const names = new Map(panels.flatMap(panel => panel.methods.map(method => [method.name, method])));
    for (const [name, method] of names) {
      const key = make("button", { type: "button", "aria-pressed": "true", onclick: () => {
        if (!off.delete(name)) off.add(name);
        key.setAttribute("aria-pressed", String(!off.has(name)));
        for (const plot of plots) plot.series.forEach((one, i) => { if (i && (one.label === name || one.of === name)) plot.setSeries(i, { show: !off.has(name) }); });
      } }, sample(method), ` ${name}`);
      legend.append(key);
    }
    legend.append(make("button", { type: "button", class: "picture", onclick: () => live.replaceWith(box) }, "Show the picture"));
  };
  const charts = JSON.parse(document.getElementById("charts")?.textContent || "[]");
  charts.forEach((chart, i) => {
    const figure = document.getElementById(chart.id), box = figure?.querySelector(".plot");
    if (!box) return;
    const open = () => { if (box.isConnected) explore(box, chart); };
    figure.querySelector("h4").append(" ", make("button", { type: "button", class: "explore", onclick: open }, "Explore"));
    // The figure that answers the question is interactive from the start.
    if (i === 0 && !figure.closest("details")) open();
  });
  // On paper and after a change between day and night the pictures stand in place of the charts.
  const close = () => document.querySelectorAll(".live .picture").forEach(button => button.click());
  addEventListener("beforeprint", close);
  night.addEventListener("change", close);
})();
