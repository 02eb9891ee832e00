// The socket between the page and its console: JSON texts, and binary pictures
//   u32 kind, u32 buckets, f64 first t, f64 bucket length, f32 [bucket][signal][min, max]

export function decode(buffer, signals) {
  const view = new DataView(buffer);
  const buckets = view.getUint32(4, true), first = view.getFloat64(8, true), length = view.getFloat64(16, true);
  return {buckets, first, length, signals, values: new Float32Array(buffer, 24)};
}

/** The token: in the fragment of the address at first, then in this tab's storage, and out of sight. */
export function token() {
  if (location.hash.length > 1) {
    sessionStorage.setItem("token", location.hash.slice(1));
    history.replaceState(null, "", location.pathname);
  }
  return sessionStorage.getItem("token") ?? "";
}

export async function get(path) {
  const answer = await fetch(path, {headers: {Authorization: "Bearer " + token()}});
  if (!answer.ok) throw new Error(await answer.text());
  return answer;
}

const SILENCE = 3000;  // ms: a live test is told of five times a second

export class Wire {
  constructor(handlers) {
    this.handlers = handlers;
    this.waiting = new Map();
    this.next = 1;
    this.signals = 0;
    this.turnedAway = 0;
    this.open();
  }

  open() {
    this.socket = new WebSocket(location.origin.replace(/^http/, "ws") + "/socket");
    this.socket.binaryType = "arraybuffer";
    this.socket.onopen = () => this.socket.send(JSON.stringify({token: token()}));
    this.alive = false;  // whether states are to come
    this.socket.onmessage = event => {
      this.heard = performance.now();
      if (typeof event.data !== "string") { this.handlers.frames(decode(event.data, this.signals)); return; }
      const message = JSON.parse(event.data);
      if (message.kind === "hello") { this.turnedAway = 0; this.signals = message.about.signals.length; }
      if (message.kind === "state") this.alive = !message.ended;
      if (message.kind === "answer" && this.waiting.has(message.id)) {
        this.waiting.get(message.id)(message);
        this.waiting.delete(message.id);
      }
      this.handlers[message.kind]?.(message);
    };
    this.socket.onclose = event => {
      this.alive = false;
      for (const answer of this.waiting.values()) answer({refused: true, why: "the console is gone"});
      this.waiting.clear();
      this.handlers.closed(event.code);
      // a slow page may miss the time for its token: it tries again, but not with a wrong one for ever
      if (event.code !== 4401 || ++this.turnedAway < 3) setTimeout(() => this.open(), 1000);
    };
    clearInterval(this.pulse);
    this.pulse = setInterval(() => {
      if (this.socket.readyState === 1) this.socket.send('{"do": "here"}');
      const silence = performance.now() - this.heard;
      if (this.alive && silence > SILENCE) this.handlers.silent(silence / 1000);
    }, 500);
  }

  /** Gives an order; resolves to {ok} or {refused, why}. */
  order(what, more = {}) {
    if (this.socket.readyState !== 1) return Promise.resolve({refused: true, why: "the console is not connected"});
    const id = this.next++;
    this.socket.send(JSON.stringify({id, do: what, ...more}));
    return new Promise(resolve => this.waiting.set(id, resolve));
  }
}
