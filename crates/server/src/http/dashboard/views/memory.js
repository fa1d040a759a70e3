// Memory by task and owner.

import { h } from "../dom.js";
import { bytes } from "../format.js";
import { card, figure, table, taskLink } from "../parts.js";

const COLOURS = 8;

export const title = "Memory";

export function view(model) {
  const tasks = [...model.tasks].sort((a, b) => b.memory - a.memory);
  const largest = Math.max(1, ...tasks.map((task) => task.memory));
  const names = [...new Set(tasks.flatMap((task) => task.owners.map((owner) => owner.name)))];
  const colour = (name) => names.indexOf(name) % COLOURS;
  const totals = names.map((name) => ({
    name, bytes: tasks.reduce((sum, task) => sum + (task.owners.find((owner) => owner.name === name)?.bytes ?? 0), 0),
  })).sort((a, b) => b.bytes - a.bytes);
  return [
    h("h1", null, "Memory"),
    h("dl", { class: "figures" },
      figure("All tasks", bytes(tasks.reduce((sum, task) => sum + task.memory, 0)), ""),
      figure("Largest task", bytes(tasks[0]?.memory ?? 0), tasks[0]?.id ?? "")),
    card("By task and owner", {},
      h("ul", { class: "stacks" }, tasks.map((task) => h("li", { key: task.id, class: "row" },
        h("span", { class: "row-name" }, taskLink(task.id)),
        h("div", {
          class: "track", role: "img",
          "aria-label": `${task.id}: ${task.owners.map((owner) => `${owner.name} ${bytes(owner.bytes)}`).join(", ")}`,
        }, task.owners.map((owner) => h("div", {
          key: owner.name, class: `stack c${colour(owner.name)}`, title: `${owner.name}: ${bytes(owner.bytes)}`,
          style: { width: `${((owner.bytes / largest) * 100).toFixed(2)}%` },
        })), h("span", { class: "track-label" }, bytes(task.memory)))))),
      h("p", { class: "legend-row" }, names.map((name) => h("span", { key: name, class: "legend" },
        h("span", { class: `swatch c${colour(name)}`, "aria-hidden": "true" }), name)))),
    card("By owner", {}, table("Memory by owner", [
      { name: "Owner", cell: (row) => row.name },
      { name: "Bytes", number: true, cell: (row) => bytes(row.bytes) },
    ], totals, undefined, undefined, (row) => row.name)),
    h("p", { class: "hint" }, "Tasks of one process share its memory, and each tells all of it."),
  ];
}
