// Curves over time or steps: with a mouse, drag to see a part more closely and double-click to see all; with
// a keyboard, + and − change the part, the arrows move it, 0 shows all. The numbers are there as a table, too.

import { h } from "./dom.js";
import { table } from "./parts.js";

const HEIGHT = 220;
const MARGIN = { left: 58, right: 14, top: 10, bottom: 26 };
const COLOURS = 8;

/** What a user has chosen to see of each chart, by the chart's name. */
const chosen = new Map();

/**
 * Draws curves `{ name, points: [[x, y], …] }`. Options: `formatX`, `formatY`, `width`, `isLogarithmic`, and
 * `redraw` to be called when the part that is seen changes.
 */
export function chart(name, curves, options) {
  const width = Math.max(260, options.width ?? 600);
  const all = extent(curves.flatMap((curve) => curve.points.map(([x]) => x)));
  if (!all) return h("p", { class: "nothing" }, "No values yet.");
  const view = chosen.get(name) ?? {};
  const range = view.range ?? all;
  const seen = curves.map((curve, at) => ({
    ...curve, colour: at % COLOURS, points: curve.points.filter(([x]) => x >= range[0] && x <= range[1]),
  }));
  const isLog = options.isLogarithmic
    && seen.every((curve) => curve.points.every(([, y]) => y > 0));
  const ys = extent(seen.flatMap((curve) => curve.points.map(([, y]) => y))) ?? [0, 1];
  const low = isLog ? ys[0] : Math.min(0, ys[0]);
  const high = ys[1] > low ? ys[1] : low + 1;
  const inner = [width - MARGIN.left - MARGIN.right, HEIGHT - MARGIN.top - MARGIN.bottom];
  const span = range[1] - range[0] || 1;
  const toX = (x) => MARGIN.left + ((x - range[0]) / span) * inner[0];
  const part = (y) => (isLog ? Math.log(y / low) / Math.log(high / low) : (y - low) / (high - low));
  const toY = (y) => MARGIN.top + (1 - part(y)) * inner[1];
  const show = (next) => {
    chosen.set(name, { ...view, ...next, drag: undefined });
    options.redraw();
  };
  const fromEvent = (event) => {
    const box = event.currentTarget.getBoundingClientRect();
    const x = ((event.clientX - box.left) / box.width) * width;
    return range[0] + (Math.min(Math.max(x - MARGIN.left, 0), inner[0]) / inner[0]) * span;
  };
  const zoom = (factor, shift = 0) => {
    const middle = (range[0] + range[1]) / 2 + shift * span;
    const half = (span * factor) / 2;
    const next = [Math.max(all[0], middle - half), Math.min(all[1], middle + half)];
    if (next[1] > next[0]) show({ range: factor >= 1 && next[0] <= all[0] && next[1] >= all[1] ? undefined : next });
  };
  const keys = {
    "+": () => zoom(0.5), "=": () => zoom(0.5), "-": () => zoom(2), 0: () => show({ range: undefined }),
    ArrowLeft: () => zoom(1, -0.25), ArrowRight: () => zoom(1, 0.25),
  };
  const drag = view.drag;
  const lines = seen.map((curve) => h("path", {
    key: curve.name, class: `curve c${curve.colour}`,
    d: curve.points.map(([x, y], at) => `${at ? "L" : "M"}${toX(x).toFixed(1)} ${toY(y).toFixed(1)}`).join(""),
  }));
  const cross = view.hover === undefined ? [] : hovered(seen, view.hover, toX, toY, options, width);
  const said = seen.map((curve) => {
    const last = curve.points.at(-1);
    return `${curve.name}: ${last ? options.formatY(last[1]) : "no value"}`;
  });
  return h("figure", { class: "chart", key: name },
    h("svg", {
      viewBox: `0 0 ${width} ${HEIGHT}`, width, height: HEIGHT, role: "img", tabindex: "0",
      "aria-label": `${name}. ${said.join(", ")}. Plus and minus change the part that is shown, arrows move it.`,
      onkeydown: (event) => {
        const key = keys[event.key];
        if (!key || event.ctrlKey || event.metaKey || event.altKey) return;
        event.preventDefault();
        event.stopPropagation();
        key();
      },
      onpointerdown: (event) => { chosen.set(name, { ...view, drag: [fromEvent(event), fromEvent(event)] }); },
      onpointermove: (event) => {
        const now = chosen.get(name) ?? {};
        const at = fromEvent(event);
        chosen.set(name, { ...now, hover: at, drag: now.drag ? [now.drag[0], at] : undefined });
        options.redraw();
      },
      onpointerup: () => {
        const now = chosen.get(name)?.drag;
        if (!now) return;
        const next = [Math.min(...now), Math.max(...now)];
        show(next[1] - next[0] > span / 50 ? { range: next } : {});
      },
      onpointerleave: () => { chosen.set(name, { range: view.range }); options.redraw(); },
      ondblclick: () => show({ range: undefined }),
    },
    grid(ticks(low, high, isLog), toY, width, options.formatY),
    xTicks(range, toX, width, options.formatX),
    lines,
    drag ? h("rect", {
      class: "selection", x: toX(Math.min(...drag)), y: MARGIN.top,
      width: Math.abs(toX(drag[0]) - toX(drag[1])), height: inner[1],
    }) : null,
    cross),
    h("figcaption", null,
      seen.map((curve) => h("span", { key: curve.name, class: "legend" },
        h("span", { class: `swatch c${curve.colour}`, "aria-hidden": "true" }), curve.name)),
      view.range ? h("button", { type: "button", onclick: () => show({ range: undefined }) }, "Show all") : null),
    h("details", null, h("summary", null, "As numbers"), numbers(seen, options)));
}

