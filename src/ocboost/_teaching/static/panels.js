"use strict";

// What stands beside and below the picture: how it goes, the clicks, before and after.
const Panels = (() => {
  const KINDS = { reject: "not a face", mark: "a face", free: "no face in the frame" };
  const SLOW = 0.5; // seconds
  let run = "";
  let listed = []; // the frames that are kept
  let compared = ""; // which frame, version and clicks are shown beside each other
  let taught = [];
  let before = {}; // the picture and the shipped boxes of the frame that is compared
  let inView = false;
  let wanted = null; // what is to be compared once it is in view

  function tile({ title, value, more, warned, wide }) {
    const node = Dom.make("div", "", "tile" + (warned ? " warned" : "") + (wide ? " across" : ""));
    const long = String(value).length > 8;
    Dom.within(node, Dom.make("dt", title), Dom.within(Dom.make("dd"), Dom.make("div", value, long ? "value long" : "value"), ...(more ? [Dom.make("div", more, "quiet")] : [])));
    return node;
  }

  const plural = (n, one, many) => `${Dom.count(n)} ${n === 1 ? one : many || one + "s"}`;

  function decision(found) {
    if (!found) return ["none yet", "It compares what was learnt with what is shown, and decides."];
    return [found.shown ? "new one shown" : "new one not shown", `${found.why}${Dom.isNumber(found.seconds) ? ` (${found.seconds.toFixed(1)} s after the click)` : ""}`];
  }

  function status(state) {
    const clicks = state.clicks || {};
    const total = (clicks.reject || 0) + (clicks.mark || 0) + (clicks.free || 0);
    const busy = state.learning || state.building || state.queue > 0;
    const doing = state.step || (state.learning ? "learning from a click" : state.building ? "building faster stages" : "nothing to learn");
    const guard = decision(state.decision);
    const items = [
      { title: "Detector shown", value: state.shipped_shown ? "as shipped" : `adapted, ${state.version}`, more: state.shipped_shown ? "no click has changed it" : `version ${state.version}` },
      { title: "Learning", value: busy ? "at work" : "idle", more: doing + (state.built && !state.building ? `; ${state.built}` : "") + (state.queue ? `; ${plural(state.queue, "click waits", "clicks wait")}` : "") },
      { title: "Clicks", value: Dom.count(total), more: `${plural(clicks.reject || 0, "box", "boxes")} refused, ${plural(clicks.mark || 0, "face")} marked, ${plural(clicks.free || 0, "frame")} without` },
      { title: "Frames kept", value: Dom.count(state.frames), more: "in memory of this machine" },
      { title: "Guard", value: guard[0], more: guard[1], wide: true },
    ];
    if (!state.shipped_shown) items[0].value = "adapted";
    if (state.error) items.push({ title: "Trouble", value: state.error, warned: true, wide: true });
    Dom.list(Dom.byId("status"), items, (each) => each.title, (each) => {
      const row = { node: tile(each) };
      row.update = (now) => {
        const fresh = tile(now);
        row.node.className = fresh.className;
        row.node.replaceChildren(...fresh.childNodes);
      };
      return row;
    });
    Dom.byId("save-boxes").disabled = total === 0;
    Dom.byId("undo").disabled = total === 0;
    run = state.run;
  }

  function rates({ shown, looked, age, share }) {
    if (shown === null) {
      Dom.write(Dom.byId("rates"), "");
      return;
    }
    const old = age !== null && age > SLOW;
    const words = [`${shown.toFixed(0)} frames a second shown, ${looked.toFixed(looked < 10 ? 1 : 0)} looked at`];
    if (age !== null) words.push(`boxes at most ${age.toFixed(2)} s old`);
    if (old) words.push("this machine is too slow or too busy: the boxes lag behind");
    if (share < 1) words.push(`looked at ${Math.round(100 * share)} % of the size`);
    const node = Dom.byId("rates");
    Dom.write(node, words.join("; ") + ".");
    node.classList.toggle("late", old);
  }

  function clicks(all) {
    taught = all;
    const standing = all.filter((click) => !click.undone);
    Dom.byId("no-clicks").hidden = standing.length > 0;
    Dom.list(Dom.byId("clicks"), standing.slice(-30).reverse(), (click) => click.number, (click) => {
      const node = Dom.make("li", `${KINDS[click.kind] || click.kind}, in frame ${click.frame}`);
      node.value = click.number;
      return { node, update() {} };
    });
  }

  const correctionsOf = (frame) => taught.filter((click) => click.frame === frame && !click.undone);

  // Before and after ------------------------------------------------------------------------------------

  new IntersectionObserver((entries) => {
    inView = entries[entries.length - 1].isIntersecting;
    if (inView && wanted) wanted();
  }).observe(Dom.byId("compare"));

  async function frames(version) {
    const answer = await Link.get("frames");
    if (!answer.ok) return;
    const choice = Dom.byId("which");
    const chosen = listed.find((frame) => String(frame.id) === choice.value);
    const newestTaught = (of) => of.filter((frame) => frame.clicks).pop();
    const follows = !chosen || !chosen.clicks || chosen.id === (newestTaught(listed) || {}).id;
    listed = answer.value;
    choice.replaceChildren(...listed.map((frame) => {
      const option = Dom.make("option", `${frame.id}: ${frame.name || "frame"}${frame.clicks ? `, ${plural(frame.clicks, "click")}` : ""}`);
      option.value = String(frame.id);
      return option;
    }));
    const newest = follows ? newestTaught(listed) : null;
    const kept = newest || listed.find((frame) => chosen && frame.id === chosen.id) || listed[listed.length - 1];
    if (kept) choice.value = String(kept.id);
    Dom.byId("nothing").hidden = listed.length > 0;
    Dom.byId("sides").hidden = listed.length === 0;
    if (kept) await compare(kept.id, version);
  }

  // Only while somebody can see it: it costs two looks at a frame.
  async function compare(id, version) {
    if (!inView) {
      wanted = () => compare(id, version);
      return;
    }
    wanted = null;
    const corrections = correctionsOf(id);
    const key = JSON.stringify([run, id, version, corrections.map((click) => click.number)]);
    if (key === compared) return;
    compared = key;
    const same = before.key === `${run} ${id}`; // what does not change is asked for once
    const [png, ...found] = await Promise.all([
      same ? before.png : Link.get(`frames/${id}/picture`, { raw: true }),
      same ? before.shipped : Link.get(`frames/${id}/boxes?which=shipped`),
      Link.get(`frames/${id}/boxes?which=shown`),
    ]);
    if (key !== compared) return;
    if (!png.ok || found.some((each) => !each.ok)) {
      compared = "";
      return;
    }
    before = { key: `${run} ${id}`, png, shipped: found[0] };
    const image = await createImageBitmap(png.value);
    ["shipped", "shown"].forEach((name, n) => {
      const canvas = Dom.byId(name);
      canvas.width = image.width;
      canvas.height = image.height;
      const context = canvas.getContext("2d");
      context.drawImage(image, 0, 0);
      View.boxes(context, { boxes: found[n].value, corrections }, 1);
      const count = found[n].value.length;
      canvas.setAttribute("aria-label", `Frame ${id}, ${name === "shipped" ? "as shipped" : "now"}: ${plural(count, "box", "boxes")}`);
      Dom.write(Dom.byId(`${name}-count`), `– ${plural(count, "box", "boxes")}`);
    });
  }

  function step(by, version) {
    const choice = Dom.byId("which");
    const at = Math.min(Math.max(0, choice.selectedIndex + by), listed.length - 1);
    if (at < 0 || !listed[at]) return;
    choice.value = String(listed[at].id);
    compare(listed[at].id, version);
  }

  const bounded = (value, bounds, form) => (Dom.isNumber(value) ? form(value) + (bounds ? ` (${form(bounds[0])}–${form(bounds[1])})` : "") : Dom.NONE);

  function figures(found) {
    const rows = [];
    for (const [part, title] of [["held_out", "held out from learning"], ["all", "all so far"]]) {
      const of = found[part];
      if (!of) continue;
      const size = `${title}: ${plural(of.frames, "frame")}, ${plural(of.faces, "face")}`;
      for (const [name, words] of [["shipped", "as shipped"], ["shown", "now"]]) rows.push({ part, size: name === "shipped" ? size : "", name, words, figures: of[name] });
    }
    const body = Dom.byId("figure-rows");
    body.replaceChildren(...rows.map((row) => {
      const f = row.figures;
      const line = Dom.make("tr");
      const first = Dom.make("th", row.size, "words");
      first.scope = "row";
      return Dom.within(
        line, first, Dom.make("td", row.words, "words"),
        Dom.make("td", bounded(f.recall, f.recall_bounds, Dom.percent)),
        Dom.make("td", bounded(f.false_alarms_per_picture, f.false_alarms_per_picture_bounds, (x) => x.toFixed(2))),
        Dom.make("td", bounded(f.false_alarms_per_million_windows, f.false_alarms_per_million_windows_bounds, (x) => x.toFixed(1))),
      );
    }));
    Dom.byId("figures").hidden = rows.length === 0;
    return rows.length;
  }

  async function judge() {
    const button = Dom.byId("judge");
    button.disabled = true;
    Dom.write(Dom.byId("judging"), "Counting…");
    const answer = await Link.ask("judge", { json: {} });
    button.disabled = false;
    if (!answer.ok) Dom.write(Dom.byId("judging"), answer.message);
    else if (figures(answer.value)) Dom.write(Dom.byId("judging"), `With version ${answer.value.version}; in brackets, 95 % bounds. As “ocboost cascade evaluate” counts, on the frames you clicked in.`);
    else Dom.write(Dom.byId("judging"), "Nothing to count yet: click in a frame first.");
  }

  function judging(judged) {
    if (judged && Dom.byId("judge").disabled && judged[1]) Dom.write(Dom.byId("judging"), `Counting: ${judged[0]} of ${judged[1]}…`);
  }

  return { status, rates, clicks, correctionsOf, frames, compare, step, judge, judging, plural };
})();
