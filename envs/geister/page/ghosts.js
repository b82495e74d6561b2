// The ghosts of Geister: blue ones smile on a round hem, red ones frown with horns on a jagged hem, unknown ones show no face.

import { svg } from "../draw.js";

const ROUND = "M20 86V46a30 32 0 0 1 60 0v40q-7.5 -11 -15 0t-15 0t-15 0t-15 0Z";
const JAGGED = "M20 88V46a30 32 0 0 1 60 0v42l-10 -11l-10 11l-10 -11l-10 11l-10 -11Z";
const PLAIN = "M20 86V46a30 32 0 0 1 60 0v40Z";

/** A ghost in a square of 100 x 100: its colour or null, its letter, and whether it wears the hat of the other side. */
export function ghostShape(colour, letter, hat) {
  const body = { blue: ROUND, red: JAGGED }[colour] ?? PLAIN;
  return [
    colour === "red" && svg("path", { class: "ghost-part", d: "M30 24L24 8L42 17ZM70 24L76 8L58 17Z" }),
    svg("path", { class: "ghost-part", d: body }),
    hat && svg("path", { class: "ghost-hat", d: "M29 25H71L50 4Z" }),
    ...(faces[colour] ?? faces.none)(),
    svg("text", { x: 50, y: colour ? 77 : 80, class: "ghost-letter" }, letter),
  ].filter(Boolean).map((part) => {
    part.classList.add(`ghost-${colour ?? "unknown"}`);
    return part;
  });
}

const eyes = () => [svg("circle", { class: "ghost-eye", cx: 39, cy: 40, r: 5 }), svg("circle", { class: "ghost-eye", cx: 61, cy: 40, r: 5 })];

const faces = {
  blue: () => [...eyes(), svg("path", { class: "ghost-line", d: "M38 50q12 11 24 0" })],
  red: () => [...eyes(), svg("path", { class: "ghost-line", d: "M31 31L45 36M69 31L55 36M36 55l5 -5l5 5l4 -5l4 5l5 -5l5 5" })],
  none: () => [svg("text", { x: 50, y: 56, class: "ghost-question" }, "?")],
};