function extent(values) {
  let [low, high] = [Infinity, -Infinity];
  for (const value of values) {
    if (value < low) low = value;
    if (value > high) high = value;
  }
  return low <= high ? [low, high] : undefined;
}

/** Round values between two others. */
function ticks(low, high, isLog) {
  if (isLog) {
    return [0, 1 / 3, 2 / 3, 1].map((part) => low * (high / low) ** part);
  }
  const rough = (high - low) / 4;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((each) => each * power).find((each) => each >= rough) ?? rough;
  const found = [];
  for (let value = Math.ceil(low / step) * step; value <= high + step * 1e-9; value += step) found.push(value);
  return found;
}

function grid(values, toY, width, format) {
  return values.map((value) => h("g", { key: `y${value}`, class: "tick" },
    h("line", { x1: MARGIN.left, x2: width - MARGIN.right, y1: toY(value), y2: toY(value) }),
    h("text", { x: MARGIN.left - 6, y: toY(value) + 4, "text-anchor": "end" }, format(value))));
}

function xTicks(range, toX, width, format) {
  const count = width < 420 ? 2 : 4;
  return Array.from({ length: count + 1 }, (_, at) => range[0] + ((range[1] - range[0]) * at) / count)
    .map((value, at) => h("text", {
      key: `x${at}`, class: "tick", x: toX(value), y: HEIGHT - 6,
      "text-anchor": at === 0 ? "start" : at === count ? "end" : "middle",
    }, format(value)));
}

function hovered(curves, x, toX, toY, options, width) {
  const near = curves.map((curve) => {
    const point = curve.points.reduce((best, each) => (
      !best || Math.abs(each[0] - x) < Math.abs(best[0] - x) ? each : best), undefined);
    return { curve, point };
  }).filter(({ point }) => point);
  if (!near.length) return [];
  const at = near[0].point[0];
  const isRight = toX(at) > width / 2;
  return [
    h("line", { class: "cross", x1: toX(at), x2: toX(at), y1: MARGIN.top, y2: HEIGHT - MARGIN.bottom }),
    near.map(({ curve, point }) => h("circle", {
      class: `dot c${curve.colour}`, cx: toX(point[0]), cy: toY(point[1]), r: 3,
    })),
    h("text", { class: "hover", x: toX(at) + (isRight ? -8 : 8), y: MARGIN.top + 12, "text-anchor": isRight ? "end" : "start" },
      [options.formatX(at), ...near.slice(0, 4).map(({ curve, point }) => `${curve.name} ${options.formatY(point[1])}`)].join("  ")),
  ];
}

function numbers(curves, options) {
  const rows = curves.map((curve) => {
    const ys = curve.points.map(([, y]) => y);
    return { name: curve.name, last: ys.at(-1), range: extent(ys), count: ys.length };
  });
  return table("The last, least and largest values", [
    { name: "Curve", cell: (row) => row.name },
    { name: "Last", number: true, cell: (row) => options.formatY(row.last) },
    { name: "Least", number: true, cell: (row) => options.formatY(row.range?.[0]) },
    { name: "Largest", number: true, cell: (row) => options.formatY(row.range?.[1]) },
    { name: "Points", number: true, cell: (row) => row.count },
  ], rows, undefined, undefined, (row) => row.name);
}
