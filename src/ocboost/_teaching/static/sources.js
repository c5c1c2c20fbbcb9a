"use strict";

// Where frames come from: the camera, a video or pictures that the browser opens, or what the server reads.
// Each has {kind, still, start(), stop(), hold(on)} and calls `on.frame(image, width, height, more)`.
const Sources = (() => {
  const MAX_SIDE = 640;
  const CAMERA = { video: { width: { ideal: 640 }, height: { ideal: 480 }, frameRate: { ideal: 30 } }, audio: false };

  function fitted(width, height) {
    const share = Math.min(1, MAX_SIDE / Math.max(width, height));
    return [Math.max(1, Math.round(width * share)), Math.max(1, Math.round(height * share))];
  }

  const CAMERA_WORDS = {
    NotAllowedError: "The browser does not let this page use the camera. Allow it beside the address, then press Camera again; or open a video or pictures.",
    NotFoundError: "No camera was found. Connect one and press Camera again, or open a video or pictures.",
    NotReadableError: "The camera cannot be read: another program may be using it. Close that and press Camera again.",
  };
  CAMERA_WORDS.SecurityError = CAMERA_WORDS.NotAllowedError;
  CAMERA_WORDS.OverconstrainedError = CAMERA_WORDS.NotFoundError;
  CAMERA_WORDS.AbortError = CAMERA_WORDS.NotReadableError;

  // Calls `step` for each new frame of a video element until the returned function is called.
  function eachFrame(video, step) {
    let going = true;
    const byFrame = "requestVideoFrameCallback" in video;
    const next = () => (byFrame ? video.requestVideoFrameCallback(run) : requestAnimationFrame(run));
    function run() {
      if (!going) return;
      if (video.videoWidth) step();
      next();
    }
    next();
    return () => { going = false; };
  }

  function camera(video, on) {
    let stream = null;
    let end = () => {};
    let stopped = false;
    let number = 0;
    async function start() {
      if (!navigator.mediaDevices || !navigator.mediaDevices.getUserMedia) {
        on.problem("This browser gives pages no camera. Open the page as 127.0.0.1 or localhost in another browser, or open a video or pictures.");
        return false;
      }
      try {
        stream = await navigator.mediaDevices.getUserMedia(CAMERA);
      } catch (error) {
        on.problem(CAMERA_WORDS[error.name] || `The camera cannot be used: ${error.message || error.name}.`);
        return false;
      }
      if (stopped) {
        stream.getTracks().forEach((track) => track.stop());
        return false;
      }
      stream.getVideoTracks()[0].addEventListener("ended", () => {
        on.problem("The camera stopped: was it unplugged, or its permission taken away? Press Camera to start it again.");
        on.ended();
      });
      video.srcObject = stream;
      end = eachFrame(video, () => {
        const [width, height] = fitted(video.videoWidth, video.videoHeight);
        number += 1;
        on.frame(video, width, height, { name: `camera-${String(number).padStart(6, "0")}`, key: number });
      });
      await video.play().catch(() => {});
      return true;
    }
    function stop() {
      stopped = true;
      end();
      if (stream) stream.getTracks().forEach((track) => track.stop());
      video.srcObject = null;
    }
    return { kind: "camera", still: false, start, stop, hold() {} };
  }

  function film(video, file, on) {
    const url = URL.createObjectURL(file);
    let end = () => {};
    const broken = () => {
      on.problem(`The browser cannot play “${file.name}”: it may be damaged, or of a kind that the browser does not know. Try MP4 or WebM, or give the file to the command: ocboost cascade live detector.xml FILE.`);
      on.ended();
    };
    async function start() {
      video.addEventListener("error", broken);
      video.loop = true;
      video.src = url;
      let number = 0;
      end = eachFrame(video, () => {
        const [width, height] = fitted(video.videoWidth, video.videoHeight);
        number += 1;
        on.frame(video, width, height, { name: `${file.name}-${String(number).padStart(6, "0")}`, key: number, time: video.currentTime });
      });
      await video.play().catch(() => {});
      return true;
    }
    function hold(held) {
      if (held) video.pause();
      else video.play().catch(() => {});
    }
    function stop() {
      end();
      video.removeEventListener("error", broken);
      video.pause();
      video.removeAttribute("src");
      video.load();
      URL.revokeObjectURL(url);
    }
    return { kind: "film", still: false, start, stop, hold };
  }

  // Pictures one at a time; `load(n)` gives {image, name, number} or null after the last, and says what is wrong.
  function pictures(load, on) {
    let at = 0;
    let turn = 0;
    async function show(n) {
      if (n < 0) return true;
      const mine = ++turn;
      const found = await load(n);
      if (mine !== turn) return true;
      if (found === null) {
        on.say("That was the last picture.");
        return true;
      }
      at = n;
      if (found === undefined) {
        on.blank();
        return true;
      }
      const { width, height } = found.image;
      const size = found.number === undefined ? fitted(width, height) : [width, height];
      on.frame(found.image, ...size, { name: found.name, key: `${n} ${mine}`, number: found.number });
      return true;
    }
    return { kind: "pictures", still: true, start: () => show(at), stop() { turn += 1; }, hold() {}, step: (by) => show(at + by) };
  }

  function chosenPictures(files, on) {
    return pictures(async (n) => {
      if (n >= files.length) return null;
      try {
        return { image: await createImageBitmap(files[n]), name: files[n].name };
      } catch {
        on.problem(`The browser cannot read the picture “${files[n].name}”. It may be damaged, or of another kind; take PNG or JPEG.`);
        return undefined;
      }
    }, on);
  }

  async function served(n, on) {
    const answer = await Link.get(`source/frame?n=${n}`, { raw: true });
    if (answer.ok) {
      const name = decodeURIComponent(answer.response.headers.get("Ocboost-Name") || "");
      return { image: await createImageBitmap(answer.value), name, number: n };
    }
    if (answer.code === "end") return null;
    if (answer.status !== 0) on.problem(answer.message);
    return undefined;
  }

  const givenPictures = (on) => pictures((n) => served(n, on), on);

  function givenFilm(perSecond, on) {
    let going = true;
    let held = false;
    let at = 0;
    let wake = () => {};
    const until = (milliseconds) => new Promise((done) => { wake = done; if (milliseconds >= 0) setTimeout(done, milliseconds); });
    async function play() {
      while (going) {
        if (held || document.hidden) {
          await until(held ? -1 : 300);
          continue;
        }
        const begin = performance.now();
        const found = await served(at, on);
        if (!going) return;
        if (found === null) {
          if (at === 0) return;
          on.say("The video has ended; it begins anew.");
          at = 0;
          await until(1500);
          continue;
        }
        if (found === undefined) {
          await until(1000);
          continue;
        }
        if (!held) {
          on.frame(found.image, found.image.width, found.image.height, { name: found.name, key: at, number: at });
          at += 1;
        }
        await until(Math.max(0, 1000 / perSecond - (performance.now() - begin)));
      }
    }
    function hold(on_) {
      held = on_;
      wake();
    }
    return { kind: "given film", still: false, start: async () => { play(); return true; }, stop() { going = false; wake(); }, hold };
  }

  return { camera, film, chosenPictures, givenPictures, givenFilm };
})();
