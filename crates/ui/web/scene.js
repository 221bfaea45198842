// The picture: a server, a base station with its queue, and a phone.

const NS = "http://www.w3.org/2000/svg";

function shape(name, attributes, ...children) {
  const element = document.createElementNS(NS, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...children);
  return element;
}

let sceneParts;

function buildScene() {
  const svg = $("scene");
  const text = (x, y, words, anchor = "middle", size = 14) => shape("text", { x, y, "text-anchor": anchor, "font-size": size, fill: "currentColor" }, words);
  const box = (x, y, width, height, extra = {}) => shape("rect", { x, y, width, height, rx: 6, fill: "none", stroke: "currentColor", "stroke-width": 1.5, ...extra });
  const wire = (x1, x2) => shape("line", { x1, x2, y1: 62, y2: 62, stroke: "currentColor", "stroke-width": 1.5, "stroke-dasharray": "2 4" });
  const fill = shape("rect", { x: 322, y: 100, width: 96, height: 0, fill: "var(--accent)", opacity: .85 });
  const label = text(370, 126, "");
  const delay = text(600, 126, "");
  const rate = text(225, 50, "");
  const bars = [0, 1, 2, 3].map(i => shape("rect", { x: 470 + i * 13, y: 74 - i * 12, width: 9, height: 12 + i * 12, fill: "currentColor", opacity: .2 }));
  svg.replaceChildren(
    box(20, 36, 90, 52), text(65, 67, "server"), wire(112, 318),
    box(320, 10, 100, 92), fill, text(370, 28, "queue"),
    wire(422, 462), ...bars, wire(526, 566),
    shape("rect", { x: 570, y: 12, width: 60, height: 94, rx: 9, fill: "none", stroke: "currentColor", "stroke-width": 1.5 }),
    text(600, 64, "phone"), label, delay, rate,
  );
  sceneParts = { fill, label, delay, rate, bars };
}

/** Shows the cell of `run` at `time`; the queue is full with `most` packets. */
function showScene(run, time, most) {
  if (!sceneParts) buildScene();
  const { fill, label, delay, rate, bars } = sceneParts;
  const at = Math.min(Math.floor(time / run.series.bin_s), run.series.delivered_mbit_s.length - 1);
  const queued = ["UPF", "SDAP", "RLC"].map(layer => run.series.queues[layer][at] || 0).reduce((a, b) => a + b, 0);
  const share = Math.min(1, queued / Math.max(10, most));
  fill.setAttribute("height", String(68 * share));
  fill.setAttribute("y", String(101 - 68 * share));
  label.textContent = `${queued < 10 ? queued.toFixed(1) : Math.round(queued)} packets wait`;
  const call = run.series.flows.find(flow => flow.name === "call");
  const bin = Math.min(Math.floor(time / run.series.flow_bin_s), (call?.delay_ms.length || 1) - 1);
  delay.textContent = call?.delay_ms[bin] == null ? "" : `the call: ${figure(call.delay_ms[bin], " ms")}`;
  rate.textContent = `${run.method}, second ${time.toFixed(0)}`;
  const capacities = run.series.capacity_per_slot;
  const strength = capacities[at] / Math.max(...capacities);
  bars.forEach((bar, i) => bar.setAttribute("opacity", strength * 4 > i + .2 ? 1 : .2));
}
