// The frame around the board: connection, seats, history, new games.

import { connect } from "./connection.js";
import { fill, html } from "./draw.js";
import { add, known, languages, text } from "./texts.js";
import { shortNames } from "./names.js";
import { makeStudy } from "./study.js";

const element = (id) => document.getElementById(id);
const stored = (key, value) => {
  try {
    if (value !== undefined) localStorage.setItem(key, value);
    return localStorage.getItem(key);
  } catch {
    return null; // private windows may have no storage
  }
};

const chosen = stored("dancfr-language") ?? navigator.language.slice(0, 2);
let language = chosen in languages ? chosen : "en";
const t = (key, values) => text(language, key, values);

let hello = null;   // the first message of the server
let table = null;   // the last message about the table, with all events so far
let looked = null;  // an earlier position that is shown in place of the present one
let sought = null;  // the ply of the request for an earlier position that has not been answered yet
let board = null;   // the game's module
let module = null;
let wantsKey = keyInAddress();
let running = null; // the timer while a game that has ended is played again

const token = new URLSearchParams(location.search).get("token") ?? "";

function keyInAddress() {
  try {
    return decodeURIComponent(location.hash.slice(1));
  } catch {
    return ""; // a damaged address
  }
}

function name(player) {
  if (table && player === table.you) return t("you");
  const agent = table?.names[player];
  return agent && agent !== "user" ? `${short(agent).replace(/^pretrained:/, "")} (${player})` : t("player", { n: player });
}

/** The name of an agent without the folders above its own, as far as other agents are not called the same. */
function short(agent) {
  return shortNames([...(hello?.agents ?? []), ...(table?.names ?? [])]).get(agent) ?? agent;
}

const api = {
  t, name, known, short,
  lang: () => language,
  move: (choice) => (module.move ? module.move(choice, api) : known(`move.${choice.label}`) ? t(`move.${choice.label}`) : choice.label),
  belief: (found) => module.belief?.(found, api),
  play: (choice) => server.send({ type: "move", ply: table.ply, choice }),
  side: (player) => (hello.teams.length ? hello.teams[player] : player),
  opposed: () => hello.opposed,
  say: (words) => fill(element("said"), words),
  get study() { return table?.study ?? false; },
};

const study = makeStudy(element("study"), {
  api,
  ask: (ply) => server.send({ type: "look", ply }),
  branch: (seat) => server.send({ type: "branch", ply: shownPly(), seat }),
});

const shownPly = () => looked?.ply ?? table.ply;
const stepButton = (sign, to) => html("button", { onclick: () => look(to(shownPly())) }, sign);

// The elements below the board stay during a game: a new one would lose a click or unfinished input.
const steps = {
  first: stepButton("|◀", () => 0), back: stepButton("◀", (ply) => ply - 1), slider: html("input", { type: "range", min: 0, oninput: (event) => look(Number(event.target.value)) }),
  forward: stepButton("▶", (ply) => ply + 1), last: stepButton("▶|", () => table.ply), label: html("span", { class: "quiet" }),
  clock: html("button", { onclick: () => (table.done ? again() : setClock(table.clock.pace, !table.clock.paused)) }),
  pace: html("label", { class: "quiet" }, "", html("input", { type: "number", min: 0, max: 60, step: 0.1, onchange: ({ target }) => {
    target.value = Math.min(60, Math.max(0, Number(target.value) || 0));
    setClock(Number(target.value), table.clock.paused);
  } })),
};

const server = connect(token, {
  message: (message) => handlers[message.type]?.(message),
  lost: () => problem(t("lost")),
  gone: (why) => problem(why ? t("refused", { why }) : t("stopped"), html("button", { onclick: () => server.retry() }, t("retry"))),
});

function problem(words, cure) {
  element("problem").hidden = !words;
  fill(element("problem"), words, cure && " ", cure);
}

const handlers = {
  async hello(message) {
    hello = message;
    sought = null; // asked of a connection that was lost
    problem("");
    try {
      module = await import(`./${message.page}`);
    } catch (error) {
      return problem(`${message.page}: ${error}`);
    }
    if (module.texts) add(module.texts);
    frame();
    if (wantsKey) server.send({ type: "sit", table: wantsKey });
    else begin();
  },
  table(message) {
    const before = table !== null && table.table === message.table ? table.events.slice(0, message.since) : [];
    if (before.length < message.since) return server.send({ type: "sit", table: message.table }); // something was missed
    const present = looked === null || table === null || table.table !== message.table;
    table = { ...message, events: [...before, ...message.events] };
    wantsKey = table.table === hello.table ? "" : table.table;
    if (keyInAddress() !== wantsKey) location.hash = wantsKey;
    if (present) {
      looked = null;
      stop();
    }
    problem(table.failed);
    const last = message.events.at(-1);
    if (last && last.player !== table.you && message.since > 0) api.say(`${name(last.player)}: ${describe(last)}`);
    draw();
    if (looked?.scene === null) seek();
  },
  at(message) {
    if (message.insight) study.receive(message.ply, message.insight);
    if (message.ply === sought) sought = null;
    if (looked === null || looked.scene !== null) return;
    if (looked.ply !== message.ply) return seek();
    looked = message;
    draw();
  },
  error(message) {
    problem(message.text);
    sought = null;
    if (wantsKey && table === null) {
      wantsKey = "";
      begin();
    }
  },
};

