"use strict";

// Elements and words. Every text goes through `plain` and textContent, so that it stays a text.
const Dom = (() => {
  const LONGEST = 400;
  const kept = new WeakMap();
  const whole = new Intl.NumberFormat("en");
  const day = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", year: "numeric" });
  const clock = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit", second: "2-digit" });

  const byId = (id) => document.getElementById(id);
  const known = (value) => value !== null && value !== undefined && value !== "";
  const isNumber = (value) => typeof value === "number" && Number.isFinite(value);

  // What would be invisible or reverse the writing is spelled out.
  function plain(text) {
    const safe = String(text).replace(
      /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu,
      (c) => "\\u" + c.codePointAt(0).toString(16).padStart(4, "0"),
    );
    return safe.length > LONGEST ? safe.slice(0, LONGEST) + "…" : safe;
  }

  function write(node, text) {
    const safe = plain(text);
    if (node.textContent !== safe) node.textContent = safe;
    return node;
  }

  function make(tag, text, kind) {
    const node = document.createElement(tag);
    if (known(text)) write(node, text);
    if (kind) node.className = kind;
    return node;
  }

  function within(node, ...children) {
    node.append(...children);
    return node;
  }

  // Shows a list: nodes of items that stay are reused where they are, so that focus and what is open stay.
  // `build(item)` gives {node, update(item)}.
  function list(parent, items, keyOf, build) {
    const before = kept.get(parent) || new Map();
    const after = new Map();
    for (const item of items) {
      let key = String(keyOf(item));
      while (after.has(key)) key += "'";
      const text = JSON.stringify(item);
      const row = before.get(key) || build(item);
      if (row.text !== text) row.update(item);
      row.text = text;
      after.set(key, row);
    }
    for (const [key, row] of before) if (!after.has(key)) row.node.remove();
    let place = parent.firstChild;
    for (const row of after.values()) {
      if (row.node === place) place = place.nextSibling;
      else parent.insertBefore(row.node, place);
    }
    kept.set(parent, after);
  }

  const NONE = "–";
  const percent = (x, digits = 1) => (isNumber(x) ? (100 * x).toFixed(digits) + "\u00a0%" : NONE);
  const count = (x) => (isNumber(x) ? whole.format(x) : NONE);
  const decimal = (x, digits = 3) => (isNumber(x) ? x.toFixed(digits).replace("-", "−") : NONE);
  const labels = (n) => count(n) + (n === 1 ? " label" : " labels");
  const signed = (x) => (isNumber(x) ? (x < 0 ? "" : "+") + decimal(x) : NONE);

  function bytes(n) {
    if (!isNumber(n)) return NONE;
    return n < 1e6 ? count(Math.ceil(n / 1000)) + " kB" : (n / 1e6).toFixed(1) + " MB";
  }

  function moment(seconds) {
    if (!isNumber(seconds) || Math.abs(seconds) > 8e12) return NONE;
    const date = new Date(1000 * seconds);
    return `${day.format(date)}, ${clock.format(date)}`;
  }

  // A duration with one unit: what matters is its order.
  function duration(seconds) {
    const s = Math.max(0, seconds);
    if (s < 100) return `${Math.floor(s)} s`;
    if (s < 6000) return `${Math.floor(s / 60)} min`;
    if (s < 48 * 3600) return `${Math.floor(s / 3600)} h`;
    return `${count(Math.floor(s / 86400))} days`;
  }

  return {
    byId, known, isNumber, plain, write, make, within, list,
    NONE, percent, count, decimal, labels, signed, bytes, moment, duration,
  };
})();
