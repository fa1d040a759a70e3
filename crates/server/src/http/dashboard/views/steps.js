// Steps under way as a waterfall: a bar for each task that takes part in a step, from when it began there,
// and below it what it waits for, from when it began to wait.

import { h } from "../dom.js";
import { count, duration } from "../format.js";
import { card, nothing, taskLink } from "../parts.js";
import { reason } from "../waits.js";

const MOST = 12;
const WAITS = 4;

export const title = "Steps";

export function view(model) {
  const groups = grouped(model);
  const running = model.tasks.reduce((total, task) => total + task.work.running, 0);
  return [
    h("h1", null, "Steps under way"),
    h("p", { class: "lead" }, "A bar begins when a task began with its part of the step; a thin bar below it, when a node began to wait. All end now."),
    groups.length === 0 ? nothing(running ? `${count(running)} under way, all too short to be looked at.` : "No step is under way.") : null,
    groups.slice(0, MOST).map((group) => card(`Step ${group.id}`, { key: group.id, class: "step" }, waterfall(group))),
    groups.length > MOST ? h("p", { class: "hint" }, `The ${MOST} oldest of ${groups.length} steps.`) : null,
  ];
}

/** The parts of each step, whichever task they are on, the oldest step first. */
function grouped(model) {
  const groups = new Map();
  for (const task of model.tasks) {
    for (const step of task.steps) {
      const { id } = step;
      const group = groups.get(id) ?? { id, parts: [], seconds: 0 };
      group.parts.push(step);
      group.seconds = Math.max(group.seconds, step.seconds);
      groups.set(id, group);
    }
  }
  return [...groups.values()].sort((a, b) => b.seconds - a.seconds);
}

function waterfall(group) {
  const span = Math.max(group.seconds, 0.001);
  const bar = (seconds, kind, words) => {
    const part = Math.min(1, Math.max(0, seconds / span));
    return h("div", { class: "track" }, h("div", {
      class: `bar ${kind}`, title: words,
      style: { "margin-left": `${((1 - part) * 100).toFixed(2)}%`, width: `${Math.max(0.4, part * 100).toFixed(2)}%` },
    }), h("span", { class: "track-label" }, words));
  };
  return h("ul", { class: "waterfall" }, group.parts.map((part) => h("li", { key: part.task },
    h("div", { class: "row" }, h("span", { class: "row-name" }, taskLink(part.task), part.whose ? h("small", null, ` ${part.whose}`) : null),
      bar(part.seconds, "run", `${duration(part.seconds)}${part.isComputing ? ", computes" : ""}`)),
    part.waits.slice(0, WAITS).map((wait, at) => h("div", { key: `${at}`, class: "row" },
      h("span", { class: "row-name inner" }, h("code", null, wait.node || wait.op)),
      bar(wait.seconds ?? part.seconds, "wait", `${duration(wait.seconds ?? part.seconds)} for ${reason(wait)}`))),
    part.waits.length > WAITS ? h("p", { class: "hint" }, `and ${part.waits.length - WAITS} more nodes that wait`) : null)));
}
