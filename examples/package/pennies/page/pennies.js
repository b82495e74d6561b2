// Matching pennies: the coin, and a button for each side.

import { share } from "../beliefs.js";
import { fill, html, style } from "../draw.js";

export const texts = {
  en: { "game.pennies": "Matching pennies", "move.heads": "Heads", "move.tails": "Tails", "pennies.coin": "Coin: {side}" },
  ja: { "game.pennies": "コイン当て", "move.heads": "表", "move.tails": "裏", "pennies.coin": "コイン: {side}" },
  zh: { "game.pennies": "猜硬币", "move.heads": "正面", "move.tails": "反面", "pennies.coin": "硬币：{side}" },
};

await style(new URL("pennies.css", import.meta.url));

/** What an agent believes: the side of the coin. */
export function belief(found, api) {
  return Object.entries(found.coin).map(([side, weight]) => share(api.t(`move.${side}`), weight));
}

export function mount(root, api) {
  function show({ scene, choices, live }) {
    const side = scene.hidden ? api.t(`move.${scene.hidden}`) : scene.laid ? "?" : "–";
    fill(root, html("p", { class: "pennies-coin" }, api.t("pennies.coin", { side })),
      live && choices.map((choice, i) => html("button", { class: "main", onclick: () => api.play(i) }, api.move(choice))));
  }

  return { show, destroy: () => fill(root) };
}
