// The last lines of a task's log, as they come.

import { h } from "../dom.js";
import { ask } from "../live.js";
import { nothing } from "../parts.js";

const PAUSE = 1500;
const KEPT = 2000;

export const title = "Logs";

const seen = { task: "", next: 0, lines: [], error: "", timer: undefined };

export function view(model, state, page) {
  const task = model.find(page.argument) ?? model.find(model.seenFrom) ?? model.tasks[0];
  if (task && (task.id !== seen.task || seen.timer === undefined)) follow(task, page);
  const words = (state.words ?? "").toLowerCase();
  const level = state.level ?? "";
  const shown = seen.lines.filter(({ text }) => (!words || text.toLowerCase().includes(words)) && (!level || levelOf(text) === level));
  return [
    h("h1", null, `Log of ${task?.id ?? ""}`),
    h("form", { class: "choices", onsubmit: (event) => event.preventDefault() },
      h("label", null, "Task ", h("select", {
        value: task?.id ?? "", onchange: (event) => { location.hash = `#/logs/${encodeURIComponent(event.target.value)}`; },
      }, model.tasks.map((each) => h("option", { key: each.id, value: each.id }, each.id)))),
      h("label", null, "Level ", h("select", { value: level, onchange: (event) => page.set({ level: event.target.value }) },
        h("option", { value: "" }, "all"), ["ERROR", "WARN", "INFO", "DEBUG"].map((each) => h("option", { value: each }, each)))),
      h("label", null, "Words ", h("input", { type: "search", value: state.words ?? "", oninput: (event) => page.set({ words: event.target.value }) }))),
    seen.error ? h("p", { class: "finding bad", role: "alert" }, seen.error) : null,
    shown.length ? h("ol", { class: "log", tabindex: "0", "aria-label": "Lines of the log, the last one first" },
      shown.slice(-500).reverse().map(({ number, text }) => h("li", { key: number, class: levelOf(text).toLowerCase() }, text)))
      : nothing(seen.lines.length ? "No line has this." : "Nothing has been logged."),
  ];
}

/** Called when another view is shown. */
export function leave() {
  clearTimeout(seen.timer);
  seen.timer = undefined;
}

function levelOf(text) {
  return /\b(ERROR|WARN|INFO|DEBUG|TRACE)\b/.exec(text)?.[1] ?? "";
}

function follow(task, page) {
  leave();
  if (seen.task !== task.id) Object.assign(seen, { task: task.id, next: 0, lines: [], error: "" });
  const again = async () => {
    try {
      const response = await ask(`/api/logs?task=${encodeURIComponent(task.name)}&since=${seen.next}`);
      if (seen.task !== task.id) return;
      const text = await response.text();
      if (!response.ok) throw new Error(text.trim());
      const told = JSON.parse(text);
      // A process that was started anew counts from nothing.
      if (told.first < seen.next) seen.lines = [];
      seen.lines.push(...told.lines.map((line, at) => ({ number: told.first + at, text: line })));
      seen.lines.splice(0, seen.lines.length - KEPT);
      Object.assign(seen, { next: told.next, error: "" });
    } catch (error) {
      seen.error = `The log of ${task.id} cannot be had: ${error.message}`;
    }
    if (seen.timer === undefined || seen.task !== task.id) return;
    page.redraw();
    seen.timer = setTimeout(again, PAUSE);
  };
  seen.timer = setTimeout(again, 0);
}
