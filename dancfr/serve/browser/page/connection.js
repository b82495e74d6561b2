// The WebSocket to the server, which comes back after a loss.

const FIRST_WAIT = 400, LONGEST_WAIT = 5000, TRIES = 12;

/** Connects; calls on.message(object), on.lost() and on.gone(why) (no hope left). */
export function connect(token, on) {
  const address = `${location.protocol === "https:" ? "wss" : "ws"}://${location.host}/play?token=${encodeURIComponent(token)}`;
  let socket = null, tries = 0, wait = FIRST_WAIT, gone = false;

  function open() {
    socket = new WebSocket(address);
    socket.onmessage = (event) => {
      tries = 0;
      wait = FIRST_WAIT;
      on.message(JSON.parse(event.data));
    };
    socket.onclose = async (event) => {
      if (gone) return;
      if (event.code === 1008) return end(event.reason);
      on.lost();
      const refusal = await refused();
      if (refusal !== null) return end(refusal);
      tries += 1;
      if (tries > TRIES) return end("");
      setTimeout(open, wait);
      wait = Math.min(2 * wait, LONGEST_WAIT);
    };
  }

  function end(why) {
    gone = true;
    on.gone(why);
  }

  // Browsers do not tell why a WebSocket was refused, so the server is asked by an ordinary request.
  async function refused() {
    try {
      const answer = await fetch(`/?token=${encodeURIComponent(token)}`, { cache: "no-store" });
      return answer.status === 403 ? (await answer.text()).trim() : null;
    } catch {
      return null;
    }
  }

  open();
  return {
    send(message) {
      if (socket.readyState === WebSocket.OPEN) socket.send(JSON.stringify(message));
    },
  };
}
