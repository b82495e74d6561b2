// Elements of HTML and SVG from nested descriptions, and the cards that several games share.

const SVG = "http://www.w3.org/2000/svg";

function build(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children.flat(3).filter((child) => child !== null && child !== undefined && child !== false));
  return node;
}

/** An HTML element: html("button", {class: "main", onclick: f}, "Play"). Text is never read as HTML. */
export function html(tag, attributes, ...children) {
  return build(document.createElement(tag), attributes, children);
}

/** An SVG element. */
export function svg(tag, attributes, ...children) {
  return build(document.createElementNS(SVG, tag), attributes, children);
}

/** A playing card, face up, or face down for null; `name` is what a screen reader says. */
export function card(face, name) {
  const red = face !== null && /[♥♦]/.test(face);
  return svg("svg", { class: "card", viewBox: "0 0 26 36", role: "img", "aria-label": name },
    svg("rect", { x: 0.75, y: 0.75, width: 24.5, height: 34.5, rx: 3, stroke: "var(--line)", "stroke-width": 1.5,
      fill: face === null ? "var(--back)" : "var(--card)" }),
    face === null
      ? svg("path", { d: "M5 6l16 24M21 6L5 30", stroke: "var(--card)", "stroke-width": 1, opacity: 0.5 })
      : svg("text", { x: 13, y: 19, "text-anchor": "middle", "dominant-baseline": "middle", "font-size": face.length > 2 ? 10 : 13,
        "font-weight": 700, fill: red ? "var(--card-red)" : "var(--card-ink)" }, face));
}

/** Loads the style of a game: its module waits for it, so that a board never jumps under the pointer. */
export function style(file) {
  return new Promise((done) => {
    document.head.append(html("link", { rel: "stylesheet", href: file, onload: done, onerror: done }));
  });
}

/** Replaces what an element contains. */
export function fill(element, ...children) {
  element.replaceChildren(...children.flat(3).filter((child) => child !== null && child !== undefined && child !== false));
}
