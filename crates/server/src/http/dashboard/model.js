// What the pictures of a cluster mean: tasks in order, rates from one picture to the next, and what has
// happened since the page was opened. This is the only file that knows the names in a status.

const KEPT_SECONDS = 600;
/** Rates are those of the last seconds: one second alone would jump. */
const RATE_SECONDS = 5;
const KEPT_EVENTS = 500;

/** What each state of a task means to an operator. */
export const STATES = {
  serving: { health: "good", word: "serving", mark: "●" },
  asked: { health: "idle", word: "asked", mark: "○" },
  foreign: { health: "idle", word: "TensorFlow’s", mark: "◇" },
  stalled: { health: "bad", word: "stalled", mark: "■" },
  draining: { health: "warn", word: "draining", mark: "▼" },
  stopping: { health: "warn", word: "stopping", mark: "▼" },
  silent: { health: "bad", word: "silent", mark: "‖" },
  unreachable: { health: "bad", word: "unreachable", mark: "✕" },
};

/** "/job:ps/replica:0/task:1/device:CPU:0" is the task "ps/1". */
export function taskId(name) {
  const job = /\/job:([^/]+)/.exec(name ?? "");
  const task = /\/task:(\d+)/.exec(name ?? "");
  return job && task ? `${job[1]}/${task[1]}` : (name ?? "");
}

/** All that is known of a cluster. */
export class Model {
  constructor() {
    this.at = 0;
    this.seenFrom = "";
    this.tasks = [];
    this.history = new Map();
    this.events = [];
    this.pictures = 0;
  }

  /** Takes the next picture, and returns what changed in it. */
  take(picture) {
    const before = new Map(this.tasks.map((task) => [task.id, task]));
    this.at = picture.at_seconds;
    this.seenFrom = taskId(picture.seen_from);
    this.pictures += 1;
    this.tasks = picture.tasks.map((told) => this.task(told)).sort(inOrder);
    const news = this.tasks.flatMap((task) => changes(before.get(task.id), task, this.at));
    this.events.push(...news);
    this.events.splice(0, this.events.length - KEPT_EVENTS);
    return news;
  }

  task(told) {
    const id = taskId(told.task);
    const [job, index] = [id.split("/")[0], Number(id.split("/")[1])];
    const status = told.status ?? {};
    const state = STATES[told.state] ? told.state : "asked";
    const work = total(status.work);
    const resources = list(status.top_resources).map((resource) => ({ ...resource, task: id }));
    const task = {
      id,
      job,
      index,
      name: told.task,
      address: told.address,
      state,
      ...STATES[state],
      error: told.error ?? "",
      silent: told.silent_seconds ?? 0,
      roundTrip: told.round_trip_seconds,
      isOwn: id === this.seenFrom,
      status,
      work,
      steps: list(status.steps).map((step) => readStep(step, id)),
      resources,
      memory: status.memory_bytes ?? 0,
      owners: owners(status, resources),
      peers: list(status.peers).map(readPeer),
      scalars: status.scalars ?? {},
    };
    this.remember(task);
    return task;
  }

  remember(task) {
    const samples = this.history.get(task.id) ?? [];
    const { done, failed } = task.work;
    const links = Object.fromEntries(task.peers.map((peer) => [peer.id, peer.bytes]));
    const updates = Object.fromEntries(task.resources.map((each) => [resourceKey(each), each.updates]));
    const isAnswered = task.health === "good" || task.health === "warn";
    const last = samples.at(-1);
    // A task that was started anew counts from nothing.
    const isSame = last && last.started === task.status.started_seconds;
    if (last && !isSame) samples.length = 0;
    samples.push({
      at: this.at, done, failed, memory: task.memory, links, updates, isAnswered,
      started: task.status.started_seconds,
    });
    while (samples[0].at < this.at - KEPT_SECONDS) samples.shift();
    this.history.set(task.id, samples);
    const from = samples.find((sample) => sample.at >= this.at - RATE_SECONDS) ?? samples[0];
    const seconds = this.at - from.at;
    const per = (now, then) => (seconds > 0 && isAnswered ? Math.max(0, (now - then) / seconds) : 0);
    task.rate = per(done, from.done);
    task.failureRate = per(failed, from.failed);
    for (const peer of task.peers) peer.rate = per(peer.bytes, from.links[peer.id] ?? peer.bytes);
    for (const each of task.resources) {
      each.rate = per(each.updates, from.updates[resourceKey(each)] ?? each.updates);
    }
  }

