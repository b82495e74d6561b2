// The table of GuanDan: hands, the trick, tributes, and choosing cards to play.

import { expectedCards } from "../beliefs.js";
import { fill, html, style } from "../draw.js";
import { byCombination, byRank, cardName, keyOf, picture, rankName, read, sign, standIns, suggestions, title, told } from "./guandan_cards.js";

export { texts } from "./guandan_texts.js";

/** What an agent believes: the cards that the others hold. */
export function belief(found, api) {
  return expectedCards([..."23456789TJQKA", "SB", "HR"], found.others, api);
}

await style(new URL("guandan.css", import.meta.url));

let combined = false; // how the hand is sorted; kept when the language changes

/** A play in words, for what an agent thinks. */
export function move(choice, api) {
  return told(read(choice.play), (key, values) => api.t(`guandan.${key}`, values));
}

/** An event in words, for the list of moves. */
export function describe(event, api) {
  const t = (key, values) => api.t(`guandan.${key}`, values);
  const words = [told(read(event.play), t)];
  if (event.place !== undefined) words.push(t("out", { place: t(`place${event.place}`) }));
  if (event.won !== undefined && event.won !== event.next) words.push(t("wind", { player: api.name(event.won), next: api.name(event.next) }));
  if (event.round) words.push(t("over", { n: event.round.number }));
  return words.join("; ");
}

