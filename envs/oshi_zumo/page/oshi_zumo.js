// Oshi-zumo on the general page: its words alone.

export { mount } from "../general.js";

export const texts = {
  en: { "game.oshi_zumo": "Oshi-zumo", "general.coins": "Coins", "general.track": "Track" },
  ja: { "game.oshi_zumo": "押し相撲", "general.coins": "コイン", "general.track": "土俵" },
  zh: { "game.oshi_zumo": "推相扑", "general.coins": "金币", "general.track": "赛道" },
};
