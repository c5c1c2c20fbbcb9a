"use strict";

// The page: frames come in and are shown at once; one at a time is looked at; a click holds the frame whose
// boxes are shown, and teaches that one.
(() => {
  const { byId, write } = Dom;
  const HOLD = 1600; // milliseconds that a frame stays after a click in it
  const POLL = 500;
  const LISTED = 3000; // milliseconds after which the list of frames is asked for again
  const LATE = 0.2; // seconds that an answer takes; boxes are shown until the next one, so their age is twice that
  const SOON = 0.15; // seconds that an answer would take with larger frames
  const PATIENCE = [20, 160]; // answers in a row that came soon, before larger frames are tried: at first, and at most
  const SMOOTH = 12; // frames a second; where fewer are shown, looking at them rests for a while
  const REST = 0.5; // of the time that the last answer took
  const MAX_REST = 60; // milliseconds
  const PERIOD = 150; // milliseconds from one look to the next while the server learns: both want the same core
  const APART = 50; // milliseconds between frames that are shown while it learns or answers come late: every second one
  const SHARES = [1, 0.75, 0.6]; // of the size that frames are looked at in
  const SOURCES = ["camera", "given", "open"];
  const WINDOW = 2000; // milliseconds over which rates are counted
  let facts = { window: [1, 1], source: null, kept: false };
  let open = null; // whether the server answers; null before the first time
  let run = "";
  let version = -1;
  let teaches = null;
  let source = null;
  let starting = 0; // which start of a source is the newest
  let current = null; // the newest frame: {image, width, height, name, time, number, key}
  let looked = null; // what was last looked at: {image, width, height, boxes, frame, run, version, at, key}
  let held = null; // the same while it stands still
  let frozen = false; // by the button, until it is pressed again
  let busy = false;
  let spare = [0, 1].map(() => document.createElement("canvas"));
  let share = 0; // which of SHARES
  let restsUntil = 0; // so that a single core has time to show frames
  let late = false; // whether the last answer came late
  let prompt = 0; // answers in a row that came soon
  let patience = PATIENCE[0];
  let learns = false; // whether the server does
  let drawnAt = 0;
  let thaw = 0;
  let shownAt = [];
  let lookedAt = [];
  let ages = []; // {at, age}
  let countedFrom = 0;
  let lastClick = 0; // of this visit
  let saidTo = 0; // what became of clicks up to this one is not said any more
  let clicksSeen = "";
  let framesSeen = 0;
  let listedAt = 0;

  // Words --------------------------------------------------------------------------------------------------

  function say(text, failed = false) {
    write(byId("said"), text);
    byId("said").classList.toggle("failed", failed);
  }

  function announce(text) {
    write(byId("announce"), text);
  }

  function problem(text) {
    write(byId("problem-text"), text);
    byId("problem").hidden = !text;
  }

  function connected(now, text) {
    open = now;
    const node = byId("connection");
    node.dataset.state = now ? "open" : "lost";
    write(node, text);
  }

  // The picture --------------------------------------------------------------------------------------------

  function redraw() {
    const image = held || (current && (source && source.still ? looked || current : current));
    if (!image) return;
    const target = held || looked;
    const fits = target && target.run === run && (held || !source || !source.still || target.key === image.key);
    View.show({
      image: image.image,
      width: held ? image.shown[0] : image.width,
      height: held ? image.shown[1] : image.height,
      of: fits ? target.width : 0,
      boxes: fits ? target.boxes : [],
      corrections: held || (source && source.still && fits) ? Panels.correctionsOf(target.frame) : [],
    });
    byId("empty").hidden = true;
  }

  function frame(image, width, height, more) {
    current = { image, width, height, ...more };
    const now = performance.now();
    if (!held && (source.still || !(learns || late) || now - drawnAt >= APART)) {
      drawnAt = now;
      shownAt.push(now);
      if (looked && !source.still) ages.push({ at: now, age: (now - looked.at) / 1000 });
      redraw();
    }
    look();
  }

  // Looks at the newest frame, if it was not looked at yet and none is under way.
  async function look() {
    if (busy || !open || !teaches || !current || held || document.hidden || performance.now() < restsUntil) return;
    if (looked && looked.key === current.key && looked.source === source) return;
    const mine = { ...current, source, at: performance.now() };
    const still = source.still;
    const size = still || mine.number !== undefined ? 1 : SHARES[share];
    const width = Math.max(64, Math.round(mine.width * size));
    const height = Math.max(64, Math.round(mine.height * size));
    const canvas = spare.find((each) => !looked || looked.image !== each);
    canvas.width = width;
    canvas.height = height;
    const context = canvas.getContext("2d", { willReadFrequently: true });
    context.drawImage(mine.image, 0, 0, width, height);
    busy = true;
    let answer;
    if (mine.number !== undefined) {
      answer = await Link.ask(`source/see?n=${mine.number}`, {});
    } else {
      const query = new URLSearchParams({ width, height, name: mine.name });
      if (mine.time !== undefined) query.set("time", mine.time);
      answer = await Link.ask(`see?${query}`, { bytes: grey(context.getImageData(0, 0, width, height).data) });
    }
    busy = false;
    if (mine.source !== source) {
      look();
      return;
    }
    if (!answer.ok) {
      if (answer.code === "other_tab") lostTurn();
      else if (answer.status === 0) connected(false, "no connection; trying again");
      else say(answer.message, true);
      if (answer.status !== 0) setTimeout(look, 1000);
      return;
    }
    const now = performance.now();
    lookedAt.push(now);
    const { boxes, frame: id, version: by } = answer.value;
    looked = { ...mine, image: canvas, width: answer.value.width, height: answer.value.height, shown: [mine.width, mine.height], boxes, frame: id, run: answer.value.run, version: by };
    if (!still) {
      const took = now - mine.at;
      pace(took / 1000);
      const seconds = (now - Math.max(now - WINDOW, countedFrom)) / 1000;
      const shown = shownAt.filter((at) => at > now - WINDOW).length;
      const rest = shown < SMOOTH * seconds ? Math.min(REST * took, MAX_REST) : 0;
      restsUntil = now + Math.max(rest, learns ? PERIOD - took : 0);
    }
    byId("free").disabled = byId("freeze").disabled = false;
    if (!held) redraw();
    look();
  }

  // Nothing was looked at while the tab was hidden: what was found before is no longer true of a live picture.
  function seenAgain() {
    if (document.hidden) return;
    if (source && !source.still && !held) looked = null;
    countedFrom = performance.now();
    look();
  }

  // Smaller frames as soon as an answer comes late, larger ones again where they would come soon for a while:
  // the longer, the more often that went wrong.
  function pace(seconds) {
    late = seconds > LATE;
    if (!byId("coarser").checked) {
      share = prompt = 0;
      return;
    }
    const larger = share ? (SHARES[share - 1] / SHARES[share]) ** 2 : 1; // times as many pixels
    prompt = seconds * larger < SOON ? prompt + 1 : 0;
    if (late && share < SHARES.length - 1) {
      share += 1;
      patience = Math.min(2 * patience, PATIENCE[1]);
    } else if (prompt >= patience) {
      if (share) share -= 1;
      else patience = Math.max(patience / 2, PATIENCE[0]);
      prompt = 0;
    }
  }

  // As OpenCV turns colours into grey.
  function grey(pixels) {
    const out = new Uint8Array(pixels.length / 4);
    for (let i = 0, j = 0; j < out.length; i += 4, j += 1) {
      out[j] = (4899 * pixels[i] + 9617 * pixels[i + 1] + 1868 * pixels[i + 2] + 8192) >> 14;
    }
    return out;
  }

  // Holding a frame ------------------------------------------------------------------------------------------

  function hold() {
    clearTimeout(thaw);
    if (held) return held;
    if (!looked || looked.run !== run || looked.source !== source) {
      announce("No frame has been looked at yet.");
      return null;
    }
    held = looked;
    spare = spare.includes(held.image) ? [held.image, ...spare.filter((each) => each !== held.image)] : spare;
    byId("held").hidden = source.still;
    source.hold(true);
    redraw();
    return held;
  }

  function release(soon = 0) {
    clearTimeout(thaw);
    if (frozen || !held) return;
    thaw = setTimeout(goOn, soon);
  }

  function goOn() {
    if (View.isDrawing() || frozen) return;
    held = null;
    if (source && !source.still) looked = null; // its boxes are old
    countedFrom = performance.now();
    byId("held").hidden = true;
    if (source) source.hold(false);
    redraw();
    look();
  }

  function setFrozen(now) {
    if (now && !hold()) return;
    frozen = now;
    byId("freeze").setAttribute("aria-pressed", String(now));
    write(byId("freeze"), now ? "Go on" : "Freeze");
    if (!now) {
      View.forget();
      goOn();
    }
  }

  async function freshBoxes() {
    const target = held || (source && source.still ? looked : null);
    if (!target || target.version === version || target.run !== run) return;
    const answer = await Link.get(`frames/${target.frame}/boxes?which=shown`);
    if (!answer.ok) return;
    target.boxes = answer.value;
    target.version = version;
    redraw();
  }

  // Teaching -------------------------------------------------------------------------------------------------

  const WORDS = {
    reject: (click) => `Click ${click.number}: that is not a face.`,
    mark: (click) => `Click ${click.number}: that is a face.`,
    free: (click) => `Click ${click.number}: no face in this frame.`,
  };

  async function teach(kind, target, box) {
    if (!target) return false;
    const answer = await Link.ask(kind, { json: { run: target.run, frame: target.frame, ...(box ? { box } : {}) } });
    if (!answer.ok) {
      if (answer.code === "other_tab") lostTurn();
      say(answer.message, true);
      release(HOLD);
      return false;
    }
    lastClick = answer.value.number;
    learns = true; // until the status says otherwise
    say(WORDS[kind](answer.value));
    await clicksAgain();
    release(HOLD);
    return true;
  }

  async function allRight() {
    const target = hold();
    if (!target) return;
    const refused = Panels.correctionsOf(target.frame).map((click) => JSON.stringify(click.box));
    const boxes = target.boxes.filter((box) => !refused.includes(JSON.stringify(box)));
    if (!boxes.length) {
      say("There is no box in this frame that could be right.");
      release(HOLD);
      return;
    }
    for (const box of boxes) if (!(await teach("mark", target, box))) return;
  }

  async function undo() {
    const answer = await Link.ask("undo", {});
    if (!answer.ok) say(answer.message, true);
    else if (answer.value) say(`Click ${answer.value.number} is taken back, and what was learnt from it.`);
    else say("There is no click to take back.");
    await clicksAgain();
  }

  async function clicksAgain() {
    const answer = await Link.get("clicks");
    if (!answer.ok) return;
    Panels.clicks(answer.value);
    redraw();
    await Panels.frames(version);
  }

  // Sources --------------------------------------------------------------------------------------------------

  const on = {
    frame,
    problem,
    say,
    blank() { current = looked = null; View.blank(); },
    ended() { choose(null); },
  };

  let chosenAgain = null; // makes the source anew, after another tab had its turn

  async function choose(make, button = null) {
    const mine = ++starting;
    clearTimeout(thaw);
    frozen = false;
    byId("freeze").setAttribute("aria-pressed", "false");
    write(byId("freeze"), "Freeze");
    byId("held").hidden = true;
    View.forget();
    if (source) source.stop();
    source = held = looked = current = null;
    countedFrom = performance.now();
    share = prompt = 0;
    late = false;
    patience = PATIENCE[0];
    byId("free").disabled = byId("freeze").disabled = true;
    for (const each of ["camera", "given"]) byId(each).setAttribute("aria-pressed", String(each === button));
    byId("steps").hidden = true;
    if (!make) return;
    problem("");
    say("");
    chosenAgain = () => choose(make, button);
    const made = make();
    source = made;
    byId("steps").hidden = made.kind !== "pictures";
    if (!(await made.start()) && mine === starting) choose(null);
  }

  const startCamera = () => choose(() => Sources.camera(byId("film"), on), "camera");
  const startGiven = () => choose(() => (facts.source.video ? Sources.givenFilm(facts.source.per_second, on) : Sources.givenPictures(on)), "given");

  function openFiles(event) {
    const files = [...event.target.files];
    event.target.value = "";
    if (!files.length) return;
    const film = files.find((file) => !file.type.startsWith("image/"));
    if (film && files.length > 1) problem("Open one video, or any number of pictures.");
    else choose(() => (film ? Sources.film(byId("film"), film, on) : Sources.chosenPictures(files, on)), "open");
  }

  // Other tabs, and the server -------------------------------------------------------------------------------

  function lostTurn() {
    if (teaches !== false) {
      teaches = false;
      const again = chosenAgain;
      choose(null);
      chosenAgain = again;
      byId("other").hidden = false;
      for (const each of SOURCES) byId(each).disabled = true; // no camera for a tab that only looks on
      announce(byId("other-text").textContent);
    }
  }

  function gotTurn() {
    if (teaches === true) return;
    const before = teaches;
    teaches = true;
    byId("other").hidden = true;
    for (const each of SOURCES) byId(each).disabled = false;
    if (before === false && chosenAgain) chosenAgain();
    else if (before === null && facts.source) startGiven();
    look();
  }

  async function takeOver() {
    const answer = await Link.ask("take-over", {});
    if (answer.ok) await status();
    else say(answer.message, true);
  }

  async function begin() {
    const answer = await Link.get("facts");
    if (!answer.ok) return false;
    facts = answer.value;
    byId("given").hidden = !facts.source;
    if (facts.source) write(byId("given"), facts.source.name);
    document.title = `Teach ${facts.detector} – ocboost`;
    return true;
  }

  let notes = 0;
  let decision = null; // the last one that was said

  function decided(found, anew) {
    const key = found && JSON.stringify([found.click, found.shown, found.why]);
    if (key === decision) return;
    const first = decision === null;
    decision = key;
    if (anew) saidTo = lastClick;
    if (!found || found.click <= saidTo || (first && !lastClick)) return; // of an earlier visit, or before a restart
    if (found.shown) say(`Click ${found.click} is learnt and shown.`);
    else say(`Click ${found.click} counts, but the new detector is not shown: ${found.why}.`);
  }

  async function status() {
    const answer = await Link.get("status");
    if (!answer.ok) {
      connected(false, answer.status === 401 ? "refused" : "no connection; trying again");
      if (answer.status === 401) problem(answer.message);
      return;
    }
    const state = answer.value;
    if (open !== true) {
      if (!(await begin())) return;
      if (open === false) say("The server is back.");
      connected(true, "connected");
      problem("");
    }
    const anew = state.run !== run;
    if (anew) {
      if (run) {
        say(facts.kept ? "The server was started again. What was taught is there; frames that were not clicked in are gone." : "The server was started again.");
        setFrozen(false);
        looked = held = null;
      }
      run = state.run;
      version = -1;
      clicksSeen = "";
    }
    const changed = state.version !== version;
    version = state.version;
    learns = state.learning || state.queue > 0;
    Panels.status(state);
    Panels.judging(state.judged);
    decided(state.decision, anew);
    if (state.notes.length > notes) say(state.notes[state.notes.length - 1]);
    notes = state.notes.length;
    if (state.teaches) gotTurn();
    else lostTurn();
    const counted = JSON.stringify(state.clicks);
    if (changed) await freshBoxes();
    if (changed || counted !== clicksSeen) await clicksAgain();
    else if (state.frames !== framesSeen && performance.now() - listedAt > LISTED && byId("which") !== document.activeElement) {
      listedAt = performance.now();
      await Panels.frames(version);
    }
    clicksSeen = counted;
    framesSeen = state.frames;
    look();
  }

  async function poll() {
    for (;;) {
      await status();
      await new Promise((done) => setTimeout(done, open ? POLL : 2 * POLL));
    }
  }

  function rates() {
    const now = performance.now();
    const since = Math.max(now - WINDOW, countedFrom);
    shownAt = shownAt.filter((at) => at > since);
    lookedAt = lookedAt.filter((at) => at > since);
    ages = ages.filter((each) => each.at > since);
    const still = !source || source.still || !current || held;
    if (still) {
      if (!held) Panels.rates({ shown: null });
      return;
    }
    if (now - since < WINDOW / 4) return;
    const age = ages.length ? Math.max(...ages.map((each) => each.age)) : null;
    Panels.rates({ shown: (1000 * shownAt.length) / (now - since), looked: (1000 * lookedAt.length) / (now - since), age, share: SHARES[share] });
  }

  async function start() {
    View.start({
      grab: hold,
      release: () => release(300),
      redraw,
      announce,
      aspect: () => facts.window[0] / facts.window[1],
      reject: (box) => teach("reject", held, box),
      mark: (box) => teach("mark", held, box),
      free: () => teach("free", hold()),
      freeze: () => setFrozen(!frozen),
      undo,
    });
    const click = (id, action) => byId(id).addEventListener("click", action);
    click("camera", startCamera);
    click("given", startGiven);
    click("open", () => byId("files").click());
    byId("files").addEventListener("change", openFiles);
    click("previous", () => { looked = held = null; source.step(-1); });
    click("next", () => { looked = held = null; source.step(1); });
    click("freeze", () => setFrozen(!frozen));
    click("free", () => teach("free", hold()));
    click("right", allRight);
    click("undo", undo);
    click("take-over", takeOver);
    click("problem-close", () => problem(""));
    click("judge", Panels.judge);
    click("earlier", () => Panels.step(-1, version));
    click("later", () => Panels.step(1, version));
    byId("which").addEventListener("change", (event) => Panels.compare(Number(event.target.value), version));
    click("save-detector", async () => { const wrong = await Link.save("adapted.xml", "adapted.xml"); if (wrong) say(wrong, true); });
    click("save-boxes", async () => { const wrong = await Link.save("annotations.zip", "annotations.zip"); if (wrong) say(wrong, true); });
    addEventListener("pagehide", Link.leave);
    addEventListener("pageshow", (event) => { if (event.persisted) location.reload(); });
    document.addEventListener("visibilitychange", seenAgain);
    byId("free").disabled = byId("freeze").disabled = true;
    const wrong = await Link.open();
    if (wrong) {
      connected(false, "refused");
      problem(wrong);
      return;
    }
    setInterval(rates, 500);
    poll();
  }

  start();
})();