export function mount(root, api) {
  const t = (key, values) => api.t(`guandan.${key}`, values);
  const box = (tag, name, attributes, ...children) => html(tag, { class: `guandan-${name}`, ...attributes }, ...children);
  let view = null, plays = [], level = null, items = [];
  let focus = null, hinted = null, dismissed = "", sent = -1, stroke = null;
  const selected = new Set();
  const nodes = new Map(); // button of each card in the user's hand, by its id

  const info = box("p", "info"), news = box("div", "news"), table = box("div", "table");
  const trick = box("p", "trick"), result = box("section", "result", { hidden: true });
  const prompt = box("p", "prompt"), said = box("p", "said quiet", { role: "status" });
  const hand = box("div", "hand", { role: "group", onkeydown: onKey, onpointerdown: onDown, onpointermove: onMove });
  const readings = box("div", "readings", { role: "group", "aria-label": t("readings") });
  const action = (key, run, main) => html("button", { class: main ? "main" : null, "data-action": key, onclick: (event) => event.currentTarget.ariaDisabled !== "true" && run() }, t(key));
  const play = action("play", playSelected, true), pass = action("pass", playPass), hint = action("hint", suggest), clear = action("clear", () => choose([]));
  const sort = html("button", { "data-action": "sort", onclick: toggleSort });
  const own = box("div", "own", {}, prompt, hand, said, readings,
    box("div", "actions", { role: "group", "aria-label": api.t("choices") }, play, pass, hint, clear), sort,
    box("p", "keys quiet", {}, t("keys")));
  fill(root, html("div", { class: "guandan" }, info, result, news, table, trick, own));

  const put = (node, words) => node.textContent !== words && fill(node, words); // a live region repeats whatever is replaced
  const cards = (names, label, kind = "cards") => box("span", kind, { role: "img", "aria-label": label },
    names.map((card) => picture(card, level)));
  const named = (names) => names.map((card) => cardName(card, level, t)).join(", ");
  const team = (side) => (view.you === null ? `${side}+${side + 2}` : t(view.you % 2 === side ? "us" : "them"));
  const sides = () => (view.you % 2 ? [1, 0] : [0, 1]);

  function show(next) {
    if (next.ply !== view?.ply) hinted = null;
    view = next;
    sent = -1;
    const { scene } = view, last = view.events.findLast((event) => event.round)?.round;
    level = scene.level ?? last?.level ?? null;
    plays = view.choices.map((word, index) => ({ ...read(word), index }));
    fill(info, [scene.match && t("round", { n: scene.round }), level && t("level", { level: rankName(level, t) }),
      ...sides().map((side) => `${team(side)}: ${rankName(scene.levels[side], t)}`)].filter(Boolean).map((words) => html("span", {}, words)),
    scene.wild && html("span", {}, `${t("wild")} `, cards([scene.wild], cardName(scene.wild, level, t))));
    drawResult(last);
    const current = trickOf(view.events);
    fill(news, newsOf(current).map((words) => html("p", { class: "quiet" }, words)));
    drawTable(current);
    drawTrick(current);
    drawHand();
  }

  /** The plays since the last lead. */
  function trickOf(events) {
    const end = view.over ? events.length - 1 : events.length;
    for (let i = events.length - 1; i >= 0 && (i === end || !events[i].round); i -= 1) {
      if (events[i].lead) return events.slice(i).map((event) => ({ ...event, ...read(event.play) }));
    }
    return [];
  }

  const sinceRound = () => view.events.slice(view.events.findLastIndex((event) => event.round) + 1);

  function newsOf(current) {
    const { scene } = view, name = api.name, lines = [];
    const opening = sinceRound().filter((event) => event.lead).length < 2;
    if (scene.former && opening) lines.push(t("former", { order: scene.former.map(name).join(" → ") }));
    if (scene.refused && opening) lines.push(t("refused"));
    for (const { payer, receiver, paid, back } of opening ? scene.tributes : []) {
      const values = { payer: name(payer), receiver: name(receiver), card: paid && sign(paid, t), back: back && sign(back, t) };
      lines.push(t(back ? "returned" : receiver !== null && paid ? "paid" : "pays", values));
    }
    const end = current.at(-1);
    if (end?.won !== undefined && end.won !== end.next) lines.push(t("wind", { player: name(end.won), next: name(end.next) }));
    return lines;
  }

  function drawTable(current) {
    const { scene } = view, me = view.you ?? 0, done = current.at(-1)?.won !== undefined;
    const roles = ["own", "next", "partner", "previous"];
    fill(table, [1, 2, 3, 0].map((step) => {
      const player = (me + step) % 4, seat = scene.seats[player], role = roles[step];
      const last = current.findLast((event) => event.player === player);
      const beat = scene.beat?.seat === player, moves = player === view.mover && !view.over;
      const words = api.name(player) + (view.you !== null && step > 0 ? ` · ${t(role)}` : "");
      const state = seat.place === null ? t("cards", { n: seat.left }) : t("out", { place: t(`place${seat.place}`) });
      const visible = seat.hand?.length > 0 && !(player === view.you && !view.over && view.live);
      return box("div", `seat ${role}${moves ? " moves" : ""}${beat ? " beat" : ""}`, { role: "group", "aria-label": words, "aria-current": moves ? "true" : null },
        box("p", "name", {}, html("b", {}, words), html("span", {}, state), moves && box("span", "mark", {}, `▸ ${t("moves")}`)),
        box("div", done ? "last done" : "last", {}, last && (last.cards.length
          ? cards(last.cards, `${title(last, t)}: ${named(last.cards)}`) : box("span", "passed", {}, t("PASS"))),
        beat && box("span", "mark", {}, `◆ ${t("to_beat")}`)),
        visible && cards(byRank(seat.hand.map((card) => ({ card })), level).map((item) => item.card), named(seat.hand), "cards guandan-all"));
    }));
  }

  function drawTrick(current) {
    fill(trick, current.length > 0 && html("b", {}, `${t("trick")}: `),
      current.map((event, i) => [i > 0 && " → ", html("span", { class: event.cards.length ? null : "quiet" }, `${api.name(event.player)} ${told(event, t, level)}`)]));
  }

  function drawResult(last) {
    const since = sinceRound();
    const old = !view.over && (since.some((event) => event.player === view.you) || since.length > 11);
    const key = JSON.stringify([last, view.over]);
    result.hidden = !last || old || dismissed === key;
    if (result.hidden || result.dataset.key === key) return;
    result.dataset.key = key;
    const side = last.order[0] % 2;
    fill(result, html("h2", {}, t("over", { n: last.number })),
      html("p", {}, last.order.map((player, place) => `${t(`place${place}`)}: ${api.name(player)}`).join(", ")),
      html("p", {}, last.rise ? t("rise", { team: team(side), n: last.rise }) : t("no_rise"), " ",
        sides().map((each) => t("levels", { team: team(each), from: rankName(last.from[each], t), to: rankName(last.levels[each], t) })).join("; ")),
      !view.over && html("button", { onclick: () => { dismissed = key; drawResult(last); nodes.get(focus)?.focus(); } }, t("close")));
  }

  // The user's hand.

  const giving = () => plays.length > 0 && ["tribute", "back"].includes(plays[0].kind);
  const allowed = (card) => !giving() || plays.some((each) => each.cards[0] === card);

  function drawHand() {
    const cardsOf = view.you !== null && view.live && !view.over ? view.scene.seats[view.you].hand : null;
    own.hidden = cardsOf === null;
    if (cardsOf === null) return selected.clear();
    const copies = {};
    items = cardsOf.map((card) => ({ card, id: `${card}${(copies[card] = (copies[card] ?? 0) + 1)}` }));
    const groups = combined ? byCombination(items, level) : [byRank(items, level)];
    const before = [...hand.children], focused = before.indexOf(document.activeElement);
    items = groups.flat();
    for (const id of selected) if (!items.some((item) => item.id === id && allowed(item.card))) selected.delete(id);
    if (giving() && new Set(plays.map((each) => each.cards[0])).size === 1) selected.add(items.find((item) => item.card === plays[0].cards[0]).id);
    const starts = new Set(groups.filter((group, i) => i > 0 && (group.length > 1 || groups[i - 1].length > 1)).map((group) => group[0].id));
    const after = items.map((item) => {
      const label = cardName(item.card, level, t);
      let node = nodes.get(item.id);
      if (node?.ariaLabel !== label) node = box("button", "card", { "data-id": item.id, "aria-label": label, onclick: () => onClick(item) }, picture(item.card, level));
      nodes.set(item.id, node);
      node.classList.toggle("start", starts.has(item.id));
      node.ariaDisabled = allowed(item.card) ? null : "true";
      return node;
    });
    for (const id of nodes.keys()) if (!items.some((item) => item.id === id)) nodes.delete(id);
    if (after.length !== before.length || after.some((node, i) => node !== before[i])) {
      fill(hand, after);
      if (!nodes.has(focus)) focus = items[Math.min(Math.max(focused, 0), items.length - 1)]?.id ?? null;
      if (focused >= 0) nodes.get(focus)?.focus();
    }
    hand.setAttribute("aria-label", `${t("hand")}: ${t("cards", { n: items.length })}`);
    drawActions();
  }

  function drawActions() {
    for (const [id, node] of nodes) {
      node.ariaPressed = `${selected.has(id)}`;
      node.tabIndex = id === focus ? 0 : -1;
    }
    const asked = plays.length > 0 && sent !== view.ply, fitting = legal();
    const enable = (button, on) => { button.ariaDisabled = `${!on}`; };
    enable(play, asked && fitting.length > 0);
    enable(pass, asked && plays.some((each) => each.kind === "PASS"));
    enable(hint, asked && plays.some((each) => each.cards.length));
    enable(clear, selected.size > 0);
    play.textContent = t(asked && giving() ? "hand_over" : "play");
    pass.classList.toggle("main", asked && plays.length === 1 && plays[0].kind === "PASS");
    sort.textContent = t(combined ? "by_rank" : "by_combination");
    fill(prompt, prompted());
    put(said, selected.size === 0 ? "" : !plays.length ? named(chosen())
      : fitting.length === 0 ? t("illegal", { n: selected.size }) : fitting.length > 1 ? t("readings") : t("selected", { play: told(fitting[0], t, level) }));
    fill(readings, asked && fitting.length > 1 ? fitting.map((each) => html("button", { class: "main", onclick: () => send(each) }, reading(each))) : []);
  }

  function prompted() {
    if (!plays.length) return "";
    if (giving()) return t(plays[0].kind === "tribute" ? "pay" : "give");
    const { beat } = view.scene;
    if (!beat) return t("you_lead");
    const words = t("beat", { play: title(read(beat.play), t), player: api.name(beat.seat) });
    return plays.length === 1 ? `${words} ${t("none")}` : words;
  }

  function reading(each) {
    const wild = standIns(each, level).map((card) => sign(card, t)).join(" ");
    return wild ? `${title(each, t)} (${t("wild_as", { cards: wild })})` : title(each, t);
  }

  const chosen = () => items.filter((item) => selected.has(item.id)).map((item) => item.card);

  /** The legal plays with just the selected cards. */
  function legal() {
    const key = keyOf(chosen());
    return key ? plays.filter((each) => keyOf(each.cards) === key) : [];
  }

  function choose(names) {
    selected.clear();
    for (const card of names) {
      const item = items.find((each) => each.card === card && !selected.has(each.id));
      if (item) selected.add(item.id);
    }
    drawActions();
  }

  function mark(item, on) {
    if (!item || !allowed(item.card)) return;
    if (on && giving()) selected.clear();
    if (on) selected.add(item.id);
    else selected.delete(item.id);
    focus = item.id;
    drawActions();
  }

  function onClick(item) {
    if (!stroke?.dragged) mark(item, !selected.has(item.id));
    stroke = null;
  }

  const itemAt = (event) => {
    const node = document.elementFromPoint(event.clientX, event.clientY)?.closest(".guandan-card");
    return items.find((item) => item.id === node?.dataset.id);
  };

  function onDown(event) {
    const first = event.isPrimary && event.button === 0 ? itemAt(event) : null;
    stroke = first ? { first, on: !selected.has(first.id), dragged: false } : null;
    if (first) event.target.releasePointerCapture?.(event.pointerId);
  }

  function onMove(event) {
    if (!stroke || event.buttons === 0) return;
    const item = itemAt(event);
    if (!item || (item === stroke.first && !stroke.dragged)) return;
    if (!stroke.dragged) mark(stroke.first, stroke.on);
    stroke.dragged = true;
    if (selected.has(item.id) !== stroke.on) mark(item, stroke.on);
  }

  function onKey(event) {
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    const at = items.findIndex((item) => item.id === event.target.dataset.id);
    const top = hand.firstChild?.offsetTop, row = [...hand.children].filter((node) => node.offsetTop === top).length;
    const to = { ArrowLeft: at - 1, ArrowRight: at + 1, Home: 0, End: items.length - 1, ArrowUp: at < row ? at : at - row, ArrowDown: at + row }[event.key];
    const run = { Enter: playSelected, Escape: () => choose([]), p: playPass, h: suggest }[event.key];
    if (to === undefined && !run) return;
    event.preventDefault();
    if (run) return run();
    focus = items[Math.min(items.length - 1, Math.max(0, to))].id;
    drawActions();
    nodes.get(focus).focus();
  }

  function toggleSort() {
    combined = !combined;
    drawHand();
  }

  function playSelected() {
    const fitting = legal();
    if (fitting.length === 1) send(fitting[0]);
    else if (fitting.length > 1) readings.firstChild?.focus();
  }

  function playPass() {
    const found = plays.find((each) => each.kind === "PASS");
    if (found) send(found);
  }

  function send(found) {
    if (sent === view.ply) return;
    sent = view.ply;
    if (readings.contains(document.activeElement)) nodes.get(focus)?.focus();
    if (found.kind !== "PASS") selected.clear();
    drawActions();
    api.play(found.index);
  }

  /** Selects the next play of the selection's kind, of those with the selected cards, or of all. */
  function suggest() {
    const names = chosen(), key = keyOf(names);
    if (!hinted || hinted.key !== key) {
      const all = plays.filter((each) => each.cards.length), kind = legal()[0]?.kind;
      const holds = (each) => { const left = [...each.cards]; return names.every((card) => left.includes(card) && left.splice(left.indexOf(card), 1)); };
      const some = names.length ? all.filter((each) => (kind ? each.kind === kind : holds(each))) : all;
      hinted = { list: suggestions(some.length ? some : all, view.scene.seats[view.you].hand, level), at: -1 };
    }
    hinted.at = (hinted.at + 1) % Math.max(1, hinted.list.length);
    if (!hinted.list.length) return;
    choose(hinted.list[hinted.at].cards);
    hinted.key = keyOf(chosen());
  }

  return { show, destroy: () => fill(root) };
}
