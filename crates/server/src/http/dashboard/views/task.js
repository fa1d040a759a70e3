// One task: what it does, what it holds, and whom it speaks to.

import { chart } from "../chart.js";
import { h } from "../dom.js";
import { bytes, clock, count, duration, rate } from "../format.js";
import { cause } from "../model.js";
import { badge, card, figure, nothing, table, taskLink } from "../parts.js";
import { reason } from "../waits.js";

export const title = "Task";

export function view(model, state, page) {
  const task = model.find(page.argument);
  if (!task) {
    return [h("h1", null, "Task"), nothing(`There is no task ${page.argument} in this cluster.`),
      h("p", null, model.tasks.map((each) => [taskLink(each.id), " "]))];
  }
  const at = model.tasks.indexOf(task);
  const neighbour = (offset) => model.tasks[(at + offset + model.tasks.length) % model.tasks.length].id;
  const { status } = task;
  return [
    h("h1", null, task.id, " ", badge(task)),
    h("p", { class: "lead" }, h("code", null, task.name), " at ", h("code", null, task.address),
      task.isOwn ? " — this page comes from it" : "",
      " · ", h("a", { href: `#/task/${encodeURIComponent(neighbour(-1))}` }, "previous"), " ",
      h("a", { href: `#/task/${encodeURIComponent(neighbour(1))}` }, "next"), " ",
      h("a", { href: `#/logs/${encodeURIComponent(task.id)}` }, "log")),
    task.health === "bad" ? h("p", { class: "finding bad", role: "alert" }, cause(task),
      status.task ? ". What follows is what it said last." : "") : null,
    h("dl", { class: "figures" },
      figure("Work done", rate(task.rate), "a second"),
      figure("Under way", count(task.work.running), ""),
      figure("Failed", count(task.work.failed), `of ${count(task.work.done)}`, task.work.failed ? "warn" : ""),
      figure("Memory", bytes(task.memory), ""),
      figure("Up", duration(status.uptime_seconds), ""),
      figure("Answers in", duration(task.roundTrip), "")),
    card("Steps a second", {}, chart(`Steps a second of ${task.id}`, [{ name: task.id, points: model.rateCurve(task.id) }],
      { width: page.width, formatX: clock, formatY: rate, redraw: page.redraw })),
    card("Steps under way", {}, steps(task)),
    h("div", { class: "columns even" },
      card("Work by kind", {}, table("Work by kind", [
        { name: "Kind", cell: ([kind]) => KINDS[kind] ?? kind },
        { name: "Running", number: true, cell: ([, work]) => count(work.running) },
        { name: "Done", number: true, cell: ([, work]) => count(work.done) },
        { name: "Failed", number: true, cell: ([, work]) => count(work.failed) },
        { name: "Mean time", number: true, cell: ([, work]) => (work.done ? duration(work.seconds / work.done) : "–") },
      ], Object.entries(status.work ?? {}), undefined, undefined, ([kind]) => kind)),
      card("Failures by code", {}, Object.keys(status.errors ?? {}).length
        ? table("Failures by code", [
          { name: "Code", cell: ([code]) => h("code", null, code) },
          { name: "Times", number: true, cell: ([, times]) => count(times) },
        ], Object.entries(status.errors), undefined, undefined, ([code]) => code)
        : nothing("None."))),
    h("div", { class: "columns even" },
      card("Sessions", {}, sessions(status)),
      card("Peers", {}, peers(task))),
    card("About it", {}, h("dl", { class: "about" }, [
      ["Version", status.version], ["Process", status.process],
      ["Devices", (status.devices ?? []).map((device) => device.name).join(", ")],
      ["Contexts of TensorFlow 2 clients", (status.contexts ?? []).length],
      ["Sessions kept for masters", status.worker_sessions], ["Registered graphs", status.graphs],
      ["Steps that hold or await tensors", status.open_steps],
    ].filter(([, value]) => value !== undefined && value !== "").map(([name, value]) => [h("dt", null, name), h("dd", null, value)]))),
  ];
}

const KINDS = { step: "steps of its sessions", part: "parts of others’ steps", eager: "calls of TensorFlow 2 clients" };

function steps(task) {
  if (!task.steps.length) {
    return nothing(task.work.running ? `${count(task.work.running)} under way; what they wait for is not told.` : "None.");
  }
  return table("Steps under way", [
    { name: "Step", cell: (step) => h("code", null, step.id) },
    { name: "Of", cell: (step) => step.whose },
    { name: "Since", number: true, cell: (step) => duration(step.seconds) },
    { name: "Waits for", cell: (step) => (step.waits.length
      ? h("ul", { class: "plain" }, step.waits.slice(0, 5).map((wait) => h("li", null, reason(wait))),
        step.waits.length > 5 ? h("li", null, `and ${step.waits.length - 5} more`) : null)
      : step.isComputing ? "nothing: it computes" : "–") },
  ], task.steps, undefined, undefined, (step) => step.id);
}

function sessions(status) {
  const open = status.sessions ?? [];
  if (!open.length) return nothing("None is open on this master.");
  return table("Sessions", [
    { name: "Session", cell: (each) => h("code", null, each.handle) },
    { name: "Age", number: true, cell: (each) => duration(each.age_seconds) },
    { name: "Idle", number: true, cell: (each) => duration(each.idle_seconds) },
    { name: "Steps", number: true, cell: (each) => count(each.steps) },
    { name: "Nodes", number: true, cell: (each) => count(each.nodes) },
    { name: "Tasks", number: true, cell: (each) => count(each.tasks) },
  ], open, undefined, undefined, (each) => each.handle);
}

function peers(task) {
  if (!task.peers.length) return nothing("It has not spoken to another task.");
  return table("Peers", [
    { name: "Task", cell: (peer) => taskLink(peer.id) },
    { name: "State", cell: (peer) => peer.state },
    { name: "Link", cell: (peer) => peer.link },
    { name: "Calls that wait", number: true, cell: (peer) => count(peer.waiting) },
    { name: "Bytes", number: true, cell: (peer) => bytes(peer.bytes) },
    { name: "A second", number: true, cell: (peer) => bytes(peer.rate) },
  ], task.peers, undefined, undefined, (peer) => peer.id);
}
