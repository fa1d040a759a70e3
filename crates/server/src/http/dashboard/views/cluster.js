// The cluster as a picture: a row of tasks for each job, links as thick as what they carry, and what is wrong.

import { h } from "../dom.js";
import { bytes, count, plural, rate } from "../format.js";
import { cause } from "../model.js";
import { card, figure, finding, nothing, taskTable } from "../parts.js";
import { arrows, causes } from "../waits.js";

const LABEL = 26;
const GAP = 12;
const ROW_GAP = 58;
/** Beyond this, tasks are drawn small and links are left to the page of a task. */
const LARGE = 24;
const ROWS = 30;

export const title = "Cluster";

export function view(model, state, page) {
  const tasks = model.tasks;
  const bad = tasks.filter((task) => task.health === "bad").length;
  const found = causes(model);
  const sum = (value) => tasks.reduce((total, task) => total + value(task), 0);
  const carried = sum((task) => task.peers.reduce((total, peer) => total + peer.rate, 0)) / 2;
  const hasPeers = tasks.some((task) => task.peers.length);
  return [
    h("h1", null, "Cluster"),
    h("dl", { class: "figures" },
      figure("Tasks that answer", `${tasks.length - bad} of ${tasks.length}`, "", bad ? "bad" : "good"),
      figure("Work done", rate(sum((task) => task.rate)), "a second"),
      figure("Under way", count(sum((task) => task.work.running)), ""),
      figure("Failures", rate(sum((task) => task.failureRate)), "a second", sum((task) => task.failureRate) > 0 ? "bad" : ""),
      hasPeers ? figure("Between tasks", bytes(carried), "a second") : null,
      figure("Memory", bytes(sum((task) => task.memory)), "")),
    h("div", { class: "columns" },
      card("Picture", { class: "wide" }, picture(model, page.width), legend(tasks)),
      card("What needs attention", {},
        found.length ? h("ul", { class: "findings" }, found.slice(0, 6).map(finding))
          : nothing("Nothing: every task answers, and no step has waited for long."),
        found.length > 6 ? h("p", null, h("a", { href: "#/waits" }, `and ${found.length - 6} more`)) : null)),
    card("Tasks", {}, taskTable(state.isWhole ? tasks : worstFirst(tasks).slice(0, ROWS), state.order, (order) => page.set({ order })),
      tasks.length > ROWS ? h("button", { type: "button", onclick: () => page.set({ isWhole: !state.isWhole }) },
        state.isWhole ? "Show fewer" : `Show all ${tasks.length}`) : null),
  ];
}

/** Where not all tasks are listed, those to look at are. */
function worstFirst(tasks) {
  if (tasks.length <= ROWS) return tasks;
  const rank = { bad: 0, warn: 1, idle: 2, good: 2 };
  return [...tasks].sort((a, b) => rank[a.health] - rank[b.health]);
}

function legend(tasks) {
  const states = new Map();
  for (const task of tasks) states.set(task.word, { task, count: (states.get(task.word)?.count ?? 0) + 1 });
  return h("p", { class: "legend-row" }, [...states.values()].map(({ task, count: many }) => h("span", {
    key: task.word, class: `badge ${task.health}`,
  }, h("span", { "aria-hidden": "true" }, task.mark), ` ${many} ${task.word}`)));
}

/** Places tasks in rows of their job, as many in a line as there is room for. */
function layout(model, width) {
  const isLarge = model.tasks.length > LARGE;
  const size = isLarge ? { width: 54, height: 34 } : { width: Math.min(150, width - 8), height: 66 };
  const gap = isLarge ? 5 : GAP;
  const places = new Map();
  const rows = [];
  let top = 4;
  for (const job of model.jobs()) {
    const tasks = model.tasks.filter((task) => task.job === job);
    const inLine = Math.max(1, Math.min(tasks.length, Math.floor((width + gap) / (size.width + gap))));
    rows.push({ job, top, count: tasks.length });
    const left = isLarge ? 0 : (width - inLine * (size.width + gap) + gap) / 2;
    tasks.forEach((task, at) => {
      const [line, column] = [Math.floor(at / inLine), at % inLine];
      places.set(task.id, {
        x: left + column * (size.width + gap), y: top + LABEL + line * (size.height + gap), ...size,
      });
    });
    top += LABEL + Math.ceil(tasks.length / inLine) * (size.height + gap) + (isLarge ? 10 : ROW_GAP - gap);
  }
  return { places, rows, height: top - (isLarge ? 4 : ROW_GAP - GAP), isLarge };
}

