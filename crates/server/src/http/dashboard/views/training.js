// Training: how fast it goes on, and what programs tell of it.

import { chart } from "../chart.js";
import { h } from "../dom.js";
import { clock, count, number, rate } from "../format.js";
import { card, figure, nothing } from "../parts.js";

const SHOWN = 8;

export const title = "Training";

export function view(model, state, page) {
  const curves = model.tasks
    .map((task) => ({ name: task.id, points: model.rateCurve(task.id), rate: task.rate }))
    .sort((a, b) => b.rate - a.rate);
  const told = new Map();
  for (const task of model.tasks) {
    for (const [name, curve] of Object.entries(task.scalars)) {
      told.set(name, [...(told.get(name) ?? []), { name: task.id, points: curve.points ?? [] }]);
    }
  }
  const masters = model.tasks.reduce((total, task) => total + (task.status.work?.step?.done ?? 0), 0);
  const last = (name) => told.get(name)?.[0]?.points.at(-1);
  return [
    h("h1", null, "Training"),
    h("dl", { class: "figures" },
      figure("Work done", rate(model.tasks.reduce((total, task) => total + task.rate, 0)), "a second"),
      figure("Steps of sessions", count(masters), "so far"),
      [...told.keys()].slice(0, 4).map((name) => figure(name, number(last(name)?.[1]), `at step ${count(last(name)?.[0])}`))),
    card("Steps a second", {},
      chart("Steps a second", curves.slice(0, SHOWN),
        { width: page.width, formatX: clock, formatY: rate, redraw: page.redraw }),
      curves.length > SHOWN ? h("p", { class: "hint" }, `The ${SHOWN} busiest of ${curves.length} tasks.`) : null),
    told.size === 0 ? card("Loss and other values", {}, nothing("No program has told any. It may: ",
      h("code", null, "POST /api/scalars"), " with ", h("code", null, "{\"step\": 10, \"values\": {\"loss\": 0.5}}"),
      " as ", h("code", null, "application/json"), ".")) : null,
    [...told].sort(([a], [b]) => a.localeCompare(b)).map(([name, all]) => card(name, { key: `told ${name}` },
      h("label", { class: "choice" }, h("input", {
        type: "checkbox", checked: state[`log ${name}`] ?? false,
        onchange: (event) => page.set({ [`log ${name}`]: event.target.checked }),
      }), " logarithmic"),
      chart(`Values of ${name}`, all, {
        width: page.width, formatX: count, formatY: number, redraw: page.redraw,
        isLogarithmic: state[`log ${name}`] ?? false,
      }))),
  ];
}
