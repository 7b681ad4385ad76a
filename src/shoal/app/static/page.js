// What the browser does by itself: take files, copy lines, and say when the server has stopped.
(() => {
  if (location.search) history.replaceState(null, "", location.pathname); // the code is used

  const send = (zone, file, next) => {
    if (file.name.toLowerCase().endsWith(".toml")) {
      file.slice(0, 1e6).text().then((text) => emitEvent("shoal-plan", { text }));
      return;
    }
    const limit = Number(zone.dataset.limit) * 1e6;
    const state = zone.querySelector(".state");
    const bar = zone.querySelector("progress");
    const stop = zone.querySelector("button");
    if (file.size > limit) {
      emitEvent("shoal-uploaded", {
        sentence:
          `This file is larger than the ${zone.dataset.limit} MB that the page takes: start it with a higher ` +
          "--upload-limit, or use `shoal protect` on the command line.",
      });
      return;
    }
    const request = new XMLHttpRequest();
    request.open("POST", window.path_prefix + "/upload");
    request.setRequestHeader("X-Tab", window.clientId);
    request.setRequestHeader("X-Name", encodeURIComponent(file.name));
    request.setRequestHeader("X-Row", document.querySelector("[data-names-row]")?.value || "1");
    bar.hidden = stop.hidden = false;
    stop.onclick = (event) => {
      event.preventDefault(); // it lies on what opens the choice of files
      request.abort(); // the server hears it, and stops reading
    };
    const began = Date.now();
    const tell = () => (state.textContent = `Reading ${file.name}: ${Math.round((Date.now() - began) / 1000)} s so far`);
    const clock = setInterval(tell, 500);
    tell();
    request.upload.onprogress = (event) => (bar.value = (100 * event.loaded) / event.total);
    request.upload.onload = () => bar.removeAttribute("value"); // it is here, and being read
    const over = (answer) => {
      clearInterval(clock);
      bar.hidden = stop.hidden = true;
      state.textContent = "";
      if (answer.layout && next) send(zone, next); // the file that was dropped with its layout
      else emitEvent("shoal-uploaded", answer);
    };
    request.onload = () => {
      try {
        over(JSON.parse(request.responseText));
      } catch {
        over({ sentence: "The file could not be taken: " + request.statusText });
      }
    };
    request.onerror = () => over({ sentence: "The file did not arrive: is the server still running?" });
    request.onabort = () => over({ sentence: "Cancelled: " + file.name + " was not kept." });
    request.send(file);
  };

  const sendAll = (zone, files) => {
    const layout = [...files].find((file) => /layout\.csv$/i.test(file.name));
    const table = [...files].find((file) => file !== layout);
    send(zone, layout || table, table);
  };

  const zoneOf = (event) => event.target.closest?.(".drop");
  document.addEventListener("change", (event) => {
    if (event.target.type === "file" && zoneOf(event) && event.target.files.length) {
      sendAll(zoneOf(event), event.target.files);
      event.target.value = "";
    }
  });
  for (const kind of ["dragover", "dragleave", "drop"]) {
    document.addEventListener(kind, (event) => {
      if (!event.dataTransfer?.types.includes("Files")) return;
      event.preventDefault();
      const zone = zoneOf(event) || document.querySelector(".drop");
      zone?.classList.toggle("over", kind === "dragover");
      if (kind === "drop" && zone && event.dataTransfer.files.length) sendAll(zone, event.dataTransfer.files);
    });
  }

  document.addEventListener("click", async (event) => {
    const button = event.target.closest?.("[data-copy]");
    if (!button) return;
    await navigator.clipboard.writeText(button.parentElement.querySelector("pre").textContent);
    button.textContent = "Copied";
    setTimeout(() => (button.textContent = "Copy"), 1500);
  });

  // The server hands over each new plan at once. `keys` says which there are, and their order.
  const kept = new Map();
  window.shoalKeep = (keys, plans) => {
    for (const [key, link] of kept) {
      if (keys.includes(key) && !(key in plans)) continue;
      URL.revokeObjectURL(link.href);
      kept.delete(key);
    }
    for (const [key, [name, file, text]] of Object.entries(plans)) {
      const link = document.createElement("a");
      link.textContent = name;
      link.download = file;
      link.href = URL.createObjectURL(new Blob([text], { type: "application/toml" }));
      kept.set(key, link);
    }
    const place = document.getElementById("lost-plans");
    place.hidden = !keys.length;
    place.querySelector("span").replaceChildren(...keys.map((key) => kept.get(key)));
  };

  const lost = (yes) => {
    const banner = document.getElementById("lost");
    if (banner) banner.hidden = !yes;
  };
  const watch = setInterval(() => {
    if (!window.socket) return;
    clearInterval(watch);
    let leaving = false;
    addEventListener("beforeunload", () => (leaving = true));
    window.socket.on("disconnect", () => setTimeout(() => !window.socket.connected && !leaving && lost(true), 500));
    window.socket.on("connect", () => lost(false));
  }, 100);
})();
