"use strict";

// Puts the page together: shows the document that lies in the file, or those that the service sends.
(() => {
  const { byId, write } = Dom;
  const given = byId("document").textContent.trim();
  const live = given === "";
  let latest = null;
  let stale = false; // there is something that has not been shown
  let lastEvent = null;
  let lost = false;
  let busy = false;
  let asked = null; // who waits for the dialog's answer

  const ago = live ? (seconds) => Dom.duration(Service.now() - seconds) + " ago" : Dom.moment;

  // ------------------------------------------------------------------ showing

  function announce(text) {
    byId("announce").textContent = "";
    write(byId("announce"), text);
  }

  function announceEvents(events) {
    const newest = Math.max(0, ...events.map((event) => event.number));
    if (lastEvent !== null && live) {
      const fresh = events.filter((event) => event.number > lastEvent && event.kind !== "version");
      if (fresh.length) announce(fresh.slice(-3).map((event) => event.text).join(" "));
    }
    lastEvent = newest;
  }

  function show() {
    stale = false;
    const doc = latest;
    write(byId("title"), doc.title || "ocboost");
    write(byId("subtitle"), doc.subtitle || "");
    byId("subtitle").hidden = !doc.subtitle;
    document.title = Dom.plain(doc.title ? `${doc.title} – ocboost` : "ocboost");
    Sections.status(doc, ago);
    Charts.show(doc);
    Sections.events(doc);
    Sections.members(doc);
    Sections.hypotheses(doc);
    Sections.features(doc);
    Sections.mistakes(doc);
    Sections.versions(doc, live && doc.kind === "live" ? rollBack : null);
    showCommands(doc);
    announceEvents(doc.events || []);
  }

  function showSoon() {
    if (stale) return;
    stale = true;
    if (!document.hidden) requestAnimationFrame(() => stale && show());
  }

  function take(part, first) {
    latest = first || latest === null ? part : { ...latest, ...part };
    showSoon();
  }

  // ------------------------------------------------------------------ commands

  function showCommands(doc) {
    const frozen = Boolean(doc.status && doc.status.frozen);
    byId("commands").hidden = !(live && doc.kind === "live");
    write(byId("freeze"), frozen ? "Unfreeze" : "Freeze");
    for (const button of document.querySelectorAll("#commands button, [data-command]")) button.disabled = busy;
  }

  function ask(title, text, yes) {
    const dialog = byId("ask");
    write(byId("ask-title"), title);
    write(byId("ask-text"), text);
    write(byId("ask-yes"), yes);
    dialog.showModal();
    byId("ask-no").focus();
    return new Promise((done) => { asked = done; });
  }

  // The dialog's own "close" event may come after it was opened again: it must not answer the next question.
  function settle(yes) {
    const done = asked;
    asked = null;
    byId("ask").close();
    if (done) done(yes);
  }

  function closed() {
    if (!byId("ask").open) settle(false);
  }

  async function command(button, { title, text, yes, path, content, done }) {
    if (busy || !(await ask(title, text, yes))) return;
    busy = true;
    showCommands(latest);
    write(byId("outcome"), "Under way …");
    const error = await Service.command(path, content);
    busy = false;
    showCommands(latest);
    byId("outcome").classList.toggle("failed", error !== null);
    write(byId("outcome"), error === null ? done : `Not done. ${error}`);
    if (document.activeElement === document.body) button.focus();
  }

  function rollBack(version, button) {
    return command(button, {
      title: `Roll back to version ${version}?`,
      text: "The adapted model becomes that version and learns on from there. What it is now is saved before.",
      yes: "Roll back", path: "rollback", content: { version }, done: `Rolled back to version ${version}.`,
    });
  }

  function promote(event) {
    return command(event.currentTarget, {
      title: "Promote the adapted model?",
      text: "It becomes the deployed model, against which it is judged from now on.",
      yes: "Promote", path: "promote", content: {}, done: "The adapted model was promoted.",
    });
  }

  function freeze(event) {
    const frozen = !(latest.status && latest.status.frozen);
    return command(event.currentTarget, {
      title: frozen ? "Freeze the model?" : "Unfreeze the model?",
      text: frozen
        ? "Labels are accepted and counted from now on, but not learnt, and not later either."
        : "It learns from the labels that come from now on.",
      yes: frozen ? "Freeze" : "Unfreeze", path: "freeze", content: { frozen }, done: frozen ? "Frozen." : "Unfrozen.",
    });
  }

  // ------------------------------------------------------------------ connection

  function connection(state, text) {
    const node = byId("connection");
    node.hidden = false;
    node.dataset.state = state;
    write(node, text);
  }

  function askToken(wrong) {
    connection("lost", "not connected");
    write(byId("token-message"), wrong ? "The token is wrong." : "This service wants a token.");
    byId("token").hidden = false;
    byId("token-value").value = "";
    byId("token-value").focus();
  }

  const on = {
    open() {
      connection("open", "connected");
      byId("token").hidden = true;
      if (lost) announce("Connected again.");
      lost = false;
    },
    state: take,
    lost(seconds, why) {
      connection("lost", `connection lost${why}; trying again in ${seconds} s`);
      if (!lost) announce("Connection lost; trying again.");
      lost = true;
    },
    refused: askToken,
  };

  function connect() {
    connection("waiting", "connecting …");
    Service.connect(on);
  }

  function submitToken(event) {
    event.preventDefault();
    const value = byId("token-value").value.trim();
    if (!/^[!-~]+$/.test(value)) { // no token has others, and no header takes them
      askToken(true);
      return;
    }
    Service.setToken(value, byId("token-keep").checked);
    connect();
  }

  function startLive() {
    byId("promote").addEventListener("click", promote);
    byId("freeze").addEventListener("click", freeze);
    byId("ask-yes").addEventListener("click", () => settle(true));
    byId("ask-no").addEventListener("click", () => settle(false));
    byId("ask").addEventListener("close", closed);
    byId("token-form").addEventListener("submit", submitToken);
    document.addEventListener("visibilitychange", () => { if (!document.hidden && stale) show(); });
    setInterval(() => {
      Service.checkAlive();
      if (latest && !document.hidden) Sections.status(latest, ago);
    }, 1000);
    if (document.body.dataset.token === "wanted" && !Service.hasToken()) askToken(false);
    else connect();
  }

  Charts.start();
  if (live) startLive();
  else {
    latest = JSON.parse(given);
    show();
  }
})();
