// What an agent thinks of the position that is shown: its policy as bars, its belief, and its values over the game.

import { share } from "./beliefs.js";
import { fill, html, svg } from "./draw.js";

/**
 * The study panel. `ask(ply)` requests an insight, `branch(seat)` plays on from the position that is shown; `describe`
 * writes a move. Insights are kept by position, and the server thinks about the last request only.
 */
export function makeStudy(root, { api, ask, branch }) {
  let insights = new Map(), asked = null, key = null, collecting = false, view = null;

  // These stay while thoughts arrive: a new button in place of another would lose a click.
  const summary = html("summary"), content = html("div"), lines = html("p");
  const collector = html("button", { "data-study": "collect", onclick: () => { collect(); show(view); } });
  const panel = html("details", { ontoggle: () => view && show(view) }, summary, content, collector, lines);

  function begin(table, studied) {
    // Moves told at the end only renumber others.
    if (table.table !== key || (table.over && table.ply > view.table.ply + 1)) {
      insights = new Map();
      asked = null;
      collecting = false;
      if (key === null) panel.open = studied;
      key = table.table;
    }
  }

  function receive(ply, insight) {
    insights.set(ply, insight);
    if (collecting) collect();
    if (view) show(view);
  }

  /** Asks for one position after the other. */
  function collect() {
    collecting = true;
    for (let ply = 0; ply < view.table.ply; ply += 1) {
      if (!insights.has(ply)) {
        asked = ply;
        return ask(ply);
      }
    }
    collecting = false;
  }

  function show(now) {
    view = now;
    const { table, ply } = view;
    root.hidden = !table.study;
    if (root.hidden) return;
    if (!panel.isConnected) fill(root, panel);
    const over = ply === table.ply && table.over;
    if (panel.open && !over && !insights.has(ply) && asked !== ply && !collecting) {
      asked = ply;
      ask(ply);
    }
    const missing = Array.from({ length: table.ply }, (_, at) => at).some((at) => !insights.has(at));
    fill(summary, api.t("inside"));
    fill(content, panel.open && [over ? html("p", { class: "quiet" }, api.t("ended")) : thoughts(insights.get(ply), view), values(missing)]);
    Object.assign(collector, { hidden: table.ply < 2 || !missing, disabled: collecting });
    fill(collector, api.t(collecting ? "collecting" : "collect"));
    drawLines();
  }

  function thoughts(insight, { table, ply }) {
    if (!insight) return html("p", { class: "quiet" }, "…");
    if (insight.failed) return html("p", {}, insight.failed);
    const searched = insight.source === "search";
    const yours = table.you === (table.events[ply]?.player ?? table.mover);
    return [
      html("h2", { title: insight.agent }, api.t(yours ? "study_yours" : "study_title", { player: api.short(insight.agent) })),
      html("p", { class: "quiet" }, [api.t(`source.${insight.source}`, { draws: insight.draws }),
        insight.value !== null && ` ${api.t("value", { value: insight.value.toFixed(2) })} ${api.t(`value_from.${insight.value_from}`)}`]),
      html("div", { role: "list" }, insight.moves.map((move) => bar(move, searched))),
      insight.left_out > 0 && html("p", { class: "quiet" }, api.t("left_out", { count: insight.left_out })),
      insight.beliefs && belief(insight.beliefs),
    ];
  }

  function bar(move, searched) {
    const share = searched && move.prior !== null ? move.prior : move.probability;
    const percent = share === null ? "–" : `${(100 * share).toFixed(1)} %`;
    const notes = [move.value !== null && api.t("worth", { value: move.value.toFixed(2) }), move.tries ? api.t("tries", { count: move.tries }) : null,
      searched && move.probability > 0.5 && api.t("found"), move.played && api.t("chosen")].filter(Boolean).join(", ");
    return html("div", { class: `bar${move.played ? " chosen" : ""}`, role: "listitem" },
      html("span", {}, api.move(move), notes && html("span", { class: "quiet" }, ` (${notes})`)),
      html("span", { class: "track", "aria-hidden": "true" }, html("i", { style: `width:${(100 * (share ?? 0)).toFixed(1)}%` })),
      html("span", { class: "number" }, percent));
  }

  function belief(found) {
    const title = html("h2", {}, `${api.t("belief")} (${api.t(`kind.${found.kind}`)})`);
    const rows = api.belief(found) ?? Object.entries(found.hands ?? {}).map(([hand, weight]) => share(hand, weight));
    return [title, html("div", { role: "list" }, rows)];
  }

  /** The value to player 0, or to its team, over the game, as far as it is known. */
  function values(missing) {
    const { table, ply } = view;
    if (table.ply < 2) return null;
    const points = [];
    let most = 1e-9;
    for (let at = 0; at < table.ply; at += 1) {
      const found = insights.get(at);
      if (!found || found.value === null || found.value === undefined) continue;
      const mover = table.events[at]?.player ?? table.mover;
      const own = api.side(mover) === api.side(0);
      if (!own && !api.opposed()) continue;
      points.push([at, own ? found.value : -found.value]);
      most = Math.max(most, Math.abs(found.value));
    }
    if (!missing && points.length < 2) return null; // the agent values no positions
    const x = (at) => 4 + (192 * at) / Math.max(1, table.ply), y = (value) => 30 - (26 * value) / most;
    return [
      html("h2", {}, api.t("values_title", { player: api.name(0) })),
      points.length > 1 && svg("svg", { viewBox: "0 0 200 60", role: "img", width: "100%",
        "aria-label": api.t("values_label", { last: points.at(-1)[1].toFixed(2), count: points.length }) },
      svg("line", { x1: 4, x2: 196, y1: 30, y2: 30, stroke: "var(--line)" }),
      svg("line", { x1: x(ply), x2: x(ply), y1: 2, y2: 58, stroke: "var(--quiet)", "stroke-dasharray": "2 2" }),
      svg("polyline", { points: points.map(([at, value]) => `${x(at)},${y(value)}`).join(" "), fill: "none", stroke: "var(--accent)", "stroke-width": 1.5 })),
    ];
  }

  function drawLines() {
    const written = `${api.lang()} ${view.table.names.length}`;
    if (lines.dataset.written === written) return;
    lines.dataset.written = written;
    fill(lines, html("span", {}, `${api.t("branch")} `), view.table.names.map((_, seat) =>
      html("button", { onclick: () => branch(seat) }, api.t("seat", { n: seat }))));
  }

  return { begin, receive, show, expect: (ply) => (asked = ply) };
}
