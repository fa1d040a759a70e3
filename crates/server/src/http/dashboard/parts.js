// Parts that several views show.

import { h } from "./dom.js";
import { bytes, count, duration, rate } from "./format.js";

/** The state of a task: a mark and a word, because not everybody sees the colour. */
export function badge(task) {
  return h("span", { class: `badge ${task.health}` }, h("span", { "aria-hidden": "true" }, task.mark), ` ${task.word}`);
}

/** A link to the page of a task. */
export function taskLink(id) {
  return h("a", { class: "task-link", href: `#/task/${encodeURIComponent(id)}` }, id);
}

/** A number with its meaning. */
export function figure(label, value, unit, health) {
  return h("div", { class: `figure ${health ?? ""}` },
    h("dt", null, label),
    h("dd", null, h("span", { class: "value" }, value), unit ? h("span", { class: "unit" }, ` ${unit}`) : null));
}

/** A section with a heading. */
export function card(title, props, ...children) {
  const id = `card-${title.toLowerCase().replace(/[^a-z0-9]+/g, "-")}`;
  return h("section", { ...props, class: `card ${props?.class ?? ""}`, "aria-labelledby": id },
    h("h2", { id }, title), children);
}

/** What is shown where there is nothing to show, and why. */
export function nothing(...words) {
  return h("p", { class: "nothing" }, words);
}

/**
 * A table. Columns are `{ name, cell, number, sort }`; a click on a heading sorts. `order` is kept by the
 * view, so that it survives updates.
 */
export function table(caption, columns, rows, order, onOrder, key) {
  const by = columns.find((column) => column.name === order?.name);
  const value = (row) => (by.sort ?? by.cell)(row);
  const sorted = by ? [...rows].sort((a, b) => compare(value(a), value(b)) * (order.isUp ? 1 : -1)) : rows;
  const heading = (column) => {
    const isBy = column === by;
    const sort = isBy ? (order.isUp ? "ascending" : "descending") : undefined;
    const turn = () => onOrder({ name: column.name, isUp: isBy ? !order.isUp : !column.number });
    return h("th", { scope: "col", class: column.number ? "number" : "", "aria-sort": sort },
      onOrder
        ? h("button", { type: "button", onclick: turn }, column.name,
          h("span", { class: "arrow", "aria-hidden": "true" }, isBy ? (order.isUp ? " ↑" : " ↓") : ""))
        : column.name);
  };
  return h("div", { class: "scroller", tabindex: "0", role: "region", "aria-label": caption },
    h("table", null,
      h("caption", { class: "unseen" }, caption),
      h("thead", null, h("tr", null, columns.map(heading))),
      h("tbody", null, sorted.map((row, at) => h("tr", { key: key ? key(row) : at },
        columns.map((column, place) => h(place === 0 ? "th" : "td",
          { scope: place === 0 ? "row" : undefined, class: column.number ? "number" : "" }, column.cell(row))))))));
}

function compare(a, b) {
  return typeof a === "number" && typeof b === "number" ? a - b
    : String(a).localeCompare(String(b), "en", { numeric: true });
}

/** The tasks as a table. */
export function taskTable(tasks, order, onOrder) {
  const columns = [
    { name: "Task", cell: (task) => taskLink(task.id), sort: (task) => task.id },
    { name: "State", cell: badge, sort: (task) => task.word },
    { name: "Steps/s", number: true, cell: (task) => rate(task.rate), sort: (task) => task.rate },
    { name: "Running", number: true, cell: (task) => count(task.work.running), sort: (task) => task.work.running },
    { name: "Done", number: true, cell: (task) => count(task.work.done), sort: (task) => task.work.done },
    { name: "Failed", number: true, cell: (task) => count(task.work.failed), sort: (task) => task.work.failed },
    { name: "Memory", number: true, cell: (task) => bytes(task.memory), sort: (task) => task.memory },
    { name: "Answers in", number: true, cell: (task) => duration(task.roundTrip), sort: (task) => task.roundTrip },
    { name: "Up", number: true, cell: (task) => duration(task.status.uptime_seconds), sort: (task) => task.status.uptime_seconds ?? 0 },
    { name: "Address", cell: (task) => h("code", null, task.address), sort: (task) => task.address },
  ];
  return table("All tasks", columns, tasks, order, onOrder, (task) => task.id);
}

/** A cause and its remedy. */
export function finding(each) {
  return h("li", { key: each.title, class: `finding ${each.health}` },
    h("p", { class: "title" }, h("span", { class: "mark", "aria-hidden": "true" }, each.health === "bad" ? "✕" : "!"),
      " ", h("a", { href: `#/task/${encodeURIComponent(each.who)}` }, each.title)),
    h("p", null, each.text),
    each.waiters.length ? h("p", null, `In the end ${each.waiters.slice(0, 8).join(", ")}`,
      each.waiters.length > 8 ? ` and ${each.waiters.length - 8} more` : "",
      each.waiters.length === 1 ? " waits for it." : " wait for it.") : null,
    each.remedy ? h("p", { class: "remedy" }, h("b", null, "What to do: "), each.remedy, ".") : null);
}
