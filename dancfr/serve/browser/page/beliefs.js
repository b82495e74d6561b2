// How a belief is drawn: probabilities as bars, and expected cards as a table. Pages of games use this, too.

import { html } from "./draw.js";

/** A probability with its name. */
export function share(name, weight) {
  return html("div", { class: "bar", role: "listitem" }, html("span", {}, name),
    html("span", { class: "track", "aria-hidden": "true" }, html("i", { style: `width:${(100 * weight).toFixed(1)}%` })),
    html("span", { class: "number" }, `${(100 * weight).toFixed(0)} %`));
}

/** The expected number of cards of each rank in the hands of the other players. */
export function expectedCards(names, others, api) {
  return html("div", { class: "wide" }, html("table", { class: "general-numbers" },
    html("thead", {}, html("tr", {}, html("td", {}), names.map((rank) => html("th", { scope: "col" }, rank)))),
    html("tbody", {}, others.map((other) => html("tr", {}, html("th", { scope: "row" }, api.name(other.seat)),
      other.ranks.map((expected) => html("td", {}, expected.toFixed(1))))))));
}
