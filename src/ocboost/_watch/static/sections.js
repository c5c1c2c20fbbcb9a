"use strict";

// Everything below the charts, and the status above them. Each function shows one section of the document.
const Sections = (() => {
  const { byId, isNumber, known, list, make, within, write, percent, count, decimal, NONE } = Dom;
  const COMMAND_WORDS = { rollback: "roll back" };
  const ARROW = " → ";

  function visible(id, items) {
    const some = Array.isArray(items) && items.length > 0;
    byId(id).hidden = !some;
    return some;
  }

  // ------------------------------------------------------------------ status

  const TILES = [
    ["Answers", (s) => s.answering, (s) => (isNumber(s.deployed) && s.answering !== "deployed" ? `deployed: version ${count(s.deployed)}` : "")],
    ["Guard", (s) => s.guard],
    ["Learning", (s) => (typeof s.frozen === "boolean" ? (s.frozen ? "frozen" : "on") : null)],
    ["Labels learnt", (s) => isNumber(s.learnt) && count(s.learnt), (s) => learntNote(s)],
    ["Labels awaited", (s) => isNumber(s.pending) && count(s.pending), (s, ago) => (isNumber(s.oldest_pending) ? `oldest: ${ago(s.oldest_pending)}` : "")],
    ["Last label", (s, ago) => isNumber(s.last_label) && ago(s.last_label)],
    ["Recent accuracy", (s) => isNumber(s.recent_accuracy) && percent(s.recent_accuracy), (s) => (isNumber(s.accuracy) ? `of all: ${percent(s.accuracy)}` : "")],
    ["Accuracy", (s) => !isNumber(s.recent_accuracy) && isNumber(s.accuracy) && percent(s.accuracy)],
    ["Drift alarms", (s) => driftWords(s.drift)],
    ["Storage", (s) => s.storage !== "ok" && s.storage],
  ];
  const WARNED = { Learning: (s) => s.frozen, Storage: () => true };

  function learntNote(status) {
    const notes = isNumber(status.labels) && status.labels !== status.learnt ? [`of ${count(status.labels)}`] : [];
    if (status.failed) notes.push(`${count(status.failed)} failed`);
    return notes.join(", ");
  }

  function driftWords(drift) {
    const counts = Object.entries(drift || {}).filter(([, n]) => isNumber(n));
    if (counts.length === 0) return null;
    if (counts.length > 2) return count(counts.reduce((sum, [, n]) => sum + n, 0));
    return counts.map(([name, n]) => `${count(n)} ${name}`).join(", ");
  }

  function tile() {
    const node = make("div");
    const name = make("dt");
    const value = make("dd", null, "value");
    const note = make("dd", null, "quiet");
    within(node, name, value);
    return {
      node,
      update(item) {
        node.className = item.warned ? "tile warned" : "tile";
        write(name, item.name);
        write(value, (item.warned ? "! " : "") + item.value);
        value.className = value.textContent.length > 10 ? "value long" : "value";
        write(note, item.note);
        if (item.note) node.append(note);
        else note.remove();
      },
    };
  }

  // `ago` says when something was: in a page that lives, how long ago; in a file, at what time.
  function status(doc, ago) {
    const found = doc.status || {};
    const items = TILES.map(([name, value, note]) => ({
      name,
      value: value(found, ago),
      note: note ? note(found, ago) : "",
      warned: Boolean(WARNED[name] && WARNED[name](found)),
    }));
    list(byId("status"), items.filter((item) => known(item.value) && item.value !== false), (item) => item.name, tile);
  }

  // ------------------------------------------------------------------ events

  function signOf(event) {
    const mark = Charts.markOf(event);
    return mark ? Charts.MARKS[mark] : { sign: "·", colour: "slate" };
  }

  function driftKind({ better }) {
    return typeof better === "boolean" ? `drift, ${better ? "better" : "worse"}` : "drift";
  }

  function eventRow() {
    const node = make("li");
    const sign = make("span", null, "sign");
    const kind = make("b");
    const text = make("span");
    const where = make("span", null, "quiet where");
    sign.setAttribute("aria-hidden", "true");
    within(node, sign, within(make("div"), kind, " ", text, " ", where));
    return {
      node,
      update(event) {
        const mark = signOf(event);
        write(sign, mark.sign);
        sign.style.color = `var(--${mark.colour})`;
        write(kind, event.kind === "drift" ? driftKind(event) : COMMAND_WORDS[event.kind] || event.kind);
        write(text, event.text || "");
        write(where, `label ${count(event.label)}` + (isNumber(event.time) ? ` · ${Dom.moment(event.time)}` : ""));
      },
    };
  }

  function events(doc) {
    if (!visible("events", doc.events)) return;
    byId("events-list").classList.toggle("few", doc.events.length < 6);
    list(byId("events-list"), [...doc.events].reverse(), (event) => event.number, eventRow);
  }

  // ------------------------------------------------------------------ before and now

  // A bar for a value, and a tick where it was before; the numbers beside it say the same.
  function bar() {
    const node = make("span", null, "bar");
    const fill = make("span", null, "fill");
    const tick = make("span", null, "tick-before");
    node.setAttribute("aria-hidden", "true");
    within(node, fill, tick);
    return {
      node,
      update(now, before, [low, high]) {
        const place = (value) => (100 * (value - low)) / (high - low || 1);
        fill.style.left = `${place(Math.min(0, now || 0))}%`;
        fill.style.width = `${place(Math.abs(now || 0) + low)}%`;
        fill.classList.toggle("negative", now < 0);
        tick.hidden = !isNumber(before);
        tick.style.left = `${place(before || 0)}%`;
      },
    };
  }

  const beforeNow = (item, words) => (isNumber(item.before) ? words(item.before).replace(/\s%$/, "") + ARROW : "") + words(item.now);

  function changeRow(columns) {
    return () => {
      const node = make("tr");
      const head = make("th", null, "words");
      head.scope = "row";
      const drawn = bar();
      const cells = columns.map(([place, kind]) => within(make("td", null, kind), ...(place === "bar" ? [drawn.node] : [])));
      within(node, head, ...cells);
      return {
        node,
        update(item) {
          write(head, item.name);
          drawn.update(item.now, item.before, item.range);
          columns.forEach(([place], i) => { if (place !== "bar") write(cells[i], item[place]); });
        },
      };
    };
  }

  const MEMBER = changeRow([["bar", "bars"], ["change"], ["accuracy"], ["log_loss"]]);
  const HYPOTHESIS = changeRow([["label", "words"], ["bar", "bars"], ["change"]]);
  const FEATURE = changeRow([["bar", "bars"], ["change"]]);

  function rangeOf(items) {
    const values = items.flatMap(({ now, before }) => [now || 0, before || 0]);
    return [Math.min(0, ...values), Math.max(0, ...values)];
  }

  function changed(id, items, build, words) {
    if (!visible(id, items)) return;
    const range = rangeOf(items);
    const rows = items.map((item) => ({ ...item, range, change: item.change || beforeNow(item, words) }));
    list(byId(`${id}-list`), rows, (item) => item.key || item.name, build);
  }

  function members(doc) {
    const found = (doc.members || []).map((member) => ({
      name: member.name, now: member.share, before: member.before,
      accuracy: percent(member.accuracy), log_loss: decimal(member.log_loss),
    }));
    changed("members", found, MEMBER, (x) => percent(x, 1));
  }

  function hypotheses(doc) {
    const found = (doc.hypotheses || []).map((item) => ({
      key: JSON.stringify([item.words, item.label]), name: item.words, label: known(item.label) ? item.label : NONE,
      now: item.now, before: item.before,
      change: item.came ? `new${ARROW}${decimal(item.now, 2)}` : item.went ? `${decimal(item.before, 2)}${ARROW}gone` : null,
    }));
    changed("hypotheses", found, HYPOTHESIS, (x) => decimal(x, 2));
  }

  function features(doc) {
    const found = (doc.features || []).map(({ name, share, before }) => ({ name, now: share, before }));
    changed("features", found, FEATURE, (x) => percent(x, 1));
  }

  // ------------------------------------------------------------------ mistakes

  function contributions(title, items, words) {
    const rows = items.map((item) => {
      const name = make("th", words(item), "words");
      name.scope = "row";
      return within(make("tr"), name, make("td", Dom.signed(item.contribution)));
    });
    return within(make("table"), make("caption", title), within(make("tbody"), ...rows));
  }

  function explanation(now) {
    if (!now) return [make("p", "Not explained yet.", "quiet")];
    const later = now.labels_later ? `${Dom.labels(now.labels_later)} later` : "Just after";
    const said = make("p", `${later}, the model says ${now.prediction} (${percent(now.probability)}).`);
    const parts = [];
    if ((now.features || []).length) {
      parts.push(contributions("Features that carry it", now.features, (f) => (known(f.value) ? `${f.name} = ${f.value}` : f.name)));
    }
    if ((now.hypotheses || []).length) parts.push(contributions("Hypotheses that carry it", now.hypotheses, (h) => h.words));
    return [said, within(make("div", null, "carried"), ...parts)];
  }

  function rowOf(values) {
    const pairs = (values || []).map(([name, value]) => within(make("div"), make("dt", name), make("dd", known(value) ? value : NONE)));
    return within(make("dl", null, "row"), ...pairs);
  }

  function mistakeRow() {
    const node = make("details");
    const said = make("b");
    const truth = make("b");
    const odds = make("span", null, "quiet");
    const where = make("span", null, "quiet where");
    const body = make("div", null, "mistake");
    const summary = within(make("summary"), "said ", said, ", was ", truth, " ", odds, " ", where);
    within(node, summary, body);
    let item = null;
    let shown = null;
    const fill = () => {
      if (!node.open || shown === item) return;
      body.replaceChildren(rowOf(item.row), ...explanation(item.now));
      shown = item;
    };
    node.addEventListener("toggle", fill);
    return {
      node,
      update(mistake) {
        item = mistake;
        write(said, mistake.said);
        write(truth, mistake.truth);
        write(odds, `(${percent(mistake.probability)} against ${percent(mistake.truth_probability)})`);
        write(where, `label ${count(mistake.label)}` + (isNumber(mistake.time) ? ` · ${Dom.moment(mistake.time)}` : ""));
        fill();
      },
    };
  }

  function mistakes(doc) {
    if (!visible("mistakes", doc.mistakes)) return;
    list(byId("mistakes-list"), doc.mistakes, (mistake) => mistake.number, mistakeRow);
  }

  // ------------------------------------------------------------------ versions

  function versionRow(rollBack) {
    return (first) => {
      const node = make("tr");
      const head = make("th");
      head.scope = "row";
      const cells = ["words", "", "", "", "", ""].map((kind) => make("td", null, kind));
      if (rollBack) {
        const button = make("button", "Roll back");
        button.type = "button";
        button.dataset.command = "rollback";
        button.setAttribute("aria-label", `Roll back to version ${first.number}`);
        button.addEventListener("click", () => rollBack(first.number, button));
        cells[5].append(button);
      }
      within(node, head, ...cells);
      return {
        node,
        update(version) {
          const marks = [version.answering && "answers", version.deployed && "deployed"].filter(Boolean);
          write(head, String(version.number) + (marks.length ? ` (${marks.join(", ")})` : ""));
          const words = [version.reason ?? NONE, count(version.labels), percent(version.recent_accuracy), Dom.bytes(version.bytes), Dom.moment(version.time)];
          words.forEach((text, i) => write(cells[i], text));
        },
      };
    };
  }

  let buildVersion = null;

  function versions(doc, rollBack) {
    if (!visible("versions", doc.versions)) return;
    buildVersion = buildVersion || versionRow(rollBack);
    list(byId("versions-list"), [...doc.versions].reverse(), (version) => version.number, buildVersion);
  }

  return { status, events, members, hypotheses, features, mistakes, versions };
})();