/** The table that all visitors watch, or a new one. */
function begin() {
  if (hello.table) server.send({ type: "sit", table: hello.table });
  else server.send({ type: "new", agents: hello.seats });
}

// “Back” in the browser leads back to the table before.
addEventListener("hashchange", () => {
  const key = keyInAddress() || hello?.table;
  if (table && key && key !== table.table) server.send({ type: "sit", table: key });
});

function describe(event) {
  if (module.describe) return module.describe(event, api);
  if (event.hidden) return t("hidden");
  return event.note ? t(`note.${event.note}`, { move: api.move(event) }) : api.move(event);
}

/** What does not change with the game. */
function frame() {
  document.documentElement.lang = language;
  const title = known(`game.${hello.game}`) ? t(`game.${hello.game}`) : hello.game;
  document.title = `${title} – dancfr`;
  fill(element("title"), title);
  fill(element("rules"), t("rules"));
  element("rules").hidden = !hello.rules;
  if (hello.rules) element("rules").href = hello.rules;
  fill(element("language-name"), `${t("language")} `);
  fill(element("language"), Object.entries(languages).map(([code, title]) =>
    html("option", { value: code, selected: code === language }, title)));
  element("language").onchange = (event) => {
    language = event.target.value;
    stored("dancfr-language", language);
    frame();
    if (table) draw();
  };
  element("board").setAttribute("aria-label", title);
  fill(element("log-title"), t("moves_title"));
  board?.destroy();
  board = module.mount(element("board"), api);
  newGame();
}

function newGame() {
  const form = element("new");
  const selects = hello.seats.map((agent, seat) => html("select", { name: `seat-${seat}` },
    html("option", { value: "", selected: agent === null }, t("user")),
    hello.agents.map((each) => html("option", { value: each, selected: each === agent, title: each }, short(each)))));
  for (const select of selects) {
    const tell = () => { select.title = select.value; };
    select.onchange = tell;
    tell();
  }
  const begin = html("button", { type: "submit", class: "main", onblur: () => ask(false) });
  let asked = false;
  const ask = (again) => {
    asked = again;
    fill(begin, t(again ? "give up" : "begin"));
  };
  ask(false);
  form.onsubmit = (event) => {
    event.preventDefault();
    const playing = table && !table.done && table.events.some(({ player }) => player === table.you);
    if (playing && !asked) return ask(true);
    ask(false);
    hello.seats = selects.map((select) => select.value || null);
    server.send({ type: "new", agents: hello.seats });
    scrollTo(0, 0); // on a phone the form lies below the board
  };
  fill(form, html("h2", {}, t("new game")),
    selects.map((select, seat) => html("label", {}, t("opponent", { player: t("seat", { n: seat }) }), select)),
    begin);
}

/** Everything that changes with the game. */
function draw() {
  const live = looked === null;
  const shown = live ? { scene: table.scene, ply: table.ply } : looked;
  fill(element("status"), status(live));
  if (shown.scene) {
    board.show({
      scene: shown.scene, you: table.you, names: table.names, mover: live ? table.mover : (table.events[shown.ply]?.player ?? table.mover), live,
      choices: live ? table.choices : [], over: table.over && shown.ply === table.ply, ply: shown.ply,
      events: table.events.slice(0, shown.ply), returns: table.returns, ending: table.ending,
    });
  }
  drawSeats();
  drawSteps(shown.ply, live);
  drawEvents(shown.ply);
  study.begin(table, hello.study && hello.table === null);
  study.show({ table, ply: shown.ply });
}

function status(live) {
  if (!live) return t("looking");
  if (table.over) {
    if (table.you === null) return `${t("ended")} ${result()}`;
    const own = table.outcome;
    return `${t(own > 0 ? "won" : own < 0 ? "lost_game" : "drawn")} ${result()}`;
  }
  if (table.done) return table.failed ? t("ended") : "";
  if (table.mover === table.you) return t("your move");
  return t(table.users[table.mover] ? "moves" : "thinking", { player: name(table.mover) });
}

