// Who waits for whom, and why: causes first, then every wait.

import { h } from "../dom.js";
import { count, duration } from "../format.js";
import { card, finding, nothing, table, taskLink } from "../parts.js";
import { arrows, causes, reason } from "../waits.js";

const MOST = 200;

export const title = "Waits";

export function view(model, state, page) {
  const found = causes(model);
  const all = arrows(model);
  const tells = model.tasks.some((task) => Array.isArray(task.status.steps));
  return [
    h("h1", null, "Who waits for whom"),
    card("Why the cluster does not go on", {}, found.length
      ? h("ul", { class: "findings" }, found.map(finding))
      : nothing("Nobody has waited for long, and every task answers.")),
    card("Every wait", {}, all.length === 0
      ? nothing(tells ? "No step waits." : "The tasks do not tell what their steps wait for.")
      : [
        table("Every wait", [
          { name: "Who", cell: (arrow) => taskLink(arrow.from), sort: (arrow) => arrow.from },
          { name: "For whom", cell: (arrow) => (arrow.to === arrow.from ? "itself" : taskLink(arrow.to)), sort: (arrow) => arrow.to },
          { name: "Why", cell: (arrow) => reason(arrow.wait), sort: (arrow) => reason(arrow.wait) },
          { name: "Since", number: true, cell: (arrow) => duration(arrow.seconds), sort: (arrow) => arrow.seconds },
          { name: "Node", cell: (arrow) => h("code", null, arrow.wait.node), sort: (arrow) => arrow.wait.node },
          { name: "Step", cell: (arrow) => h("code", null, arrow.step.id), sort: (arrow) => arrow.step.id },
        ], all.slice(0, MOST), state.order ?? { name: "Since", isUp: false }, (order) => page.set({ order })),
        all.length > MOST ? h("p", { class: "hint" }, `The ${MOST} longest of ${count(all.length)}.`) : null,
      ]),
  ];
}
