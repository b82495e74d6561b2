// Every text of the page in every language: texts[language][key]. {name} stands for an argument.

export const languages = { en: "English", ja: "日本語", zh: "中文" };

const texts = {
  en: {
    inside: "Look inside", worth: "worth {value}", tries: "{count} roll-outs", found: "found by the search", left_out: "and {count} more",
    "source.policy": "Its policy.", "source.greedy": "It plays the best value.", "source.search": "Bars: before the search.", "source.settled": "No choice, or settled by a rule.", "source.draws": "Estimated from {draws} draws.",
    "value_from.net": "by its net", "value_from.critic": "by a critic, mean of random deals", "value_from.search": "by the search", "value_from.self-play": "exact in self-play", "value_from.values": "the best move's",
    "kind.tracked": "from the moves so far", "kind.learned": "learned, from the moves so far", "kind.uniform": "all that is possible alike", values_title: "Value to {player} over the game", values_label: "{count} values, the last one {last}",
    collect: "Ask at every move", collecting: "Asking …", branch: "Play on from here in",
    rules: "Rules", language: "Language", connecting: "Connecting …", lost: "The connection is lost. Trying again …",
    stopped: "The server does not answer. If it has stopped, start it again with dancfr and open the address that it prints.", retry: "Try again",
    refused: "The server refuses this page: {why}", "your move": "Your move.", "moves": "{player} is to move.", thinking: "{player} is thinking …",
    won: "You have won.", lost_game: "You have lost.", drawn: "A draw.", ended: "The game has ended.", points: "{player}: {points}",
    you: "You", player: "Player {n}", seat: "Seat {n}", "new game": "New game", begin: "Begin", "give up": "Give up and begin", opponent: "{player} is played by", user: "a person",
    invite: "Link for {player}", moves_title: "Moves", first: "First move", back: "One move back", forward: "One move on", last: "Present",
    "at ply": "Move {ply} of {plies}", play: "Resume", again: "Replay", pause: "Pause", pace: "Seconds a move", choices: "Your choices", hidden: "a hidden move",
    looking: "You look at an earlier position. ▶| leads back to the present one.",
    watching: "You are watching.", study_title: "What {player} thinks", study_yours: "What {player} would do here", value: "Value: {value}", chosen: "played", belief: "Belief",
    record: "Recorded as {file}", "general.hand": "Hand",
    "general.rounds": "Rounds", "general.prize": "Prize", "general.won": "Won by", "general.neither": "neither",
    "general.yours": "yours", "general.of": "{player}", "general.hidden": "hidden card", "general.cell": "cell {at} of {cells}", "general.seen": "Seen by {player}: the numbers that are not 0",
  },
  ja: {
    inside: "中をのぞく", worth: "評価{value}", tries: "試行{count}回", found: "探索の結論", left_out: "ほか{count}手",
    "source.policy": "方策そのもの。", "source.greedy": "評価が最大の手を選びます。", "source.search": "棒は探索前の方策。", "source.settled": "選択の余地なし、または規則による手。", "source.draws": "{draws}回の抽出による推定。",
    "value_from.net": "（ネットワーク）", "value_from.critic": "（批評家、無作為な配りの平均）", "value_from.search": "（探索）", "value_from.self-play": "（自己対戦の厳密値）", "value_from.values": "（最善手の値）",
    "kind.tracked": "これまでの手から", "kind.learned": "学習済み、これまでの手から", "kind.uniform": "可能なものをすべて等しく", values_title: "{player}から見た評価の推移", values_label: "{count}個の評価、最後は{last}",
    collect: "全ての手で尋ねる", collecting: "計算中…", branch: "ここから続ける席:",
    rules: "ルール（英語）", language: "言語", connecting: "接続中…", lost: "接続が切れました。再接続しています…",
    stopped: "サーバーが応答しません。停止している場合は dancfr をもう一度起動し、表示されたアドレスを開いてください。", retry: "再接続",
    refused: "サーバーに拒否されました: {why}", "your move": "あなたの番です。", moves: "{player}の番です。", thinking: "{player}が考えています…",
    won: "あなたの勝ちです。", lost_game: "あなたの負けです。", drawn: "引き分けです。", ended: "ゲームが終わりました。", points: "{player}: {points}",
    you: "あなた", player: "プレイヤー{n}", seat: "席{n}", "new game": "新しいゲーム", begin: "始める", "give up": "この対局をやめて始める", opponent: "{player}を担当", user: "人",
    invite: "{player}用リンク", moves_title: "手順", first: "最初へ", back: "一手戻る", forward: "一手進む", last: "現在へ",
    "at ply": "{plies}手中{ply}手", play: "再開", again: "もう一度再生", pause: "一時停止", pace: "一手の秒数", choices: "あなたの選択肢", hidden: "隠された手",
    looking: "過去の局面を表示中です。▶| で現在に戻ります。",
    watching: "観戦中です。", study_title: "{player}の考え", study_yours: "{player}ならどうするか", value: "評価: {value}", chosen: "実際の手", belief: "推測",
    record: "記録: {file}", "general.hand": "手札",
    "general.rounds": "ラウンド", "general.prize": "賞", "general.won": "勝者", "general.neither": "なし",
    "general.yours": "あなた", "general.of": "{player}", "general.hidden": "伏せた札", "general.cell": "{cells}マス中{at}", "general.seen": "{player}に見える数値（0以外）",
  },
  zh: {
    inside: "查看内部", worth: "价值{value}", tries: "模拟{count}次", found: "搜索的结论", left_out: "另有{count}种",
    "source.policy": "其策略。", "source.greedy": "选择价值最高的行动。", "source.search": "条形为搜索前的策略。", "source.settled": "没有选择，或由规则决定。", "source.draws": "由{draws}次抽样估计。",
    "value_from.net": "（网络）", "value_from.critic": "（评论家，随机发牌平均）", "value_from.search": "（搜索）", "value_from.self-play": "（自我对弈的精确值）", "value_from.values": "（最佳行动的值）",
    "kind.tracked": "根据此前的行动", "kind.learned": "学习所得，根据此前的行动", "kind.uniform": "所有可能一视同仁", values_title: "整局中{player}的估值", values_label: "{count}个估值，最后为{last}",
    collect: "询问每一步", collecting: "正在询问……", branch: "从这里继续，座位：",
    rules: "规则（英文）", language: "语言", connecting: "正在连接……", lost: "连接已断开，正在重试……",
    stopped: "服务器没有响应。如果它已停止，请重新启动 dancfr 并打开它显示的地址。", retry: "重试",
    refused: "服务器拒绝了此页面：{why}", "your move": "轮到你了。", moves: "轮到{player}。", thinking: "{player}正在思考……",
    won: "你赢了。", lost_game: "你输了。", drawn: "平局。", ended: "游戏结束。", points: "{player}：{points}",
    you: "你", player: "玩家{n}", seat: "座位{n}", "new game": "新游戏", begin: "开始", "give up": "放弃当前对局并开始", opponent: "{player}由谁操作", user: "真人",
    invite: "{player}的链接", moves_title: "行动记录", first: "回到开头", back: "后退一步", forward: "前进一步", last: "回到当前",
    "at ply": "第{ply}步，共{plies}步", play: "继续", again: "重新播放", pause: "暂停", pace: "每步秒数", choices: "你的选择", hidden: "隐藏的行动",
    looking: "你正在查看之前的局面。按 ▶| 回到当前。",
    watching: "你正在观看。", study_title: "{player}的想法", study_yours: "换作{player}会怎么想", value: "估值：{value}", chosen: "实际选择", belief: "推断",
    record: "记录为{file}", "general.hand": "手牌",
    "general.rounds": "回合", "general.prize": "奖品", "general.won": "获胜者", "general.neither": "无人",
    "general.yours": "你", "general.of": "{player}", "general.hidden": "暗牌", "general.cell": "第{at}格，共{cells}格", "general.seen": "{player}看到的数值（非0）",
  },
};

/** The text of a key in a language, in English where the language lacks it; the key itself if there is no text. */
export function text(language, key, values = {}) {
  const found = texts[language]?.[key] ?? texts.en[key] ?? key;
  return found.replace(/\{(\w+)\}/g, (whole, name) => (name in values ? `${values[name]}` : whole));
}

/** Whether there is such a text. */
export function known(key) {
  return key in texts.en;
}

/** Adds the texts of a game: {en: {...}, ja: {...}, zh: {...}}. */
export function add(more) {
  for (const [language, table] of Object.entries(more)) Object.assign(texts[language], table);
}
