"use strict";

// The picture with its boxes, and what mouse, finger and keys do to it. Boxes are [x, y, width, height] in the
// pixels of the frame that was looked at, which may be smaller than what is shown.
const View = (() => {
  const canvas = Dom.byId("view");
  const context = canvas.getContext("2d");
  const FOUND = "#38a3ff";
  const WRONG = "#ff5a4d";
  const FACE = "#3fd16a";
  const DRAWN = "#ffd23f";
  const CLICK = 6; // pixels of the screen that a click may move
  const STEP = 8; // pixels of the frame that an arrow moves a new box
  let on = {};
  let chosen = -1; // the box that the keys have chosen
  let drawn = null; // a new box
  let from = null; // where the pointer went down: {x, y, screen, box}

  // A line that shows on any picture: dark below, colour above.
  function outline(context, box, colour, share, dashes = [], wide = 2.5) {
    const [x, y, width, height] = box.map((side) => side * share);
    context.setLineDash([]);
    context.lineWidth = wide + 2;
    context.strokeStyle = "rgb(0 0 0 / 60%)";
    context.strokeRect(x, y, width, height);
    context.setLineDash(dashes);
    context.lineWidth = wide;
    context.strokeStyle = colour;
    context.strokeRect(x, y, width, height);
    context.setLineDash([]);
  }

  function cross(context, box, colour, share) {
    const [x, y, width, height] = box.map((side) => side * share);
    context.lineWidth = 2;
    context.strokeStyle = colour;
    context.beginPath();
    context.moveTo(x, y);
    context.lineTo(x + width, y + height);
    context.moveTo(x + width, y);
    context.lineTo(x, y + height);
    context.stroke();
  }

  function word(context, box, text, colour, share) {
    const [x, y] = box.map((side) => side * share);
    context.font = "600 14px system-ui, sans-serif";
    const wide = context.measureText(text).width + 10;
    const top = Math.max(0, y - 20);
    context.fillStyle = "rgb(0 0 0 / 75%)";
    context.fillRect(x - 1, top, wide, 19);
    context.fillStyle = colour;
    context.fillText(text, x + 4, top + 14);
  }

  // Draws boxes and corrections on any canvas.
  function boxes(context, scene, share) {
    scene.boxes.forEach((box, n) => outline(context, box, FOUND, share, [], n === scene.chosen ? 5 : 2.5));
    for (const each of scene.corrections || []) {
      const room = 5 / share; // so that a box that was found there shows
      const box = each.box && [each.box[0] - room, each.box[1] - room, each.box[2] + 2 * room, each.box[3] + 2 * room];
      if (each.kind === "reject") {
        outline(context, box, WRONG, share, [7, 5]);
        cross(context, box, WRONG, share);
        word(context, box, "no face", WRONG, share);
      } else if (each.kind === "mark") {
        outline(context, box, FACE, share, [7, 5]);
        word(context, box, "face", FACE, share);
      } else {
        word(context, [4 / share, 24 / share], "no face in this frame", WRONG, share);
      }
    }
  }

  // `scene` has {image, width, height, of: width of the frame that the boxes are in, boxes, corrections}.
  function show(scene) {
    if (canvas.width !== scene.width || canvas.height !== scene.height) {
      canvas.width = scene.width;
      canvas.height = scene.height;
    }
    context.drawImage(scene.image, 0, 0, scene.width, scene.height);
    const found = JSON.stringify(scene.boxes);
    if (canvas.dataset.boxes !== found) canvas.dataset.boxes = found;
    const share = scene.of ? scene.width / scene.of : 1;
    boxes(context, { ...scene, chosen }, share);
    if (drawn) outline(context, drawn, DRAWN, share, [4, 3], 3);
  }

  function blank() {
    context.clearRect(0, 0, canvas.width, canvas.height);
    delete canvas.dataset.boxes;
  }

  // The place of a pointer in pixels of the frame that was looked at.
  function place(event, target) {
    const shown = canvas.getBoundingClientRect();
    return {
      x: ((event.clientX - shown.left) / shown.width) * target.width,
      y: ((event.clientY - shown.top) / shown.height) * target.height,
    };
  }

  // The smallest box at a place; one that is only just missed counts, for fingers.
  function hit(found, { x, y }, slack) {
    let best = -1;
    found.forEach(([left, top, width, height], n) => {
      const inside = x >= left - slack && x <= left + width + slack && y >= top - slack && y <= top + height + slack;
      if (inside && (best < 0 || width * height < found[best][2] * found[best][3])) best = n;
    });
    return best;
  }

  // A box of the window's shape between two corners, inside of the frame.
  function between(start, end, target) {
    const aspect = on.aspect(); // width by height
    const right = end.x >= start.x;
    const down = end.y >= start.y;
    const room = [right ? target.width - start.x : start.x, down ? target.height - start.y : start.y];
    let width = Math.max(Math.abs(end.x - start.x), Math.abs(end.y - start.y) * aspect);
    width = Math.min(width, room[0], room[1] * aspect);
    const height = width / aspect;
    const box = [right ? start.x : start.x - width, down ? start.y : start.y - height, width, height].map(Math.round);
    return inside(box, target);
  }

  function inside([x, y, width, height], target) {
    const wide = Math.min(width, target.width);
    const high = Math.min(height, target.height);
    return [Math.min(Math.max(0, x), target.width - wide), Math.min(Math.max(0, y), target.height - high), wide, high];
  }

  function press(event) {
    if (event.button !== 0 || from) return;
    const target = on.grab();
    if (!target) return;
    event.preventDefault();
    canvas.focus({ preventScroll: true });
    canvas.setPointerCapture(event.pointerId);
    chosen = -1;
    drawn = null;
    const at = place(event, target);
    const slack = event.pointerType === "touch" ? (12 * target.width) / canvas.getBoundingClientRect().width : 0;
    from = { ...at, left: event.clientX, top: event.clientY, target, box: hit(target.boxes, at, slack), id: event.pointerId };
    on.redraw();
  }

  function move(event) {
    if (!from || event.pointerId !== from.id) return;
    if (drawn || Math.hypot(event.clientX - from.left, event.clientY - from.top) > CLICK) {
      drawn = between(from, place(event, from.target), from.target);
      on.redraw();
    }
  }

  function lift(event) {
    if (!from || event.pointerId !== from.id) return;
    const { target, box } = from;
    const made = drawn;
    from = null;
    drawn = null;
    if (made) on.mark(made);
    else if (box >= 0) on.reject(target.boxes[box]);
    else on.release();
    on.redraw();
  }

  function drop() {
    from = null;
    drawn = null;
    chosen = -1;
    on.release();
    on.redraw();
  }

  // The keys; true where one was meant for the picture.
  function key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) {
      if (event.key !== "z") return false;
      on.undo();
      return true;
    }
    const arrow = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key];
    if (drawn) {
      const target = on.grab();
      const size = { "+": STEP, "=": STEP, "-": -STEP }[event.key];
      if (event.key === "Enter") {
        const made = drawn;
        drawn = null;
        on.mark(made);
      } else if (event.key === "Escape") {
        drop();
      } else if (target && arrow) {
        drawn = inside([drawn[0] + STEP * arrow[0], drawn[1] + STEP * arrow[1], drawn[2], drawn[3]], target);
      } else if (target && size) {
        const aspect = on.aspect();
        const width = Math.max(drawn[2] + size, STEP * 2);
        drawn = inside([Math.round(drawn[0] - size / 2), Math.round(drawn[1] - size / 2), width, Math.round(width / aspect)], target);
      } else {
        return false;
      }
      on.redraw();
      return true;
    }
    if (event.key === " ") on.freeze();
    else if (event.key === "n" || event.key === "N") on.free();
    else if (event.key === "u" || event.key === "U") on.undo();
    else if (event.key === "Escape") drop();
    else if (event.key === "m" || event.key === "M") {
      const target = on.grab();
      if (!target) return true;
      const width = Math.round(target.width / 4);
      const height = Math.round(width / on.aspect());
      drawn = inside([Math.round((target.width - width) / 2), Math.round((target.height - height) / 2), width, height], target);
      on.announce("A new box. Arrows move it, plus and minus size it, Enter takes it, Escape drops it.");
    } else if (arrow && arrow[0]) {
      const target = on.grab();
      if (!target) return true;
      const n = target.boxes.length;
      if (!n) {
        on.announce("There is no box in this frame.");
        on.release();
        return true;
      }
      chosen = chosen < 0 ? (arrow[0] > 0 ? 0 : n - 1) : (chosen + arrow[0] + n) % n;
      const [x, y, width] = target.boxes[chosen];
      on.announce(`Box ${chosen + 1} of ${n}: ${width} pixels wide, at ${x}, ${y}.`);
    } else if (["Delete", "Backspace", "Enter"].includes(event.key)) {
      const target = on.grab();
      const box = target && target.boxes[chosen];
      chosen = -1;
      if (!box) on.announce("Choose a box first, with left and right.");
      else if (event.key === "Enter") on.mark(box);
      else on.reject(box);
    } else {
      return false;
    }
    on.redraw();
    return true;
  }

  function start(callbacks) {
    on = callbacks;
    canvas.addEventListener("pointerdown", press);
    canvas.addEventListener("pointermove", move);
    canvas.addEventListener("pointerup", lift);
    canvas.addEventListener("pointercancel", drop);
    canvas.addEventListener("keydown", (event) => {
      if (key(event)) event.preventDefault();
    });
  }

  const isDrawing = () => drawn !== null || from !== null || chosen >= 0;
  const forget = () => { from = null; drawn = null; chosen = -1; };

  return { start, show, blank, boxes, isDrawing, forget };
})();
