"use strict";

// The service behind a live page: its stream of states, the token, and commands.
const Service = (() => {
  const KEPT = "ocboost-token " + location.pathname; // other services may lie below other paths of the host
  const LONGEST_PAUSE = 15;
  const SILENCE = 60000; // milliseconds without a sign of life, after which the connection counts as lost
  let token = stored();
  let heard = 0; // when the stream last said anything
  let shift = 0; // the service's clock less this one, in seconds
  let stream = null;
  let newest = 0; // which connection is wanted: those before it end

  function stored() {
    try {
      return sessionStorage.getItem(KEPT);
    } catch {
      return null; // a browser that keeps nothing
    }
  }

  function setToken(value, keep) {
    token = value;
    try {
      if (keep && value) sessionStorage.setItem(KEPT, value);
      else sessionStorage.removeItem(KEPT);
    } catch {
      // kept in memory only
    }
  }

  const hasToken = () => token !== null;

  function headers(more) {
    return token ? { ...more, Authorization: `Bearer ${token}` } : { ...more };
  }

  // Takes pieces of a text/event-stream; gives the data of each event "state".
  function reader(take) {
    let rest = "";
    let kind = "";
    let data = [];
    return (piece) => {
      const lines = (rest + piece).split("\n");
      rest = lines.pop();
      for (const raw of lines) {
        const line = raw.endsWith("\r") ? raw.slice(0, -1) : raw;
        if (line === "") {
          if (kind === "state" && data.length) take(data.join("\n"));
          kind = "";
          data = [];
        } else if (line.startsWith("event:")) {
          kind = line.slice(6).trim();
        } else if (line.startsWith("data:")) {
          data.push(line.slice(line[5] === " " ? 6 : 5));
        }
      }
    };
  }

  // Reads one stream until it ends; gives the status that refused it, or 200.
  async function listen(onState, onOpen) {
    const own = new AbortController();
    stream = own;
    heard = Date.now();
    const response = await fetch("events", {
      headers: headers({ Accept: "text/event-stream" }),
      cache: "no-store",
      signal: own.signal,
    });
    if (!response.ok) {
      own.abort();
      return response.status;
    }
    const date = Date.parse(response.headers.get("Date"));
    if (Number.isFinite(date)) shift = (date - Date.now()) / 1000;
    onOpen();
    let first = true;
    const read = reader((text) => {
      onState(JSON.parse(text), first);
      first = false;
    });
    const decoder = new TextDecoder();
    const pieces = response.body.getReader();
    try {
      for (;;) {
        const { done, value } = await pieces.read();
        if (done) return 200;
        heard = Date.now();
        read(decoder.decode(value, { stream: true }));
      }
    } finally {
      own.abort();
    }
  }

  const pause = (seconds) => new Promise((done) => setTimeout(done, 1000 * seconds));

  // Listens until a token is wanted, or it is called again. `on` has open, state, lost and refused.
  async function connect(on) {
    const mine = ++newest;
    if (stream) stream.abort();
    let seconds = 1;
    while (mine === newest) {
      let why = "";
      try {
        const status = await listen((part, first) => { seconds = 1; on.state(part, first); }, on.open);
        if (mine !== newest) return;
        if (status === 401) {
          const given = hasToken();
          setToken(null, false);
          on.refused(given);
          return;
        }
        why = status === 200 ? "" : ` (status ${status})`;
      } catch (error) {
        if (error instanceof SyntaxError || error instanceof ReferenceError) console.error(error);
      }
      if (mine !== newest) return;
      on.lost(seconds, why);
      await pause(seconds);
      seconds = Math.min(2 * seconds, LONGEST_PAUSE);
    }
  }

  function checkAlive() {
    if (stream && !stream.signal.aborted && Date.now() - heard > SILENCE) stream.abort();
  }

  // Sends a command; gives null, or the words of an error.
  async function command(path, content) {
    try {
      const response = await fetch(path, {
        method: "POST",
        headers: headers({ "Content-Type": "application/json" }),
        body: JSON.stringify(content),
        cache: "no-store",
      });
      if (response.ok) return null;
      if (response.status === 401) return "The token was not accepted.";
      const answer = await response.json().catch(() => ({}));
      return (answer.error && answer.error.message) || `The service answered with status ${response.status}.`;
    } catch {
      return "The service did not answer.";
    }
  }

  const now = () => Date.now() / 1000 + shift;

  return { connect, command, setToken, hasToken, checkAlive, now };
})();
