// The page: which view is shown, the connection, and what is said to people who do not see it.

import { h, render } from "./dom.js";
import { clock } from "./format.js";
import { connect, token } from "./live.js";
import { Model } from "./model.js";
import { causes } from "./waits.js";
import * as cluster from "./views/cluster.js";
import * as events from "./views/events.js";
import * as logs from "./views/logs.js";
import * as memory from "./views/memory.js";
import * as steps from "./views/steps.js";
import * as task from "./views/task.js";
import * as training from "./views/training.js";
import * as variables from "./views/variables.js";
import * as waits from "./views/waits.js";

const VIEWS = { cluster, training, steps, waits, variables, memory, events, logs, task };
/** In the order of the navigation; a task is reached by its links. */
const LISTED = ["cluster", "training", "steps", "waits", "variables", "memory", "events", "logs"];
const THEMES = ["auto", "light", "dark"];

const model = new Model();
/** What a user has chosen in each view. */
const choices = new Map();
const connection = { state: "connecting", why: "" };
let isPaused = false;
let latest;
let stop = () => {};
let shown = "";

function route() {
  const [name, argument] = location.hash.replace(/^#\//, "").split("/");
  let decoded = "";
  try {
    decoded = decodeURIComponent(argument ?? "");
  } catch {
    // A mistyped address shows the view without an argument.
  }
  return VIEWS[name] ? { name, argument: decoded } : { name: "cluster", argument: "" };
}

function redraw() {
  const { name, argument } = route();
  if (shown && shown !== name) VIEWS[shown].leave?.();
  const isNew = shown !== name;
  shown = name;
  const main = document.getElementById("main");
  const style = getComputedStyle(main);
  const page = {
    argument,
    // A page that is not shown has no width.
    width: Math.max(240, Math.floor(main.clientWidth - parseFloat(style.paddingLeft) - parseFloat(style.paddingRight) - 34)),
    redraw,
    set: (next) => {
      choices.set(name, { ...choices.get(name), ...next });
      redraw();
    },
  };
  if (name === "cluster" && main.clientWidth > 1000) page.width = Math.floor(page.width * 0.62) - 20;
  render(document.getElementById("header"), header());
  render(document.getElementById("nav"), navigation(name));
  if (connection.state === "refused") render(main, credentials());
  else if (model.pictures === 0) render(main, h("p", { class: "nothing" }, "Asking the tasks of the cluster…"));
  else render(main, h("div", { key: `${name} ${argument}`, class: "view" }, VIEWS[name].view(model, choices.get(name) ?? {}, page)));
  const bad = model.tasks.filter((each) => each.health === "bad").length;
  document.title = `${bad ? `(${bad}!) ` : ""}${VIEWS[name].title}${argument ? ` ${argument}` : ""} – tensorfleet`;
  if (isNew) window.scrollTo(0, 0);
}

function header() {
  const words = { live: `live, ${clock(model.at)}`, lost: `connection lost: ${connection.why}`, connecting: "connecting", refused: "refused" };
  const theme = localStorage.getItem("theme") ?? "auto";
  const next = THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length];
  return [
    h("a", { class: "brand", href: "#/cluster" }, h("img", { src: "/dashboard/icon.svg", alt: "", width: 26, height: 26 }), "tensorfleet"),
    h("span", { class: "from" }, model.seenFrom ? `as ${model.seenFrom} sees it` : ""),
    h("span", { class: `connection ${isPaused ? "paused" : connection.state}` }, isPaused ? "paused" : words[connection.state]),
    h("button", { type: "button", "aria-pressed": isPaused ? "true" : "false", onclick: pause }, isPaused ? "Go on" : "Pause"),
    h("button", {
      type: "button", "aria-label": `Colours: ${theme}. Change to ${next}.`,
      onclick: () => { localStorage.setItem("theme", next); useTheme(); redraw(); },
    }, `Colours: ${theme}`),
  ];
}

function navigation(current) {
  const bad = model.pictures ? causes(model).length : 0;
  return h("ul", null, LISTED.map((name, at) => h("li", { key: name },
    h("a", { href: `#/${name}`, "aria-current": name === current ? "page" : undefined, "aria-keyshortcuts": String(at + 1) },
      VIEWS[name].title,
      name === "waits" && bad ? h("span", { class: "count", "aria-label": `, ${bad} to look at` }, bad) : null))));
}

function credentials() {
  return h("form", {
    class: "card credentials",
    onsubmit: (event) => {
      event.preventDefault();
      token.set(document.getElementById("token").value);
      start();
    },
  },
  h("h1", null, "Who are you?"),
  h("p", null, "This cluster has roles. A token of a reader, an operator or an administrator shows it; ",
    h("code", null, "tensorfleet tokens add"), " makes one."),
  h("p", { role: "alert", class: "finding bad" }, connection.why),
  h("label", { for: "token" }, "Token"),
  h("input", { id: "token", type: "password", autocomplete: "off", required: true }),
  h("button", { type: "submit" }, "Look"));
}

function pause() {
  isPaused = !isPaused;
  if (!isPaused && latest) model.take(latest);
  redraw();
}

function useTheme() {
  const theme = localStorage.getItem("theme") ?? "auto";
  document.documentElement.dataset.theme = theme;
}

function start() {
  stop();
  stop = connect((picture) => {
    latest = picture;
    if (isPaused) return;
    const news = model.take(picture).filter((event) => event.kind !== "failed");
    if (news.length) document.getElementById("announcer").textContent = news.map((event) => event.text).join(". ");
    redraw();
  }, (state, why) => {
    if (connection.state === state && connection.why === (why ?? "")) return;
    Object.assign(connection, { state, why: why ?? "" });
    redraw();
  });
}

addEventListener("hashchange", () => {
  redraw();
  // Who uses a screen reader or a keyboard is taken to what is new.
  document.getElementById("main").focus({ preventScroll: true });
});
addEventListener("keydown", (event) => {
  const isTyping = /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName);
  if (isTyping || event.ctrlKey || event.metaKey || event.altKey) return;
  const name = LISTED[Number(event.key) - 1];
  if (name) location.hash = `#/${name}`;
  if (event.key === "p") pause();
});
addEventListener("resize", redraw);
document.querySelector(".skip").onclick = (event) => {
  event.preventDefault();
  document.getElementById("main").focus();
};
useTheme();
redraw();
start();
