// Geister: the board, the choice of colours, and moves by click, drag and keyboard.

import { share } from "../beliefs.js";
import { fill, html, style, svg } from "../draw.js";
import { ghostShape } from "./ghosts.js";
import { LETTERS, describe, move, nameOf, texts } from "./geister-texts.js";

export { describe, move, texts };

/** What an agent believes: the ghosts of the opponent, each with the probability that it is red. */
export function belief(found, api) {
  return found.red.map((red, ghost) => (red === null ? null : share(api.t("geister.is red", { ghost: LETTERS[ghost] }), red)));
}

await style(new URL("geister.css", import.meta.url));

const CELL = 100, EDGE = 30, EXIT = 46; // lengths in the picture: a square, the border with the coordinates, the strip of the exits
const FAR = 12;                         // how far a pointer goes before it drags

export function mount(root, api) {
  const reds = new Set();   // while the colours are chosen
  let view = null, size = 0, picture = null, selected = null, focus = null, drag = null;

  const bottom = () => (view.you === 1 ? 1 : 0);
  const turned = ([x, y]) => (bottom() ? [size - 1 - x, size - 1 - y] : [x, y]); // between cells and places on the screen
  const key = ([x, y]) => `${x},${y}`;
  const setup = () => view.live && view.choices.some((choice) => choice.kind === "setup");
  const moves = () => (view.live ? view.choices.filter((choice) => choice.kind === "move") : []);
  const ghostAt = (cell) => view.scene.ghosts.find((ghost) => ghost.cell && key(ghost.cell) === key(cell));
  const movesOf = (ghost) => moves().filter((choice) => choice.ghost === ghost);
  const own = (ghost) => ghost !== undefined && ghost.owner === view.you;
  const play = (choice) => {
    selected = null;
    api.play(view.choices.indexOf(choice));
    // A second click while the answer is on its way does nothing; the colours that were chosen stay to be seen.
    const ghosts = view.scene.ghosts.map((ghost) => ({ ...ghost, colour: colourOf(ghost) }));
    view = { ...view, choices: [], scene: { ...view.scene, ghosts } };
    draw();
  };

  const board = html("div", { class: "geister-board" });
  const hint = html("p", { class: "geister-hint", id: "geister-hint" });
  const controls = html("div", { class: "geister-controls" });
  const captured = html("div", { class: "geister-captured" });
  fill(root, html("div", { class: "geister" }, html("div", { class: "geister-middle" }, board, hint, controls), captured));

  // ---- drawing

  /** The parts of the picture that stay: squares, exits, coordinates, and for each square what can be focused. */
  function build() {
    size = view.scene.size;
    const width = size * CELL + 2 * EDGE, height = size * CELL + 2 * EXIT + 2 * EDGE;
    picture = {
      bottom: bottom(), cells: new Map(), exits: new Map(), ghosts: new Map(),
      under: svg("g", {}), over: svg("g", { class: "geister-pieces" }), marks: svg("g", { class: "geister-marks" }), labels: svg("g", { class: "geister-labels" }),
    };
    picture.svg = svg("svg", { viewBox: `0 0 ${width} ${height}`, class: "geister-picture", role: "grid", "aria-describedby": "geister-hint" });
    const rows = [];
    for (let y = 0; y < size; y += 1) {
      const row = svg("g", { role: "row" });
      for (let x = 0; x < size; x += 1) {
        const place = [x, y], [left, top] = corner(place);
        picture.under.append(svg("rect", { x: left, y: top, width: CELL, height: CELL, class: (x + y) % 2 ? "geister-square dark" : "geister-square" }));
        const cell = svg("g", { role: "gridcell", class: "geister-cell", "data-place": key(place) },
          svg("rect", { x: left, y: top, width: CELL, height: CELL, class: "geister-hit" }),
          svg("rect", { x: left + 4, y: top + 4, width: CELL - 8, height: CELL - 8, rx: 8, class: "geister-ring" }));
        picture.cells.set(key(place), cell);
        row.append(cell);
      }
      rows.push(row);
    }
    for (const up of [true, false]) {
      for (const x of [0, size - 1]) picture.under.append(exit(x, up));
    }
    for (let i = 0; i < size; i += 1) {
      const column = picture.bottom ? size - 1 - i : i, row = picture.bottom ? i + 1 : size - i;
      picture.labels.append(
        svg("text", { x: EDGE + (i + 0.5) * CELL, y: EXIT + 2 * EDGE + size * CELL - 8 }, "abcdef"[column]),
        svg("text", { x: EDGE / 2, y: EXIT + EDGE + (i + 0.5) * CELL + 7 }, `${row}`));
    }
    picture.svg.append(picture.labels, picture.under, picture.marks, svg("g", { role: "row" }, ...picture.exits.values()), ...rows, picture.over);
    picture.svg.addEventListener("click", clicked);
    picture.svg.addEventListener("keydown", pressed);
    picture.svg.addEventListener("pointerdown", grabbed);
    // A finger on a ghost drags it; elsewhere it moves the page. (touch-action does not work on parts of a picture.)
    picture.svg.addEventListener("touchstart", (event) => drag && event.preventDefault(), { passive: false });
    picture.svg.addEventListener("focusin", (event) => {
      const at = placeOf(event.target);
      if (at) focus = at;
      for (const cell of focusable()) cell.setAttribute("tabindex", cell.dataset.place === focus ? 0 : -1);
    });
    fill(board, picture.svg);
  }

  /** The arrow that leads off the board; those of the player at the bottom can be chosen. */
  function exit(x, up) {
    const middle = EDGE + (x + 0.5) * CELL, base = up ? EXIT + EDGE - 6 : EXIT + EDGE + size * CELL + EDGE + 4, tip = up ? base - EXIT + 6 : base + EXIT - 10;
    const arrow = svg("path", { class: "geister-arrow", d: `M${middle - 24} ${base}L${middle} ${tip}L${middle + 24} ${base}Z` });
    if (up) {
      picture.exits.set(`${x},-1`, svg("g", { role: "gridcell", class: "geister-cell geister-exit", "data-place": `${x},-1` },
        svg("rect", { x: middle - CELL / 2, y: 0, width: CELL, height: EXIT + EDGE, class: "geister-hit" }), arrow,
        svg("rect", { x: middle - CELL / 2 + 4, y: 2, width: CELL - 8, height: EXIT + EDGE - 4, rx: 8, class: "geister-ring" })));
      return svg("g", {});
    }
    return arrow;
  }

  const corner = ([x, y]) => [EDGE + x * CELL, EXIT + EDGE + y * CELL];
  const focusable = () => [...picture.cells.values(), ...picture.exits.values()];
  const placeOf = (target) => target.closest?.("[data-place]")?.dataset.place ?? null;

  /** The ghost whose escape leads through an exit, if one may escape there. */
  function escapeAt(x) {
    return moves().find((choice) => choice.to === null && turned(choice.from)[0] === x);
  }

  function draw() {
    if (picture === null || size !== view.scene.size || picture.bottom !== bottom()) build();
    const targets = selected === null ? new Map() : new Map(movesOf(selected).map((choice) => [choice.to === null ? null : key(turned(choice.to)), choice]));
    drawPieces();
    drawMarks(targets);
    for (let y = 0; y < size; y += 1) for (let x = 0; x < size; x += 1) drawCell([x, y], targets);
    for (const [at, cell] of picture.exits) drawExit(Number(at.split(",")[0]), cell);
    if (focus === null || !(picture.cells.has(focus) || picture.exits.has(focus))) focus = key(turned(firstOwn()));
    for (const cell of focusable()) cell.setAttribute("tabindex", cell.dataset.place === focus ? 0 : -1);
    picture.svg.setAttribute("aria-label", api.t("geister.board"));
    drawControls();
    drawCaptured();
  }

  function firstOwn() {
    const mine = view.scene.ghosts.filter((ghost) => ghost.cell && own(ghost));
    return (mine.find((ghost) => movesOf(ghost.ghost).length) ?? mine[0])?.cell ?? [0, 0];
  }

  function drawPieces() {
    const present = new Set();
    for (const ghost of view.scene.ghosts) {
      const place = ghost.cell ? turned(ghost.cell) : ghost.escaped ? outside(ghost) : null;
      if (place === null) continue;
      const id = `${ghost.owner} ${ghost.ghost}`, colour = colourOf(ghost);
      const look = `${colour} ${ghost.owner === bottom()}`;
      present.add(id);
      let piece = picture.ghosts.get(id);
      if (piece === undefined) {
        piece = svg("g", { class: "geister-piece" });
        picture.ghosts.set(id, piece);
        picture.over.append(piece);
      }
      if (piece.dataset.look !== look) {
        piece.dataset.look = look;
        fill(piece, ghostShape(colour, LETTERS[ghost.ghost], ghost.owner !== bottom()));
      }
      const [x, y] = corner(place);
      piece.style.transform = `translate(${x}px, ${y}px)`;
      piece.classList.toggle("chosen", own(ghost) && selected === ghost.ghost);
    }
    for (const [id, piece] of picture.ghosts) {
      if (present.has(id)) continue;
      piece.remove();
      picture.ghosts.delete(id);
    }
  }

  /** Where a ghost stands that has left the board, by the last move of the game. */
  function outside(ghost) {
    const last = view.events.at(-1);
    if (last?.to !== null || !last.from) return null;
    return [turned(last.from)[0], ghost.owner === bottom() ? -0.9 : size - 0.1];
  }

  function colourOf(ghost) {
    return setup() && own(ghost) ? (reds.has(ghost.ghost) ? "red" : "blue") : ghost.colour;
  }

  function drawMarks(targets) {
    const marks = [], last = view.events.at(-1);
    if (last?.kind === "move") {
      for (const cell of [last.from, last.to]) {
        if (!cell) continue;
        const [x, y] = corner(turned(cell));
        marks.push(svg("rect", { x: x + 3, y: y + 3, width: CELL - 6, height: CELL - 6, rx: 6, class: "geister-last" }));
      }
    }
    if (selected === null && !setup()) {
      for (const ghost of view.scene.ghosts) {
        if (!ghost.cell || !own(ghost) || !movesOf(ghost.ghost).length) continue;
        const [x, y] = corner(turned(ghost.cell));
        marks.push(svg("rect", { x: x + 26, y: y + CELL - 9, width: CELL - 52, height: 5, rx: 2.5, class: "geister-can" }));
      }
    }
    for (const at of targets.keys()) {
      if (at === null) continue;
      const [x, y] = corner(at.split(",").map(Number));
      const takes = targets.get(at).takes;
      marks.push(svg("circle", { cx: x + CELL / 2, cy: y + CELL / 2, r: takes ? 45 : 15, class: takes ? "geister-target takes" : "geister-target" }));
    }
    fill(picture.marks, marks);
  }

  function drawCell(place, targets) {
    const cell = picture.cells.get(key(place)), at = turned(place), ghost = ghostAt(at), target = targets.get(key(place));
    const movable = (own(ghost) && movesOf(ghost.ghost).length > 0) || (setup() && own(ghost));
    const what = ghost ? named(ghost) : api.t("geister.empty");
    const can = target ? api.t(target.takes ? "geister.take here" : "geister.move here") : setup() && own(ghost) ? api.t("geister.turn") : movable ? api.t("geister.choose") : "";
    cell.setAttribute("aria-label", [nameOf(at, size), what, can].filter(Boolean).join(", "));
    cell.setAttribute("aria-selected", own(ghost) && selected !== null && selected === ghost?.ghost);
    cell.setAttribute("class", `geister-cell${movable ? " movable" : ""}${target ? " target" : ""}`);
  }

  function drawExit(x, cell) {
    const escape = escapeAt(x);
    cell.setAttribute("class", `geister-cell geister-exit${escape ? " target" : ""}`);
    cell.setAttribute("aria-label", api.t(escape ? "geister.escape here" : "geister.exit", { ghost: escape ? LETTERS[escape.ghost] : "" }));
    cell.setAttribute("aria-disabled", !escape);
  }

  const named = (ghost) => api.t(own(ghost) ? "geister.own" : view.you === null ? "geister.of" : "geister.other",
    { player: api.name(ghost.owner), ghost: LETTERS[ghost.ghost], colour: api.t(`geister.${colourOf(ghost) ?? "unknown"}`) });

  function drawControls() {
    const half = view.scene.ghosts.length / 4, focused = controls.contains(document.activeElement) ? document.activeElement.dataset.control : null;
    if (!setup()) {
      fill(controls);
      const playing = moves().length > 0;
      fill(hint, !playing ? "" : api.t(moves().every((choice) => choice.to === null) ? "geister.forced" : selected === null ? "geister.hint" : "geister.where"));
      return;
    }
    fill(hint, api.t("geister.setup", { n: half }));
    fill(controls,
      html("output", { class: "geister-count" }, api.t("geister.count", { n: reds.size, of: half })),
      html("button", { "data-control": "draw", onclick: drawLots }, api.t("geister.draw")),
      html("button", { class: "main", "data-control": "confirm", disabled: reds.size !== half, onclick: confirm }, api.t("geister.confirm")));
    if (focused) (controls.querySelector(`[data-control="${focused}"]:not(:disabled)`) ?? controls.querySelector("button")).focus();
  }

  function confirm() {
    const chosen = view.choices.find((choice) => choice.red?.length === reds.size && choice.red.every((ghost) => reds.has(ghost)));
    if (chosen) {
      focusOn(focus);
      play(chosen);
    }
  }

  function drawLots() {
    const drawn = view.choices[Math.floor(Math.random() * view.choices.length)];
    reds.clear();
    for (const ghost of drawn.red) reds.add(ghost);
    draw();
  }

  function drawCaptured() {
    const sides = [1 - bottom(), bottom()].map((taker) => {
      const taken = view.scene.ghosts.filter((ghost) => ghost.owner !== taker && !ghost.cell && !ghost.escaped);
      return html("section", {}, html("h3", {}, api.t("geister.taken", { player: api.name(taker) })),
        html("ul", {}, taken.map((ghost) => html("li", {}, svg("svg", { viewBox: "0 0 100 100", role: "img", "aria-label": named(ghost) },
          ghostShape(ghost.colour, LETTERS[ghost.ghost], ghost.owner !== bottom())))), !taken.length && html("li", { class: "quiet" }, "–")));
    });
    fill(captured, sides[0], html("p", { class: "quiet" }, api.t("geister.limit", { ply: view.scene.ply, limit: view.scene.limit })), sides[1]);
  }

  // ---- what the user does

  /** Acts on a square, "x,y" on the screen; y is -1 for an exit. */
  function act(place) {
    const [x, y] = place.split(",").map(Number);
    if (y < 0) {
      const escape = escapeAt(x);
      return escape ? play(escape) : undefined;
    }
    const at = turned([x, y]), ghost = ghostAt(at);
    if (setup()) {
      if (own(ghost)) {
        if (!reds.delete(ghost.ghost)) reds.add(ghost.ghost);
        api.say(`${named(ghost)}. ${api.t("geister.count", { n: reds.size, of: view.scene.ghosts.length / 4 })}`);
      }
      return draw();
    }
    const target = selected === null ? undefined : movesOf(selected).find((choice) => choice.to && key(choice.to) === key(at));
    if (target) return play(target);
    selected = own(ghost) && movesOf(ghost.ghost).length && selected !== ghost.ghost ? ghost.ghost : null;
    if (selected !== null) {
      const to = movesOf(selected).map((choice) => (choice.to ? nameOf(choice.to, size) : api.t("geister.exit")));
      api.say(api.t("geister.can move", { ghost: LETTERS[selected], squares: to.join(", ") }));
    }
    draw();
  }

  function clicked(event) {
    const place = placeOf(event.target);
    if (place !== null && !drag?.moved) act(place);
    drag = null;
  }

  function focusOn(place) {
    const cell = picture.cells.get(place) ?? picture.exits.get(place);
    cell?.focus();
  }

  function pressed(event) {
    const place = placeOf(event.target);
    if (place === null || event.altKey || event.ctrlKey || event.metaKey) return;
    const [x, y] = place.split(",").map(Number);
    const steps = { ArrowUp: [x, y - 1], ArrowDown: [x, y + 1], ArrowLeft: [y < 0 ? 0 : x - 1, y], ArrowRight: [y < 0 ? size - 1 : x + 1, y] };
    if (event.key in steps) focusOn(key(steps[event.key]));
    else if (event.key === "Enter" || event.key === " ") act(place);
    else if (event.key === "Escape") {
      selected = null;
      draw();
    } else return;
    event.preventDefault();
  }

  function grabbed(event) {
    drag = null;
    const place = placeOf(event.target), ghost = place && !place.includes("-") ? ghostAt(turned(place.split(",").map(Number))) : undefined;
    if (event.button !== 0 || setup() || !own(ghost) || !movesOf(ghost.ghost).length) return;
    drag = { ghost, x: event.clientX, y: event.clientY, moved: false, pointer: event.pointerId };
    picture.svg.setPointerCapture(event.pointerId);
    picture.svg.onpointermove = dragged;
    picture.svg.onpointerup = dropped;
    picture.svg.onpointercancel = () => letGo();
  }

  function dragged(event) {
    if (drag === null || event.pointerId !== drag.pointer) return;
    const [dx, dy] = [event.clientX - drag.x, event.clientY - drag.y];
    if (!drag.moved && Math.hypot(dx, dy) < FAR) return;
    if (!drag.moved) {
      drag.moved = true;
      selected = drag.ghost.ghost;
      draw();
    }
    const piece = picture.ghosts.get(`${drag.ghost.owner} ${drag.ghost.ghost}`);
    if (!piece) return letGo();
    const [x, y] = corner(turned(drag.ghost.cell)), scale = picture.svg.viewBox.baseVal.width / picture.svg.getBoundingClientRect().width;
    piece.classList.add("dragged");
    piece.style.transform = `translate(${x + dx * scale}px, ${y + dy * scale}px)`;
  }

  function dropped(event) {
    if (drag === null) return letGo();
    const { ghost, moved, x, y } = drag;
    letGo();
    if (!moved) {  // the pointer was captured, so the click goes to the picture and not to the square
      drag = { moved: true };
      const start = placeAt(x, y);
      focusOn(start);
      return act(start);
    }
    drag = { moved: true };
    const place = placeAt(event.clientX, event.clientY);
    const choice = movesOf(ghost.ghost).find((each) => place !== null && (each.to ? key(turned(each.to)) === place : place === `${turned(each.from)[0]},-1`));
    if (choice) {
      focus = place;
      return play(choice);
    }
    selected = null;
    draw();
  }

  function placeAt(x, y) {
    return document.elementsFromPoint(x, y).map(placeOf).find((place) => place !== null) ?? null;
  }

  function letGo() {
    picture.svg.onpointermove = picture.svg.onpointerup = picture.svg.onpointercancel = null;
    for (const piece of picture.ghosts.values()) piece.classList.remove("dragged");
    if (drag?.moved) draw();
    drag = null;
  }

  function show(next) {
    const changed = view === null || view.ply !== next.ply || view.live !== next.live || view.you !== next.you;
    view = next;
    if (changed) selected = null;
    if (!setup()) reds.clear();
    draw();
  }

  return { show, destroy: () => fill(root) };
}
