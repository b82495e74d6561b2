// Any game with numbered actions: its facts or its line of text, and a button for each action.

import { card, fill, html } from "./draw.js";

export function mount(root, api) {
  // The note stays while the rest is drawn again: screen readers read a text aloud if it changes in an element that was there.
  const facts = html("div"), note = html("p", { class: "general-note", role: "status" }), choices = html("div", { class: "general-choices", role: "group" });
  fill(root, facts, note, choices);

  function who(player, view) {
    return player === view.you ? api.t("general.yours") : api.t("general.of", { player: api.name(player) });
  }

  function heading(fact, view) {
    const name = api.known(`general.${fact.key}`) ? api.t(`general.${fact.key}`) : fact.key;
    return fact.player === undefined ? name : `${name} (${who(fact.player, view)})`;
  }

  function rounds(fact, view) {
    const won = (row) => (row.won === null ? "…" : row.won === 0 ? api.t("general.neither") : api.name(row.won - 1));
    const prizes = fact.rows.some((row) => row.prize !== null);
    return html("table", {}, html("thead", {}, html("tr", {},
      prizes && html("th", { scope: "col" }, api.t("general.prize")),
      [0, 1].map((player) => html("th", { scope: "col" }, api.name(player))),
      html("th", { scope: "col" }, api.t("general.won")))),
    html("tbody", {}, fact.rows.map((row) => html("tr", {},
      prizes && html("td", {}, `${row.prize}`),
      row.bids.map((bid) => html("td", {}, bid === null ? "?" : `${bid}`)),
      html("td", {}, won(row))))));
  }

  function content(fact, view) {
    if (fact.kind === "cards") {
      if (!fact.cards.length) return html("span", {}, "–");
      return fact.cards.map((face) => card(face, face === null ? api.t("general.hidden") : face));
    }
    if (fact.kind === "rounds") return rounds(fact, view);
    if (fact.kind === "board") {
      const shift = (i) => (fact.slanted ? { style: `margin-left:calc(${i} * (1rem + 1px))` } : {});
      // An empty cell shows its name; where this names a choice, a click on the cell makes it, as the button below does.
      const choice = new Map(view.live ? view.choices.map((each, i) => [api.move(each), i]) : []);
      const noted = lastKnown(view)?.note && api.move(lastKnown(view));
      const cell = (sign, name) => html("i", sign === null && choice.has(name)
        ? { class: "choice", onclick: () => api.play(choice.get(name)) } : { class: name === noted ? "noted" : null }, sign ?? html("small", { class: "quiet" }, name));
      const cells = (row, i) => row.map((sign, j) => cell(sign, fact.names[i][j]));
      const rows = fact.rows.map((row, i) => html("div", { class: "general-cells", ...shift(i) }, cells(row, i)));
      return html("div", { class: "general-board", role: "img", "aria-label": view.scene.text }, rows);
    }
    if (fact.kind === "track") {
      const cells = Array.from({ length: fact.cells }, (_, i) => html("i", {}, i === fact.at ? "●" : ""));
      const at = api.t("general.cell", { at: fact.at + 1, cells: fact.cells });
      return html("div", { class: "general-cells", role: "img", "aria-label": at }, cells);
    }
    return html("strong", {}, fact.value === null ? "?" : `${fact.value}`);
  }

  function numbers(scene) {
    return Object.entries(scene.numbers).map(([player, values]) => html("details", { open: true },
      html("summary", {}, api.t("general.seen", { player: api.name(Number(player)) })),
      html("table", { class: "general-numbers" }, html("tbody", {},
        values.map(([index, value]) => html("tr", {}, html("th", { scope: "row" }, `${index}`), html("td", {}, `${value}`)))))));
  }

  /** The last event of which the viewer knows more than that it was. */
  function lastKnown(view) {
    return view.events.findLast((event) => !event.hidden);
  }

  /** Says what came of the last move where that is not on the board, and to the player who moved what follows. */
  function say(view) {
    const event = lastKnown(view);
    if (!event?.note) return "";
    const asked = view.live && !view.over && event.player === view.you;
    return [api.t(`note.${event.note}`, { move: api.move(event) }), asked && event.then && api.t(`note.${event.then}`)].filter(Boolean).join(" ");
  }

  function show(view) {
    const { scene } = view;
    fill(facts,
      scene.facts && html("div", { class: "general-facts" }, scene.facts.map((fact) => html("div", {},
        html("span", { class: "name" }, heading(fact, view)), content(fact, view)))),
      scene.text && !scene.facts?.some((fact) => fact.kind === "board") && html("p", { class: "general-text quiet" }, scene.text),
      scene.numbers && numbers(scene));
    const words = say(view);
    if (note.textContent !== words) fill(note, words);
    choices.ariaLabel = api.t("choices");
    fill(choices, view.live ? view.choices.map((choice, i) => html("button", { class: "main", onclick: () => api.play(i) }, api.move(choice))) : []);
  }

  return { show, destroy: () => fill(root) };
}
