// Events on a time line: losses, recoveries, drains, failures, sessions.

import { h } from "../dom.js";
import { clock, plural } from "../format.js";
import { card, nothing, taskLink } from "../parts.js";

const HEIGHT = 22;
const LEFT = 90;
const LANES = 40;
const LISTED = 200;

export const title = "Events";

const KINDS = {
  lost: ["bad", "✕"], peer_lost: ["bad", "✕"], failed: ["bad", "!"], step_failed: ["bad", "!"], limit: ["bad", "!"],
  found: ["good", "●"], peer_found: ["good", "●"], drain: ["warn", "▼"], reset: ["warn", "↺"], step_slow: ["warn", "◔"],
};
const mark = (kind) => KINDS[kind] ?? ["idle", "○"];

export function view(model, state, page) {
  const events = model.allEvents().filter((event) => !state.task || event.task === state.task);
  return [
    h("h1", null, "Events"),
    h("form", { class: "choices", onsubmit: (event) => event.preventDefault() },
      h("label", null, "Task ", h("select", { value: state.task ?? "", onchange: (event) => page.set({ task: event.target.value }) },
        h("option", { value: "" }, "all"), model.tasks.map((each) => h("option", { key: each.id, value: each.id }, each.id))))),
    events.length === 0 ? nothing("Nothing has happened.") : [
      card("Time line", {}, line(model, events, page.width)),
      card("List", {}, h("ol", { class: "events" }, events.slice(0, LISTED).map((event, at) => h("li", { key: `${event.at}${event.task}${event.kind}${at}` },
        h("time", { datetime: new Date(event.at * 1000).toISOString() }, clock(event.at)),
        h("span", { class: `badge ${mark(event.kind)[0]}` }, h("span", { "aria-hidden": "true" }, mark(event.kind)[1]), ` ${event.kind.replaceAll("_", " ")}`),
        taskLink(event.task), h("span", { class: "words" }, event.text)))),
      events.length > LISTED ? h("p", { class: "hint" }, `The last ${LISTED} of ${plural(events.length, "event")}.`) : null),
    ],
  ];
}

function line(model, events, width) {
  const lanes = model.tasks.map((task) => task.id).filter((id) => events.some((event) => event.task === id)).slice(0, LANES);
  const first = Math.min(...events.map((event) => event.at), model.at - 60);
  const span = Math.max(1, model.at - first);
  const inner = width - LEFT - 12;
  const height = lanes.length * HEIGHT + 26;
  return h("svg", { class: "timeline", viewBox: `0 0 ${width} ${height}`, width, height, role: "img",
    "aria-label": `${plural(events.length, "event")} of ${plural(lanes.length, "task")} since ${clock(first)}; the list below has them all` },
  lanes.map((id, at) => h("g", { key: id },
    h("text", { x: LEFT - 8, y: at * HEIGHT + 16, "text-anchor": "end" }, id),
    h("line", { x1: LEFT, x2: width - 12, y1: at * HEIGHT + 12, y2: at * HEIGHT + 12 }),
    events.filter((event) => event.task === id).map((event, place) => h("g", { key: place, class: mark(event.kind)[0] },
      h("title", null, `${clock(event.at)} ${event.text}`),
      h("text", { class: "mark", x: LEFT + ((event.at - first) / span) * inner, y: at * HEIGHT + 16, "text-anchor": "middle" }, mark(event.kind)[1]))))),
  h("text", { x: LEFT, y: height - 6 }, clock(first)),
  h("text", { x: width - 12, y: height - 6, "text-anchor": "end" }, clock(model.at)));
}
