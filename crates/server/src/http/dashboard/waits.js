// Who waits for whom, and who is at the end of it: the one to look at.

import { cause } from "./model.js";
import { duration } from "./format.js";

/** Waiting of less than this is how steps go. */
const NOTEWORTHY = 2;

/** What a node waits for, in words. */
export function reason(wait) {
  const what = wait.what ? ` ${wait.what}` : "";
  switch (wait.kind) {
    case "tensor":
      return `the tensor ${wait.what || wait.node} from ${wait.from || "another device"}`;
    case "resource":
      return `${resourceWord(wait.op)}${what}`;
    case "function":
      return "the end of a function";
    case "collective":
      return "the other members of a collective";
    case "file":
      return `a file${what}`;
    case "thread":
      return "a thread of the compute pool";
    default:
      return wait.kind || "something";
  }
}

function resourceWord(op) {
  if (/Dequeue/.test(op)) return "an element of the queue";
  if (/Enqueue/.test(op)) return "room in the queue";
  if (/TakeGradient/.test(op)) return "gradients in the accumulator";
  if (/Mutex|Lock/.test(op)) return "the lock";
  if (/Barrier/.test(op)) return "an element of the barrier";
  return "the resource";
}

/**
 * Every wait of every step as an arrow: from the task that waits to the one that is waited for, which is
 * the same where a queue, a file or a thread is waited for.
 */
export function arrows(model) {
  const found = [];
  for (const task of model.tasks) {
    for (const step of task.steps) {
      for (const wait of step.waits) {
        const to = wait.kind === "tensor" && wait.from ? wait.from : task.id;
        const seconds = Number.isFinite(wait.seconds) ? wait.seconds : step.seconds;
        found.push({ from: task.id, to, step, wait, seconds });
      }
    }
  }
  return found.sort((a, b) => b.seconds - a.seconds);
}

/**
 * What keeps the cluster from going on, worst first: `who` is the task to look at, `waiters` are those who
 * wait for it in the end.
 */
export function causes(model) {
  const found = [];
  const all = arrows(model).filter((arrow) => arrow.seconds >= NOTEWORTHY);
  const waitsFor = new Map();
  for (const arrow of all) {
    if (arrow.to === arrow.from) continue;
    waitsFor.set(arrow.from, (waitsFor.get(arrow.from) ?? new Set()).add(arrow.to));
  }
  const waitersOf = (who) => [...waitsFor.keys()].filter((id) => id !== who && reaches(waitsFor, id, who));
  for (const task of model.tasks.filter((task) => task.health === "bad")) {
    found.push({
      who: task.id, health: "bad", seconds: task.silent, waiters: waitersOf(task.id),
      title: `${task.id} is ${task.word}`, text: cause(task), remedy: remedy(task),
    });
  }
  const circle = [...waitsFor.keys()].filter((id) => reaches(waitsFor, id, id));
  if (circle.length > 1) {
    found.push({
      who: circle[0], health: "bad", seconds: Math.max(...all.map((arrow) => arrow.seconds)),
      waiters: circle, title: `${circle.join(" and ")} wait for each other`,
      text: "none of them sends before it has received",
      remedy: "look at the steps of these tasks: their graphs wait in a circle",
    });
  }
  const atHome = new Map();
  for (const arrow of all.filter((arrow) => arrow.to === arrow.from && arrow.wait.kind !== "function")) {
    const key = `${arrow.from}|${reason(arrow.wait)}`;
    const same = atHome.get(key) ?? { arrow, count: 0 };
    same.count += 1;
    atHome.set(key, same);
  }
  for (const { arrow, count } of atHome.values()) {
    const more = count > 1 ? ` (${count} steps)` : "";
    found.push({
      who: arrow.from, health: "warn", seconds: arrow.seconds, waiters: waitersOf(arrow.from),
      title: `${arrow.from} waits for ${reason(arrow.wait)}${more}`,
      text: `since ${duration(arrow.seconds)}, in node ${arrow.wait.node}`,
      remedy: advice(arrow.wait),
    });
  }
  // Somebody who is waited for, waits for nobody and answers is at work, or never sends.
  const named = new Set(found.map((each) => each.who));
  const awaited = new Set([...waitsFor.values()].flatMap((ids) => [...ids]));
  for (const who of awaited) {
    const task = model.find(who);
    if (named.has(who) || waitsFor.has(who) || !task) continue;
    const isBusy = task.steps.some((step) => step.isComputing);
    const longest = all.find((arrow) => arrow.to === who);
    found.push({
      who, health: "warn", seconds: longest.seconds, waiters: waitersOf(who),
      title: isBusy ? `${who} computes, and others wait for it` : `${who} has not sent what others wait for`,
      text: `${longest.from} waits for ${reason(longest.wait)} since ${duration(longest.seconds)}`,
      remedy: isBusy ? "look at what it computes, and whether its machine is busy with something else"
        : "the step has not begun there, or its part of the graph waits for something else",
    });
  }
  const rank = { bad: 0, warn: 1 };
  return found.sort((a, b) => rank[a.health] - rank[b.health] || b.waiters.length - a.waiters.length
    || b.seconds - a.seconds);
}

function reaches(waitsFor, from, to) {
  const open = [...(waitsFor.get(from) ?? [])];
  const seen = new Set();
  while (open.length) {
    const id = open.pop();
    if (id === to) return true;
    if (seen.has(id)) continue;
    seen.add(id);
    open.push(...(waitsFor.get(id) ?? []));
  }
  return false;
}

function remedy(task) {
  if (task.state === "silent") return "its process is stopped or its machine is overloaded: look there";
  return "its process has ended or its address is wrong: start it again, or look at the network";
}

function advice(wait) {
  switch (wait.kind) {
    case "resource":
      return /Dequeue|TakeGradient|Barrier/.test(wait.op)
        ? "whoever fills it has ended, or waits itself"
        : "whoever empties it or holds it has ended, or waits itself";
    case "file":
      return "the disk or the network file system does not answer";
    case "thread":
      return "all threads compute: the task has more work than its machine can do";
    case "collective":
      return "one of the members has not begun: look for the task that has no such step";
    default:
      return "";
  }
}
