// The WebSocket to the server, which comes back after a loss.

const FIRST_WAIT = 400, LONGEST_WAIT = 5000, TRIES = 12, ANSWER = 10000;

/**
 * Connects; calls on.message(object), on.lost() (it tries again) and on.gone(why) (it does so no more by itself).
 * It begins to try again when the page is seen again: a phone that sleeps loses its connection, and may not notice.
 */
export function connect(token, on) {
  const query = `?token=${encodeURIComponent(token)}`;
  const address = new URL(`./play${query}`, location);
  address.protocol = location.protocol === "https:" ? "wss:" : "ws:";
  let socket = null, tries = 0, wait = FIRST_WAIT, next = 0, doubt = 0;

  function open() {
    const opened = new WebSocket(address);
    socket = opened;
    expectMessage();
    opened.onmessage = (event) => {
      if (socket !== opened) return;
      clearTimeout(doubt);
      doubt = 0;
      tries = 0;
      wait = FIRST_WAIT;
      on.message(JSON.parse(event.data));
    };
    opened.onclose = (event) => {
      if (socket === opened) lost(event.code === 1008 ? event.reason : null);
    };
  }

  /** Drops a connection on which nothing comes: the browser may take it for open long after it has broken. */
  function expectMessage() {
    clearTimeout(doubt);
    doubt = setTimeout(() => {
      const silent = socket;
      lost(null);
      silent.close();
    }, ANSWER);
  }

  async function lost(refusal) {
    socket = null;
    clearTimeout(doubt);
    clearTimeout(next);
    if (refusal !== null) return on.gone(refusal);
    on.lost();
    const why = await refused();
    if (socket !== null) return; // tried meanwhile
    tries += 1;
    if (why !== null || tries > TRIES) return on.gone(why ?? "");
    next = setTimeout(open, wait);
    wait = Math.min(2 * wait, LONGEST_WAIT);
  }

  // Browsers do not tell why a WebSocket was refused, so the server is asked by an ordinary request.
  async function refused() {
    try {
      const question = new URL(`./${query}&origin=${encodeURIComponent(location.origin)}`, location);
      const answer = await fetch(question, { cache: "no-store", signal: AbortSignal.timeout(ANSWER) });
      const text = (await answer.text()).trim();
      return text.startsWith("dancfr: ") ? text : null; // a proxy may refuse, too, and admit the page later
    } catch {
      return null;
    }
  }

  function send(message) {
    if (socket?.readyState === WebSocket.OPEN) socket.send(JSON.stringify(message));
  }

  /** Tries again immediately, or asks whether the server is still there. */
  function retry() {
    tries = 0;
    wait = FIRST_WAIT;
    clearTimeout(next);
    if (socket === null) {
      on.lost();
      open();
    } else if (socket.readyState === WebSocket.OPEN && !doubt) {
      send({ type: "ping" });
      expectMessage();
    }
  }

  document.addEventListener("visibilitychange", () => document.visibilityState === "visible" && retry());
  addEventListener("pageshow", (event) => event.persisted && retry());
  addEventListener("online", retry);
  open();
  return { send, retry };
}