  /** The steps a second of a task, as a curve over the time of day. */
  rateCurve(id) {
    const samples = this.history.get(id) ?? [];
    const points = [];
    for (let at = 1; at < samples.length; at += 1) {
      const from = samples[Math.max(0, at - 3)];
      const seconds = samples[at].at - from.at;
      if (seconds > 0) points.push([samples[at].at, (samples[at].done - from.done) / seconds]);
    }
    return points;
  }

  find(id) {
    return this.tasks.find((task) => task.id === id);
  }

  jobs() {
    return [...new Set(this.tasks.map((task) => task.job))];
  }

  /** Events of all tasks and those that were seen from here, the last one first. */
  allEvents() {
    const told = this.tasks.flatMap((task) => list(task.status.events).map((event) => ({
      at: event.time_seconds, kind: event.kind ?? "event", text: event.text ?? "", task: task.id,
    })));
    return [...told, ...this.events].sort((a, b) => b.at - a.at);
  }
}

const list = (value) => (Array.isArray(value) ? value : []);
const resourceKey = (each) => `${each.device ?? ""}|${each.container ?? ""}|${each.name}`;
const JOBS = ["chief", "master", "worker", "ps", "evaluator"];

function inOrder(a, b) {
  const place = (job) => (JOBS.includes(job) ? JOBS.indexOf(job) : JOBS.length);
  return place(a.job) - place(b.job) || a.job.localeCompare(b.job) || a.index - b.index;
}

/** All kinds of work together. */
function total(work) {
  const sum = { running: 0, done: 0, failed: 0, seconds: 0 };
  for (const kind of Object.values(work ?? {})) {
    for (const name of Object.keys(sum)) sum[name] += kind[name] ?? 0;
  }
  return sum;
}

function readStep(step, task) {
  return {
    task,
    id: String(step.id ?? ""),
    whose: step.session ?? "",
    seconds: step.seconds ?? 0,
    isComputing: step.is_computing ?? false,
    waits: list(step.waits).map((wait) => ({
      node: wait.node ?? "",
      op: wait.op ?? "",
      kind: wait.for ?? "",
      from: wait.from ? taskId(wait.from) : "",
      what: wait.what ?? "",
      seconds: wait.seconds,
    })),
  };
}

function readPeer(peer) {
  return {
    id: taskId(peer.task),
    state: peer.state ?? "",
    link: peer.link ?? "",
    waiting: peer.waiting ?? 0,
    bytes: (peer.link_sent_bytes ?? 0) + (peer.link_received_bytes ?? 0),
  };
}

/** Who has the memory of a process: variables, tables and the like by kind, and what remains. */
function owners(status, resources) {
  const found = new Map();
  for (const [name, bytes] of Object.entries(status.memory ?? {})) {
    if (name !== "resident" && bytes > 0) found.set(name.replaceAll("_", " "), bytes);
  }
  if (found.size === 0) {
    for (const each of resources) {
      found.set(each.kind, (found.get(each.kind) ?? 0) + (each.bytes ?? 0));
    }
  }
  const named = [...found.values()].reduce((sum, bytes) => sum + bytes, 0);
  const rest = Math.max(0, (status.memory_bytes ?? 0) - named);
  if (rest > 0) found.set(found.size ? "everything else" : "the process", rest);
  return [...found].map(([name, bytes]) => ({ name, bytes })).sort((a, b) => b.bytes - a.bytes);
}

/** What became of a task from one picture to the next, in words. */
function changes(before, task, at) {
  const news = (kind, text) => [{ at, kind, text, task: task.id, isSeenHere: true }];
  if (!before || before.state === "asked") {
    return task.health === "bad" ? news("lost", `${task.id} is ${task.word}: ${cause(task)}`) : [];
  }
  const restarted = before.status.started_seconds && task.status.started_seconds
    && before.status.started_seconds !== task.status.started_seconds;
  if (restarted) return news("found", `${task.id} was started anew`);
  if (before.state === task.state) {
    const failed = task.work.failed - before.work.failed;
    return failed > 0 ? news("failed", `${failed} failed on ${task.id}`) : [];
  }
  if (task.health === "bad") return news("lost", `${task.id} is ${task.word}: ${cause(task)}`);
  if (before.health === "bad") return news("found", `${task.id} answers again, and is ${task.word}`);
  return news(task.health === "warn" ? "drain" : "state", `${task.id} is ${task.word}`);
}

/** Why a task is not well, in words. */
export function cause(task) {
  if (task.state === "silent") {
    return `nothing has been heard from it for ${Math.round(task.silent)} s`;
  }
  return task.error || "no reason is known";
}