function picture(model, available) {
  const width = Math.max(240, available);
  const { places, rows, height, isLarge } = layout(model, width);
  const bad = model.tasks.filter((task) => task.health === "bad").length;
  const label = `${plural(model.tasks.length, "task")} in ${plural(rows.length, "job")}, ${bad ? `${bad} do not answer` : "all answer"}`;
  return h("svg", { class: "picture", viewBox: `0 0 ${width} ${height}`, width, height, role: "group", "aria-label": label },
    rows.map((row) => h("text", { key: row.job, class: "job", x: isLarge ? 0 : width / 2, y: row.top + 16, "text-anchor": isLarge ? "start" : "middle" },
      `${row.job} · ${plural(row.count, "task")}`)),
    isLarge ? null : links(model, places),
    model.tasks.map((task) => tile(task, places.get(task.id), isLarge)));
}

/** Who exchanges tensors with whom; where that is not told, who waits for whom. */
function links(model, places) {
  const found = new Map();
  const add = (a, b, value, kind) => {
    const [from, to] = [a, b].sort();
    const key = `${from}|${to}`;
    const link = found.get(key) ?? { key, from, to, rate: 0, kind };
    link.rate = Math.max(link.rate, value);
    if (kind === "waits") link.kind = kind;
    found.set(key, link);
  };
  for (const task of model.tasks) {
    for (const peer of task.peers) if (places.has(peer.id) && peer.id !== task.id) add(task.id, peer.id, peer.rate, "link");
  }
  for (const arrow of arrows(model)) {
    if (arrow.seconds >= 2 && arrow.from !== arrow.to && places.has(arrow.to)) add(arrow.from, arrow.to, 0, "waits");
  }
  return [...found.values()].map((link) => {
    const [a, b] = [places.get(link.from), places.get(link.to)].sort((one, other) => one.y - other.y);
    const isSameRow = a.y === b.y;
    const [x1, y1] = [a.x + a.width / 2, isSameRow ? a.y : a.y + a.height];
    const [x2, y2] = [b.x + b.width / 2, b.y];
    const bend = isSameRow ? -18 : (y2 - y1) / 2;
    const thick = link.rate > 0 ? Math.min(9, 1.2 + Math.log10(1 + link.rate / 1000) * 1.6) : 1.2;
    const isLost = [link.from, link.to].some((id) => model.find(id)?.health === "bad");
    return h("g", { key: link.key, class: `link ${isLost ? "bad" : link.kind}` },
      h("path", { d: `M${x1} ${y1}C${x1} ${y1 + bend} ${x2} ${y2 - bend * (isSameRow ? -1 : 1)} ${x2} ${y2}`, style: { "stroke-width": `${thick}px` } }),
      h("title", null, `${link.from} – ${link.to}: ${link.kind === "waits" ? "one waits for the other" : `${bytes(link.rate)} a second`}`),
      link.rate > 0 && found.size <= 8 ? h("text", { x: (x1 + x2) / 2, y: (y1 + y2) / 2, "text-anchor": "middle" }, `${bytes(link.rate)}/s`) : null);
  });
}

function tile(task, at, isSmall) {
  const words = task.health === "bad" ? cause(task) : `${rate(task.rate)} steps a second, ${bytes(task.memory)}`;
  return h("a", {
    key: task.id, class: `tile ${task.health}`, href: `#/task/${encodeURIComponent(task.id)}`,
    "aria-label": `${task.id}: ${task.word}, ${words}`,
  },
  h("rect", { x: at.x + 1, y: at.y + 1, width: at.width - 2, height: at.height - 2, rx: 7 }),
  h("title", null, `${task.id}: ${task.word}, ${words}`),
  isSmall
    ? h("text", { x: at.x + at.width / 2, y: at.y + at.height / 2 + 4, "text-anchor": "middle" }, `${task.mark} ${task.index}`)
    : [
      h("text", { class: "name", x: at.x + 12, y: at.y + 23 }, task.id),
      h("text", { class: "state", x: at.x + 12, y: at.y + 40 }, `${task.mark} ${task.word}`),
      h("text", { class: "rate", x: at.x + 12, y: at.y + 56 }, task.health === "bad" ? "" : `${rate(task.rate)} steps/s`),
    ]);
}