function result() {
  const points = table.returns.map((each, player) => t("points", { player: name(player), points: each })).join(", ");
  if (table.ending === "over") return `(${points})`; // the game has one way to end
  return `(${known(`ending.${table.ending}`) ? t(`ending.${table.ending}`) : table.ending}; ${points})`;
}

function drawSeats() {
  const invitations = Object.entries(table.invitations).map(([player, key]) => {
    const link = new URL(`./?token=${encodeURIComponent(token)}#${key}`, location).href;
    return html("p", {}, html("a", { href: link, target: "_blank" }, t("invite", { player: t("player", { n: player }) })));
  });
  fill(element("seats"), html("ul", {}, table.names.map((_, player) =>
    html("li", { class: player === table.mover ? "moves" : null, "aria-current": player === table.mover ? "true" : null, title: table.names[player] || null }, `${player}: ${name(player)}`))),
  table.you === null && html("p", { class: "quiet" }, t("watching")), invitations,
  table.record && html("p", { class: "quiet" }, t("record", { file: table.record })));
}

function look(ply) {
  if (ply >= table.ply) {
    looked = null;
    stop();
    return draw();
  }
  looked = { ply: Math.max(0, ply), scene: null, event: null };
  seek();
  fill(element("status"), status(false)); // the board follows with the answer
  drawSteps(looked.ply, false);
}

/** Asks for the wanted position, one at a time: a dragged slider asks for more than the server allows. */
function seek() {
  if (sought !== null) return;
  sought = looked.ply;
  study.expect(sought);
  server.send({ type: "look", ply: sought });
}

function drawSteps(ply, live) {
  const nav = element("steps"), pace = steps.pace.lastChild;
  if (!nav.childElementCount) fill(nav, Object.values(steps));
  const label = t("at ply", { ply, plies: table.ply });
  Object.assign(steps.slider, { max: table.ply, title: label, ariaLabel: label }); // a drag continues in the same element
  if (Number(steps.slider.value) !== ply) steps.slider.value = ply;
  for (const [key, off] of Object.entries({ first: ply === 0, back: ply === 0, forward: live, last: live })) {
    Object.assign(steps[key], { disabled: off, title: t(key), ariaLabel: t(key) });
  }
  fill(steps.label, label);
  const stands = table.done ? running === null : table.clock.paused;
  steps.clock.hidden = steps.pace.hidden = !table.done && table.users.some((user) => user);
  steps.clock.disabled = table.ply === 0;
  fill(steps.clock, t(!stands ? "pause" : table.done && live ? "again" : "play"));
  steps.pace.firstChild.textContent = `${t("pace")} `;
  if (document.activeElement !== pace) pace.value = table.clock.pace;
}

function setClock(seconds, paused) {
  table.clock.pace = seconds; // of this page alone once the game has ended
  if (!table.done) return server.send({ type: "pace", seconds, paused });
  if (running === null) return;
  stop();
  again();
}

/** Plays a game that has ended once more, from the position that is shown or from its beginning; or stops that. */
function again() {
  if (running !== null) {
    stop();
    return draw();
  }
  running = setInterval(() => {
    if (looked?.scene) look(looked.ply + 1);
  }, Math.max(100, 1000 * table.clock.pace));
  look(looked === null ? 0 : looked.ply + 1);
}

function stop() {
  clearInterval(running);
  running = null;
}

/** Adds what is new to the list of moves; a match has more than a thousand. */
function drawEvents(ply) {
  const list = element("events");
  const written = `${table.table} ${language} ${table.over}`;
  if (list.dataset.written !== written) fill(list);
  list.dataset.written = written;
  for (let i = list.childElementCount; i < table.events.length; i += 1) {
    const event = table.events[i];
    list.append(html("li", { "data-ply": i + 1, value: i + 1, onclick: () => look(i + 1) }, `${name(event.player)}: ${describe(event)}`));
  }
  list.querySelector(".now")?.classList.remove("now");
  const now = list.children[ply - 1];
  if (!now) return;
  now.classList.add("now");
  list.scrollTop = now.offsetTop - list.offsetTop - list.clientHeight + 2 * now.offsetHeight;
}

document.addEventListener("keydown", (event) => {
  if (table === null || event.altKey || event.ctrlKey || event.metaKey || /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName)) return;
  const ply = shownPly();
  const to = { "[": ply - 1, "]": ply + 1, "{": 0, "}": table.ply };
  if (event.key in to) look(to[event.key]);
});

fill(element("status"), t("connecting"));
