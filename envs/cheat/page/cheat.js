// Cheat: all players' cards, points and answers, the claim, and the user's hand, from which cards are laid.

import { expectedCards } from "../beliefs.js";
import { card, fill, html, style, svg } from "../draw.js";
import { describe, face, faces, move, texts } from "./cheat-texts.js";

export { describe, move, texts };

/** What an agent believes: the cards that the others hold. */
export function belief(found, api) {
  return expectedCards(found.others[0].ranks.map((_, rank) => face(rank)), found.others, api);
}

await style(new URL("cheat.css", import.meta.url));

const MOST_HEARTS = 10, MOST_BACKS = 8;

export function mount(root, api) {
  const chosen = new Set(); // cards of the hand, "rank-number", that are to be laid
  let view = null;
  let queue = null;         // cards that are still to be picked, one decision each; then the discard ends
  let sent = -1;            // the ply at which the last of them was played
  let at = null;            // the card of the hand that the Tab key leads to

  const find = (test) => view.choices.findIndex(test);
  const mine = () => (view.you === null ? null : view.scene.players[view.you]);
  const discarding = () => view.live && view.choices.some((choice) => choice.kind === "lay" || choice.kind === "pick" || choice.kind === "stop");
  const rankOf = (id) => Number(id.split("-")[0]);
  const chosenRanks = () => [...chosen].map(rankOf).sort((a, b) => a - b);
  const room = () => view.scene.most - mine().picked.size;
  const fromNow = (rank) => (rank - view.scene.rank + view.scene.ranks) % view.scene.ranks;

  // ---- the table

  function hearts(health) {
    if (health === null) return null;
    const { points } = view.scene, drawn = points <= MOST_HEARTS ? "♥".repeat(health) + "♡".repeat(points - health) : `♥ ${health}`;
    return html("span", { class: "cheat-hearts", role: "img", "aria-label": api.t("cheat.health", { n: health, of: points }) }, drawn);
  }

  /** What each player has done since the last discard was laid. */
  function answers() {
    const said = {}, laid = view.events.findLastIndex((event) => event.kind === "lay");
    for (const event of laid < 0 ? [] : view.events.slice(laid)) {
      if (event.kind === "lay") said[event.player] = api.t("cheat.claims", { n: event.count, rank: face(event.rank) });
      else if (event.kind !== "pick") said[event.player] = api.t(event.kind === "pass" ? "cheat.passed" : "cheat.challenged");
    }
    return said;
  }

  function player(p, said) {
    const { hand, put, health, picked } = view.scene.players[p], known = p !== view.you && hand.cards !== null;
    return html("li", { class: p === view.mover && !view.over ? "moves" : null, "aria-current": p === view.mover && !view.over ? "true" : null },
      html("strong", {}, api.name(p)), hearts(health),
      html("span", {}, back(), api.t("cheat.cards", { n: hand.size + picked.size })),
      html("span", { class: "quiet" }, api.t("cheat.put", { n: put.size })),
      said[p] && html("span", { class: "cheat-said" }, said[p]),
      known && html("span", { class: "cheat-open" }, faces([...hand.cards, ...(picked.cards ?? [])]) || "–"));
  }

  const back = () => svg("svg", { class: "cheat-back", viewBox: "0 0 12 16", "aria-hidden": "true" },
    svg("rect", { x: 0.5, y: 0.5, width: 11, height: 15, rx: 2, fill: "var(--back)", stroke: "var(--card)" }));

  function pile(size) {
    const backs = Array.from({ length: Math.min(size, MOST_BACKS) }, (_, i) =>
      svg("rect", { x: 4 + 2.5 * i, y: 24 - 2.5 * i, width: 30, height: 42, rx: 4, fill: "var(--back)", stroke: "var(--card)", "stroke-width": 1.5 }));
    return html("div", { class: "cheat-pile" },
      svg("svg", { viewBox: "0 0 60 70", role: "img", "aria-label": api.t("cheat.pile", { n: size }) }, backs,
        !size && svg("rect", { x: 12, y: 14, width: 30, height: 42, rx: 4, fill: "none", stroke: "var(--felt-ink)", "stroke-dasharray": "4 3" })),
      html("span", { "aria-hidden": "true" }, api.t("cheat.pile", { n: size })));
  }

  function claim() {
    const { scene } = view, by = api.name(scene.discarder), rank = face(scene.rank);
    if (view.over) return api.t("cheat.over");
    if (scene.answering) return api.t("cheat.claim", { player: by, n: scene.claimed, rank });
    return api.t(scene.discarder === view.you ? "cheat.to lay" : "cheat.will lay", { player: by, rank });
  }

  function ranks() {
    return html("ol", { class: "cheat-ranks", "aria-label": api.t("cheat.ranks") }, Array.from({ length: view.scene.ranks }, (_, rank) =>
      html("li", { class: rank === view.scene.rank ? "now" : null, "aria-current": rank === view.scene.rank ? "step" : null }, face(rank))));
  }

  /** The last challenge: the cards that it showed, whether the claim was true, and who took the pile. */
  function shown() {
    const last = view.events.findLastIndex((event) => event.kind === "challenge");
    if (last < 0) return null;
    const event = view.events[last], laid = view.events.slice(0, last).findLast((each) => each.kind === "lay");
    const old = view.events.slice(last + 1).some((each) => each.kind === "lay");
    const words = { challenger: api.name(event.player), player: api.name(laid?.player ?? event.taker), n: event.cards.length, rank: face(event.rank) };
    return html("div", { class: `cheat-shown${old ? " old" : ""}`, role: "group", "aria-label": api.t("cheat.shown") },
      html("p", {}, api.t("cheat.challenge of", words)),
      html("div", { class: "cheat-row" }, event.cards.map((rank) => html("span", { class: rank === event.rank ? null : "lie" }, card(face(rank), face(rank))))),
      html("p", {}, html("strong", {}, api.t(event.true ? "cheat.true" : "cheat.lie")), " ", taking(event)));
  }

  function taking(event) {
    const words = { player: api.name(event.taker), n: event.size }, points = view.scene.points === null ? "" : ` ${api.t("cheat.point")}`;
    return api.t(event.taker === view.you ? "cheat.you take" : "cheat.takes", words) + points;
  }

  // ---- the user's hand

  function hand() {
    const own = mine(), held = own.hand.cards ?? [], groups = new Map();
    for (const rank of held) groups.set(rank, (groups.get(rank) ?? 0) + 1);
    for (const id of [...chosen]) if (Number(id.split("-")[1]) >= (groups.get(rankOf(id)) ?? 0)) chosen.delete(id);
    const ids = [...groups].flatMap(([rank, count]) => Array.from({ length: count }, (_, i) => `${rank}-${i}`));
    if (!ids.includes(at)) at = ids.find((id) => rankOf(id) >= Number(at?.split("-")[0] ?? 0)) ?? ids.at(-1) ?? null;
    return html("div", { class: "cheat-hand", role: "group", "aria-label": api.t("cheat.hand", { n: held.length }), onkeydown: walk },
      [...groups].map(([rank, count]) => html("div", { class: `cheat-group${rank === view.scene.rank ? " now" : ""}`, role: "group", "aria-label": face(rank) },
        Array.from({ length: count }, (_, i) => cardButton(rank, i, count)))), !held.length && html("span", { class: "quiet" }, api.t("cheat.no cards")));
  }

  /** Whether a card may be chosen now: cards are picked in rising order, so those below the last one are too late. */
  function may(rank) {
    if (!discarding() || !view.scene.picking) return true;
    return find((choice) => choice.kind === "pick" && choice.card === rank) >= 0;
  }

  function cardButton(rank, i, count) {
    const id = `${rank}-${i}`, pressed = chosen.has(id), off = queue !== null || !view.live || view.over || !may(rank) || (!pressed && chosen.size >= room());
    return html("button", {
      class: "cheat-card", "data-focus": id, "aria-pressed": `${pressed}`, "aria-disabled": `${off}`, tabindex: id === at ? 0 : -1,
      "aria-label": api.t("cheat.card", { rank: face(rank), i: i + 1, n: count }), onfocus: () => { at = id; }, onclick: () => !off && toggle(id),
    }, hidden(card(face(rank), "")));
  }

  function hidden(picture) {
    picture.setAttribute("aria-hidden", "true");
    return picture;
  }

  function toggle(id) {
    if (!chosen.delete(id)) chosen.add(id);
    at = id;
    draw();
  }

  function walk(event) {
    const cards = [...root.querySelectorAll(".cheat-card")], i = cards.indexOf(document.activeElement);
    const to = { ArrowLeft: i - 1, ArrowRight: i + 1, ArrowUp: i - 1, ArrowDown: i + 1, Home: 0, End: cards.length - 1 }[event.key];
    if (i < 0 || to === undefined) return;
    event.preventDefault();
    const target = cards[Math.min(cards.length - 1, Math.max(0, to))];
    for (const each of cards) each.setAttribute("tabindex", each === target ? 0 : -1);
    target.focus();
  }

  // ---- decisions

  function controls() {
    if (!view.live || view.over || view.you === null) return null;
    const answer = (kind, main) => find((choice) => choice.kind === kind) >= 0 &&
      html("button", { class: main ? "main" : null, "data-focus": kind, onclick: () => decide(find((choice) => choice.kind === kind)) }, api.t(`cheat.${kind}`));
    if (find((choice) => choice.kind === "challenge") >= 0) {  // a pass may be forbidden
      const { scene } = view;
      return html("div", { class: "cheat-controls", role: "group", "aria-label": claim() }, answer("pass"), answer("challenge", true),
        html("span", { class: "quiet" }, api.t("cheat.held", { n: (mine().hand.cards ?? []).filter((rank) => rank === scene.rank).length, rank: face(scene.rank) })));
    }
    const cards = [...(mine().picked.cards ?? []), ...chosenRanks()], ready = discarding() && queue === null && cards.length > 0;
    const note = !cards.length ? api.t("cheat.choose", { n: view.scene.most }) : cards.every((rank) => rank === view.scene.rank) ? api.t("cheat.true") : api.t("cheat.lie");
    if (!discarding()) return html("div", { class: "cheat-controls" }, html("span", { class: "quiet" }, api.t("cheat.wait")));
    return html("div", { class: "cheat-controls" },
      html("button", { class: "main", "data-focus": "lay", disabled: !ready, onclick: lay }, api.t("cheat.lay", { n: cards.length || "…", rank: face(view.scene.rank) })),
      html("span", { class: "quiet" }, note, mine().picked.size > 0 && ` (${api.t("cheat.picked", { cards: faces(mine().picked.cards) })})`));
  }

  /** Plays a choice; a second click while the answer is on its way does nothing. */
  function decide(choice) {
    api.play(choice);
    view = { ...view, choices: [] };
    draw();
  }

  function lay() {
    const cards = chosenRanks();
    if (!view.scene.picking) {
      const choice = find((each) => each.kind === "lay" && each.cards.join() === cards.join());
      if (choice >= 0) {
        chosen.clear();
        decide(choice);
      }
      return;
    }
    queue = cards.sort((a, b) => fromNow(a) - fromNow(b));
    chosen.clear();
    sent = -1;
    advance();
    draw(); // so that a second click does not end the discard early
  }

  /** Plays the next decision of a discard that is picked card by card. */
  function advance() {
    if (queue === null || !view.live || sent === view.ply) return;
    const next = queue[0];
    const choice = find((each) => (next === undefined ? each.kind === "stop" : each.kind === "pick" && each.card === next));
    if (choice < 0) queue = null; // the discard was full, and has been laid
    else {
      sent = view.ply;
      queue = next === undefined ? null : queue.slice(1);
      api.play(choice);
    }
  }

  // ---- everything

  function draw() {
    const { scene } = view, count = scene.players.length, first = view.you ?? -1;
    const others = Array.from({ length: view.you === null ? count : count - 1 }, (_, i) => (first + 1 + i) % count), said = answers();
    const inside = root.contains(document.activeElement), focused = inside ? document.activeElement.dataset.focus : null;
    fill(root, html("div", { class: "cheat" },
      html("ul", { class: "cheat-players" }, others.map((p) => player(p, said))),
      html("div", { class: "cheat-felt" },
        ranks(),
        html("div", { class: "cheat-row" }, pile(scene.players.reduce((sum, each) => sum + each.put.size, 0)),
          html("p", { class: "cheat-claim", tabindex: -1, "data-focus": "claim" }, claim())),
        shown()),
      view.you !== null && [html("ul", { class: "cheat-players" }, player(view.you, said)), controls(), hand()]));
    if (inside) restore(focused);
  }

  /** Focus stays where it was; if that is gone, it waits at the claim until there is something to decide. */
  function restore(key) {
    const there = key && key !== "claim" && root.querySelector(`[data-focus="${key}"]:not(:disabled)`);
    const decide = root.querySelector('[data-focus="pass"], [data-focus="challenge"], .cheat-card[tabindex="0"]');
    (there || ((discarding() || view.choices.length) && decide) || root.querySelector('[data-focus="claim"]')).focus({ preventScroll: true });
  }

  function show(next) {
    view = next;
    if (view.mover !== view.you && view.live) queue = null;
    draw();
    advance();
  }

  return { show, destroy: () => fill(root) };
}
