// Kuhn poker on the general page: its words alone.

export { mount } from "../general.js";

export const texts = {
  en: { "game.kuhn": "Kuhn poker", "general.pot": "Pot", "move.pass": "Pass", "move.bet": "Bet" },
  ja: { "game.kuhn": "クーンポーカー", "general.pot": "ポット", "move.pass": "パス", "move.bet": "ベット" },
  zh: { "game.kuhn": "库恩扑克", "general.pot": "底池", "move.pass": "过", "move.bet": "下注" },
};
