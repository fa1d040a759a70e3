// Variables, tables and queues as a map: areas are bytes, colours are updates a second.

import { h } from "../dom.js";
import { bytes, count, rate } from "../format.js";
import { card, nothing, table, taskLink } from "../parts.js";

const HEIGHT = 360;
const MOST = 200;
const ROWS = 50;
const HEATS = 6;

export const title = "Variables";

export function view(model, state, page) {
  const task = state.task ?? "";
  const all = model.tasks.flatMap((each) => each.resources).filter((each) => !task || each.task === task);
  const words = (state.words ?? "").toLowerCase();
  const shown = all.filter((each) => !words || String(each.name).toLowerCase().includes(words))
    .sort((a, b) => (b.bytes ?? 0) - (a.bytes ?? 0));
  const largest = Math.max(1e-9, ...shown.map((each) => each.rate));
  const heat = (each) => (each.rate > 0 ? 1 + Math.min(HEATS - 2, Math.floor((each.rate / largest) * (HEATS - 1))) : 0);
  return [
    h("h1", null, "Variables"),
    h("form", { class: "choices", onsubmit: (event) => event.preventDefault() },
      h("label", null, "Task ", h("select", { value: task, onchange: (event) => page.set({ task: event.target.value }) },
        h("option", { value: "" }, "all"), model.tasks.map((each) => h("option", { key: each.id, value: each.id }, each.id)))),
      h("label", null, "Name ", h("input", { type: "search", value: state.words ?? "", oninput: (event) => page.set({ words: event.target.value }) }))),
    shown.length === 0 ? nothing(all.length ? "None has such a name." : "No task tells of any.") : [
      card("Map", {}, map(shown.slice(0, MOST), page.width, heat),
        h("p", { class: "legend-row" }, "Areas are bytes; colours are updates a second: ",
          Array.from({ length: HEATS }, (_, at) => h("span", { key: at, class: `cell heat${at}` }, at === 0 ? "none" : rate((largest * at) / (HEATS - 1)))))),
      card("List", {}, table("Variables, tables and queues", [
        { name: "Name", cell: (each) => h("code", null, each.name), sort: (each) => each.name },
        { name: "Task", cell: (each) => taskLink(each.task), sort: (each) => each.task },
        { name: "Type", cell: (each) => each.kind ?? "", sort: (each) => each.kind ?? "" },
        { name: "Shape", cell: (each) => `${each.dtype ?? ""}${each.shape ?? ""}`, sort: (each) => each.shape ?? "" },
        { name: "Entries", number: true, cell: entries, sort: (each) => each.entries ?? 0 },
        { name: "Bytes", number: true, cell: (each) => bytes(each.bytes), sort: (each) => each.bytes ?? 0 },
        { name: "Updates/s", number: true, cell: (each) => rate(each.rate), sort: (each) => each.rate },
        { name: "Updates", number: true, cell: (each) => count(each.updates), sort: (each) => each.updates ?? 0 },
        { name: "Reads", number: true, cell: (each) => count(each.reads), sort: (each) => each.reads ?? 0 },
        { name: "In line", number: true, cell: (each) => count(each.waiting ?? 0), sort: (each) => each.waiting ?? 0 },
      ], shown.slice(0, ROWS), state.order, (order) => page.set({ order }), (each) => `${each.task}|${each.device}|${each.container}|${each.name}`),
      shown.length > ROWS ? h("p", { class: "hint" }, `The ${ROWS} largest of ${shown.length}; a name or a task narrows the list.`) : null),
    ],
  ];
}

function entries(each) {
  if (each.entries === undefined || each.entries === null) return "";
  return each.capacity ? `${count(each.entries)} of ${count(each.capacity)}` : count(each.entries);
}

function map(resources, width, heat) {
  const sized = resources.map((each) => ({ each, size: Math.max(1, each.bytes ?? 0) }));
  const cells = [];
  squarify(sized, { x: 0, y: 0, width, height: HEIGHT }, cells);
  return h("svg", { class: "map", viewBox: `0 0 ${width} ${HEIGHT}`, width, height: HEIGHT, role: "img",
    "aria-label": `Map of ${resources.length} variables by bytes; the list below has the numbers` },
  cells.map(({ each, box }) => h("g", { key: `${each.task}|${each.device}|${each.container}|${each.name}`, class: `cell heat${heat(each)}` },
    h("title", null, `${each.name} on ${each.task}: ${bytes(each.bytes)}, ${rate(each.rate)} updates a second`),
    h("rect", { x: box.x + 0.5, y: box.y + 0.5, width: Math.max(0, box.width - 1), height: Math.max(0, box.height - 1), rx: 2 }),
    box.width > 60 && box.height > 34 ? [
      h("text", { x: box.x + 6, y: box.y + 16 }, fit(String(each.name), box.width)),
      h("text", { class: "small", x: box.x + 6, y: box.y + 30 }, fit(`${bytes(each.bytes)} · ${rate(each.rate)}/s`, box.width)),
    ] : null)));
}

const fit = (text, width) => {
  const most = Math.floor((width - 10) / 7);
  return text.length > most ? `…${text.slice(text.length - most + 1)}` : text;
};

/** Fills a box with areas of given sizes, as square as can be (after Bruls, Huizing and van Wijk). */
function squarify(items, box, cells) {
  let rest = items;
  let room = box;
  while (rest.length) {
    const total = rest.reduce((sum, item) => sum + item.size, 0);
    const scale = (room.width * room.height) / total;
    const short = Math.min(room.width, room.height);
    const worst = (row) => {
      const area = row.reduce((sum, item) => sum + item.size, 0) * scale;
      const side = area / short;
      return Math.max(...row.map((item) => {
        const length = (item.size * scale) / side;
        return Math.max(length / side, side / length);
      }));
    };
    let row = [rest[0]];
    while (row.length < rest.length && worst([...row, rest[row.length]]) <= worst(row)) row = rest.slice(0, row.length + 1);
    const area = row.reduce((sum, item) => sum + item.size, 0) * scale;
    const side = short > 0 ? area / short : 0;
    let along = 0;
    const isWide = room.width >= room.height;
    for (const item of row) {
      const length = side > 0 ? (item.size * scale) / side : 0;
      cells.push({ each: item.each, box: isWide
        ? { x: room.x, y: room.y + along, width: side, height: length }
        : { x: room.x + along, y: room.y, width: length, height: side } });
      along += length;
    }
    room = isWide
      ? { x: room.x + side, y: room.y, width: Math.max(0, room.width - side), height: room.height }
      : { x: room.x, y: room.y + side, width: room.width, height: Math.max(0, room.height - side) };
    rest = rest.slice(row.length);
  }
}
