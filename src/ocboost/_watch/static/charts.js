"use strict";

// The two charts, their legend and their table. One uPlot for each chart, for as long as the page is open.
const Charts = (() => {
  const { byId, isNumber, list, make, within, write } = Dom;
  const TABLE_ROWS = 100;
  const MANY = 7; // lines: the legend lies beside the charts
  const SVG = "http://www.w3.org/2000/svg";
  const SOLID = [];
  const DASHES = [SOLID, [8, 4], [2, 3], [10, 3, 2, 3]];
  const COLOURS = [
    "blue", "red", "green", "purple", "brown", "magenta", "deep", "olive", "sea", "mauve",
    "orange", "slate", "rose", "teal", "ink", "clay", "ochre", "sky", "grey", "light",
  ];
  const DEPLOYED = { colour: "slate", dash: [7, 4] };
  const MARKS = {
    worse: { sign: "▼", shape: "down", colour: "red", words: "drift, worse" },
    better: { sign: "▲", shape: "up", colour: "green", words: "drift, better", dash: [2, 3] },
    drift: { sign: "●", shape: "round", colour: "red", words: "drift" },
    guard: { sign: "◆", shape: "diamond", colour: "purple", words: "guard", dash: [6, 3] },
    command: { sign: "■", shape: "square", colour: "ink", words: "command" },
    // The deployed model, which does not learn, drifts often: small and hollow, in a lane of its own.
    worseDeployed: { sign: "▽", shape: "down", colour: "red", words: "drift of the deployed model, worse", lane: 1 },
    betterDeployed: { sign: "△", shape: "up", colour: "green", words: "drift of the deployed model, better", lane: 1, dash: [2, 3] },
  };
  const HEIGHT = 245;
  const CROWD = 15; // marks of a lane, beyond which their lines are short
  const COMMANDS = ["promoted", "rollback", "frozen", "unfrozen"];
  const HOURS = 3600;
  const SECONDS = [
    1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, HOURS, 2 * HOURS, 3 * HOURS, 6 * HOURS, 12 * HOURS,
    ...[1, 2, 5, 10, 30, 60, 100, 365, 1000, 3650].map((days) => 24 * HOURS * days),
  ];
  const WHOLE = [...Array(13).keys()].flatMap((n) => [1, 2, 5].map((k) => k * 10 ** n));

  const chosen = { range: "all", axis: "labels", span: null, hidden: new Set() };
  const charts = {};
  let inks = {};
  let doc = null;
  let view = null;

  function markOf(event) {
    if (event.kind === "drift") {
      if (typeof event.better !== "boolean") return "drift";
      return (event.better ? "better" : "worse") + (event.of === "deployed" ? "Deployed" : "");
    }
    if (event.kind === "guard") return "guard";
    return COMMANDS.includes(event.kind) ? "command" : null;
  }

  // The first line is solid, and the deployed model, which does not learn, is always the same.
  function styleOf(index, models) {
    if (models[index].name === "deployed" && models.length === 2) return DEPLOYED;
    const place = models.length === 2 ? 0 : index;
    return { colour: COLOURS[place % COLOURS.length], dash: DASHES[place % DASHES.length] };
  }

  function readInks() {
    const style = getComputedStyle(document.documentElement);
    inks = {};
    for (const name of [...COLOURS, "faint", "paper"]) inks[name] = style.getPropertyValue("--" + name).trim();
  }

  // The mean over the last `span` labels, of whole buckets; too few labels give no value at the beginning.
  function smooth(values, counts, span) {
    const weight = (i) => (isNumber(values[i]) ? counts[i] : 0);
    const total = values.reduce((sum, _, i) => sum + weight(i), 0);
    const enough = Math.min(span, total) / 5;
    let sum = 0;
    let inside = 0;
    let first = 0;
    return values.map((value, i) => {
      if (!isNumber(value)) return null;
      sum += value * counts[i];
      inside += counts[i];
      for (; first < i && inside - weight(first) >= span; first++) {
        sum -= weight(first) ? values[first] * counts[first] : 0;
        inside -= weight(first);
      }
      return inside > 0 && inside >= enough ? sum / inside : null;
    });
  }

  const mean = (values, counts) => smooth(values, counts, Infinity).filter(isNumber).pop();

  function valuesOf(series, field, name) {
    const found = (series[field] || {})[name];
    return Array.isArray(found) ? found : series.labels.map(() => null);
  }

  // Points that are means over a window already are drawn as they are.
  function spanOf(series) {
    if (series.window) return 0;
    if (chosen.span !== null) return chosen.span;
    const total = series.counts.reduce((a, b) => a + b, 0);
    return total >= 10000 ? 1000 : 200;
  }

  function positions(series) {
    if (chosen.axis !== "time" || !series.times) return series.labels;
    let last = -Infinity;
    return series.times.map((t) => (last = Math.max(last, t)));
  }

  // Where an event lies on the x axis; one without a time lies where its label does.
  function placeOf(event, series, x) {
    if (x === series.labels) return event.label;
    if (isNumber(event.time)) return event.time;
    const next = series.labels.findIndex((label) => label >= event.label);
    return next < 0 ? null : x[next];
  }

  function prepare() {
    const all = (doc.series && doc.series.all) || { labels: [], times: null, counts: [], accuracy: {}, log_loss: {} };
    const recent = doc.series && doc.series.recent;
    const series = chosen.range === "recent" && recent ? recent : all;
    const x = positions(series);
    const span = spanOf(series);
    const models = doc.models || [];
    const lines = (field) => models.map(({ name }) => smooth(valuesOf(series, field, name), series.counts, span));
    const events = (doc.events || []).filter((event) => markOf(event) && !(event.kind === "drift" && chosen.hidden.has(event.of)));
    const marks = events.map((event) => ({ event, mark: markOf(event), x: placeOf(event, series, x) }));
    const inside = ({ x: place }) => isNumber(place) && (series === all || !(place < x[0]));
    const known = (field, name) => ((all.means || {})[field] || {})[name];
    const means = (field) => models.map(({ name }) => (all.means ? known(field, name) : mean(valuesOf(all, field, name), all.counts)));
    view = {
      series, x, span, models,
      marks: marks.filter(inside),
      lines: { accuracy: lines("accuracy"), log_loss: lines("log_loss") },
      means: { accuracy: means("accuracy"), log_loss: means("log_loss") },
      timed: x !== series.labels,
    };
  }

  // ------------------------------------------------------------------ drawing

  function splits(u, axis, min, max, step) {
    const shift = view.timed && step >= HOURS ? 60 * new Date(1000 * min).getTimezoneOffset() : 0;
    const found = [];
    for (let at = Math.ceil((min - shift) / step) * step + shift; at <= max; at += step) found.push(at);
    return found;
  }

  function timeWords(times, step) {
    let day = null;
    return times.map((seconds) => {
      const date = new Date(1000 * seconds);
      const today = date.toLocaleDateString("en-GB", { day: "numeric", month: "short" });
      if (step >= 24 * HOURS) return today;
      const form = { hour: "2-digit", minute: "2-digit", ...(step < 60 ? { second: "2-digit" } : {}) };
      const words = date.toLocaleTimeString("en-GB", form) + (today === day ? "" : "\n" + today);
      day = today;
      return words;
    });
  }

  const SHAPES = {
    down: [[-5, -4], [5, -4], [0, 5]],
    up: [[-5, 4], [5, 4], [0, -5]],
    round: [[-4, -2], [-2, -4], [2, -4], [4, -2], [4, 2], [2, 4], [-2, 4], [-4, 2]],
    diamond: [[0, -5], [5, 0], [0, 5], [-5, 0]],
    square: [[-4, -4], [4, -4], [4, 4], [-4, 4]],
  };

  function drawMark(ctx, { shape, colour, dash, lane }, left, top, length) {
    const size = devicePixelRatio * (lane ? 0.7 : 1);
    const middle = top - (lane ? 5 : 18) * devicePixelRatio;
    ctx.strokeStyle = ctx.fillStyle = inks[colour];
    ctx.setLineDash((dash || SOLID).map((part) => part * devicePixelRatio));
    ctx.globalAlpha = lane ? 0.3 : 0.5;
    ctx.beginPath();
    ctx.moveTo(left, top);
    ctx.lineTo(left, top + length);
    ctx.stroke();
    ctx.globalAlpha = 1;
    ctx.setLineDash(SOLID);
    ctx.beginPath();
    for (const [dx, dy] of SHAPES[shape]) ctx.lineTo(left + dx * size, middle + dy * size);
    ctx.closePath();
    if (lane) ctx.stroke();
    else ctx.fill();
  }

  function drawMarks(u) {
    const { ctx, bbox } = u;
    const { min, max } = u.scales.x;
    const seen = view.marks.filter(({ x }) => x >= min && x <= max);
    ctx.save();
    ctx.lineWidth = devicePixelRatio;
    for (const lane of [1, 0]) {
      const marks = seen.filter(({ mark }) => (MARKS[mark].lane || 0) === lane);
      const length = marks.length > CROWD ? 6 * devicePixelRatio : bbox.height;
      for (const { mark, x } of marks) drawMark(ctx, MARKS[mark], Math.round(u.valToPos(x, "x", true)), bbox.top, length);
    }
    ctx.restore();
  }

  function lineOf(index) {
    const style = () => styleOf(index, view.models);
    return {
      label: String(index),
      scale: "y",
      width: view.models.length >= MANY ? 1.25 : 1.75,
      stroke: () => inks[style().colour],
      dash: style().dash,
      show: !chosen.hidden.has(view.models[index].name),
      points: { show: (u, i, from, to) => to - from < 2 },
    };
  }

  function makeChart(field, { host, words, range }) {
    const ink = () => inks.ink;
    const faint = () => inks.faint;
    const axis = { stroke: ink, grid: { stroke: faint, width: 1 }, ticks: { stroke: faint, width: 1, size: 5 }, font: "12px system-ui, sans-serif" };
    const options = {
      width: host.clientWidth || 300,
      height: HEIGHT,
      padding: [26, 26, 0, 0],
      legend: { show: false },
      focus: { alpha: 0.2 },
      cursor: { drag: { x: false, y: false }, sync: { key: "ocboost" }, y: false, points: { size: 6 } },
      scales: { x: { time: false, range: placesRange }, y: { range: (u, min, max) => range(min, max) } },
      axes: [
        { ...axis, size: () => (view.timed ? 40 : 26), space: 70, incrs: () => (view.timed ? SECONDS : WHOLE), splits, values: (u, at, i, space, step) => (view.timed ? timeWords(at, step) : at.map(Dom.count)) },
        { ...axis, size: 52, values: (u, at) => at.map(words) },
      ],
      series: [{}],
      hooks: { draw: [drawMarks], setCursor: [(u) => pointAt(u.cursor.idx)] },
    };
    const plot = new uPlot(options, [[]], host);
    new ResizeObserver(() => host.clientWidth && plot.setSize({ width: host.clientWidth, height: HEIGHT })).observe(host);
    return { field, plot, host, names: "" };
  }

  const axisDigits = (x) => (Math.abs(x * 100 - Math.round(x * 100)) < 1e-9 ? 0 : 1);

  // From the first point or mark to the last: a command may come before the first label or after the last.
  function placesRange(u, min, max) {
    const places = [min || 0, max || 0, ...view.marks.map(({ x }) => x)];
    const [begin, end] = [Math.min(...places), Math.max(...places)];
    return begin < end ? [begin, end] : [begin - 1, end + 1];
  }

  function accuracyRange(min, max) {
    if (!isNumber(min)) return [0, 1];
    const pad = Math.max(0.08 * (max - min), 0.005);
    return [Math.max(0, min - pad), Math.min(1, max + pad)];
  }

  function lossRange(min, max) {
    if (!isNumber(min)) return [0, 1];
    const pad = Math.max(0.08 * (max - min), 0.005);
    return [Math.max(0, min - pad), max + pad];
  }

  function draw(chart) {
    const names = JSON.stringify(view.models.map(({ name }) => name));
    chart.plot.batch(() => {
      if (names !== chart.names) {
        while (chart.plot.series.length > 1) chart.plot.delSeries(1);
        view.models.forEach((_, i) => chart.plot.addSeries(lineOf(i), i + 1));
        chart.names = names;
      }
      chart.plot.setData([view.x, ...view.lines[chart.field]]);
    });
    const title = chart.field === "accuracy" ? "Accuracy" : "Log-loss";
    chart.host.setAttribute("aria-label", summary(title, chart.field));
  }

  const valueWords = { accuracy: (x) => Dom.percent(x), log_loss: (x) => Dom.decimal(x) };
  const lastOf = (values) => values.filter(isNumber).pop();

  function summary(title, field) {
    const last = view.models.map((model, i) => `${Dom.plain(model.title)} ${valueWords[field](lastOf(view.lines[field][i]))}`);
    const alarms = view.marks.filter(({ event }) => event.kind === "drift").length;
    const end = view.series.labels[view.series.labels.length - 1];
    return `${title} up to label ${Dom.count(end)}. At the end: ${last.join(", ")}. Drift alarms: ${alarms}. The table below has the numbers.`;
  }

  // ------------------------------------------------------------------ legend, values under the cursor, table

  function swatch(index) {
    const svg = document.createElementNS(SVG, "svg");
    const line = document.createElementNS(SVG, "line");
    const style = styleOf(index, view.models);
    for (const [name, value] of Object.entries({ x1: 0, x2: 34, y1: 5, y2: 5, "stroke-width": 2.5 })) line.setAttribute(name, value);
    line.setAttribute("stroke-dasharray", style.dash.join(" "));
    line.style.stroke = `var(--${style.colour})`;
    svg.setAttribute("viewBox", "0 0 34 10");
    svg.setAttribute("class", "swatch");
    svg.setAttribute("aria-hidden", "true");
    svg.append(line);
    return svg;
  }

  function toggle(name, show) {
    if (show) chosen.hidden.delete(name);
    else chosen.hidden.add(name);
    const index = view.models.findIndex((model) => model.name === name);
    for (const chart of Object.values(charts)) chart.plot.setSeries(index + 1, { show });
  }

  function focus(index) {
    if (view.models.length > 2) for (const chart of Object.values(charts)) chart.plot.setSeries(index, { focus: index !== null });
  }

  function legendRow(item) {
    const { name, index } = item;
    const node = make("tr");
    const button = make("button", null, "line");
    const title = make("span");
    button.type = "button";
    within(button, swatch(index), title);
    button.addEventListener("click", () => { toggle(name, chosen.hidden.has(name)); update(); });
    for (const kind of ["mouseenter", "focus"]) button.addEventListener(kind, () => focus(index + 1));
    for (const kind of ["mouseleave", "blur"]) button.addEventListener(kind, () => focus(null));
    const head = make("th");
    head.scope = "row";
    const cells = item.values.map(() => make("td"));
    within(node, within(head, button), ...cells);
    return {
      node,
      update(now) {
        write(title, now.title);
        button.setAttribute("aria-pressed", String(now.shown));
        now.values.forEach((value, i) => write(cells[i], value));
      },
    };
  }

  function showLegend(at) {
    const value = (field, i) => valueWords[field](at === null ? lastOf(view.lines[field][i]) : view.lines[field][i][at]);
    const items = view.models.map((model, index) => ({
      name: model.name, index, of: view.models.length, title: model.title, shown: !chosen.hidden.has(model.name),
      values: ["accuracy", "log_loss"].flatMap((field) => [value(field, index), valueWords[field](view.means[field][index])]),
    }));
    list(byId("legend"), items, (item) => [item.name, item.index, item.of], legendRow);
    const span = view.series.window || view.span;
    const over = span ? `the mean of the last ${Dom.count(span)} labels` : "the last bucket";
    write(byId("legend-title"), at === null ? `Now: ${over}` : `At label ${Dom.count(view.series.labels[at])}: ${over}`);
  }

  function pointAt(index) {
    if (!view) return;
    const at = isNumber(index) && index < view.x.length ? index : null;
    showLegend(at);
    let words = "";
    if (at !== null) {
      const { times, labels } = view.series;
      words = `Label ${Dom.count(labels[at])}` + (times ? `, ${Dom.moment(times[at])}` : "");
      const near = (view.x[view.x.length - 1] - view.x[0]) / 60;
      const closest = view.marks.filter((mark) => Math.abs(mark.x - view.x[at]) <= near).slice(-2);
      words += closest.map(({ mark, event }) => ` · ${MARKS[mark].sign} ${event.text}`).join("");
    }
    write(byId("readout"), words);
  }

  function showMarks() {
    const used = Object.keys(MARKS).filter((mark) => view.marks.some((found) => found.mark === mark));
    const node = byId("marks");
    node.hidden = used.length === 0;
    const key = used.join();
    if (node.dataset.key === key) return;
    node.dataset.key = key;
    node.replaceChildren(...used.map((mark) => {
      const sign = make("span", MARKS[mark].sign, "sign");
      sign.style.color = `var(--${MARKS[mark].colour})`;
      return within(make("span"), sign, " " + MARKS[mark].words);
    }));
  }

  function cells(tag, words) {
    return within(make("tr"), ...words.map((word, i) => {
      const cell = make(i === 0 || tag === "th" ? "th" : "td", word);
      if (cell.tagName === "TH") cell.scope = tag === "th" ? "col" : "row";
      return cell;
    }));
  }

  function showTable() {
    if (!byId("numbers").open) return;
    const { x, series, models, lines } = view;
    const step = Math.max(1, Math.ceil(x.length / TABLE_ROWS));
    const rows = [];
    for (let i = x.length - 1; i >= 0; i -= step) rows.push(i);
    const fields = ["accuracy", "log_loss"];
    const heads = fields.flatMap((field) => models.map((model) => `${field === "accuracy" ? "accuracy" : "log-loss"}, ${model.title}`));
    const timed = series.times ? ["time"] : [];
    byId("numbers-head").replaceChildren(cells("th", ["label", ...timed, ...heads]));
    byId("numbers-body").replaceChildren(...rows.map((i) => cells("td", [
      Dom.count(series.labels[i]),
      ...timed.map(() => Dom.moment(series.times[i])),
      ...fields.flatMap((field) => models.map((_, k) => valueWords[field](lines[field][k][i]))),
    ])));
    write(byId("numbers-title"), step === 1 ? "Newest first" : `Newest first; one of ${step} points`);
  }

  // ------------------------------------------------------------------ the whole

  function update() {
    prepare();
    byId("curves").hidden = !doc.series || !doc.series.all;
    if (byId("curves").hidden) return;
    byId("range-choice").hidden = !doc.series.recent;
    byId("axis-choice").hidden = !view.series.times;
    byId("smoothing-choice").hidden = Boolean(view.series.window);
    byId("legend-buttons").hidden = view.models.length < MANY;
    byId("curves-body").classList.toggle("many", view.models.length >= MANY);
    for (const node of document.querySelectorAll(".by")) write(node, view.timed ? "by time" : "by number of labels");
    byId("smoothing").value = String(view.span);
    if (!charts.accuracy) {
      readInks();
      charts.accuracy = makeChart("accuracy", { host: byId("accuracy"), words: (x) => Dom.percent(x, axisDigits(x)), range: accuracyRange });
      charts.log_loss = makeChart("log_loss", { host: byId("log-loss"), words: (x) => Dom.decimal(x, 2), range: lossRange });
    }
    draw(charts.accuracy);
    draw(charts.log_loss);
    pointAt(charts.accuracy.plot.cursor.idx);
    showMarks();
    showTable();
  }

  function choose(id, change) {
    byId(id).addEventListener("change", (event) => { change(event.target.value); if (doc) update(); });
  }

  function start() {
    choose("range", (value) => { chosen.range = value; });
    choose("axis", (value) => { chosen.axis = value; });
    choose("smoothing", (value) => { chosen.span = Number(value); });
    byId("numbers").addEventListener("toggle", () => view && showTable());
    const each = (show) => () => { for (const { name } of view.models) toggle(name, show); update(); };
    byId("lines-all").addEventListener("click", each(true));
    byId("lines-none").addEventListener("click", each(false));
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
      readInks();
      for (const chart of Object.values(charts)) chart.plot.redraw(false);
    });
  }

  function show(document_) {
    doc = document_;
    update();
  }

  return { start, show, markOf, MARKS };
})();
