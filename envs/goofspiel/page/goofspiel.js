// Goofspiel on the general page: its words alone.

export { mount } from "../general.js";

export const texts = {
  en: { "game.goofspiel": "Goofspiel", "general.points": "Points" },
  ja: { "game.goofspiel": "グーフスピール", "general.points": "得点" },
  zh: { "game.goofspiel": "竞价纸牌", "general.points": "分数" },
};
