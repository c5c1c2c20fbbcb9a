"use strict";

// The server behind the page: the token, this tab's name, requests and what is said when they fail.
const Link = (() => {
  const tab = Array.from(crypto.getRandomValues(new Uint8Array(16)), (n) => n.toString(16).padStart(2, "0")).join("");
  let token = "";

  // The token is in the part of the address that no server sees. A browser that the command opened has a
  // word instead, which is good once.
  async function open() {
    const given = new URLSearchParams(location.hash.slice(1));
    token = given.get("token") || "";
    const word = given.get("once");
    if (!word) return token ? null : "This address has no token. Open the one that the terminal shows.";
    const answer = await ask("opening", { json: { word } });
    if (!answer.ok) return answer.message;
    token = answer.value.token;
    history.replaceState(null, "", `#token=${encodeURIComponent(token)}`);
    return null;
  }

  const headers = (more) => ({ Authorization: `Bearer ${token}`, "Ocboost-Tab": tab, ...more });

  // Gives {ok, status, code, message, value, response}; status 0 is a server that did not answer.
  async function ask(path, { method = "POST", json, bytes, raw = false, keepalive = false } = {}) {
    let response;
    try {
      response = await fetch(path, {
        method,
        headers: headers(json !== undefined ? { "Content-Type": "application/json" } : bytes ? { "Content-Type": "application/octet-stream" } : {}),
        body: json !== undefined ? JSON.stringify(json) : bytes,
        cache: "no-store",
        keepalive,
      });
      if (response.ok) {
        const value = raw ? await response.blob() : await response.json();
        return { ok: true, status: response.status, value, response };
      }
    } catch {
      return { ok: false, status: 0, code: "lost", message: "The server does not answer." };
    }
    const answer = await response.json().catch(() => ({}));
    const error = answer.error || {};
    const message = response.status === 401 && error.code === "unauthorized" && token
      ? "The server does not know this page’s token: it was started anew. Open the address that the terminal shows."
      : error.message || `The server answered with status ${response.status}.`;
    return { ok: false, status: response.status, code: error.code || "", message };
  }

  const get = (path, more) => ask(path, { ...more, method: "GET" });

  function leave() {
    if (token) ask("leave", { keepalive: true });
  }

  async function save(path, name) {
    const answer = await get(path, { raw: true });
    if (!answer.ok) return answer.message;
    const link = document.createElement("a");
    const url = URL.createObjectURL(answer.value);
    link.href = url;
    link.download = name;
    document.body.append(link);
    link.click();
    link.remove();
    setTimeout(() => URL.revokeObjectURL(url), 60000);
    return null;
  }

  return { open, ask, get, leave, save };
})();
