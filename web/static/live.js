// Keeps a page up to date: one stream of events, whose fragments replace the content of
// single cells. Nothing moves: a row stays where it is until the user sorts again.
"use strict";

(() => {
  const main = document.querySelector("main[data-live]");
  const lamp = document.getElementById("live");
  if (!main || !lamp || !window.EventSource || !window.htmx) return;

  const text = lamp.querySelector(".text");
  const ahead = Date.parse(main.dataset.now) - Date.now(); // of the server's clock
  const now = () => Date.now() + ahead;
  const maxRows = 200; // of which the page asks for changes: those around the window
  let source = null;
  let opened = false;
  let newest = now();
  let lostTimer = 0;

  const rowIDs = () => {
    const rows = [...document.querySelectorAll("tr[data-check]")];
    let from = 0;
    if (rows.length > maxRows) {
      const first = rows.findIndex((row) => row.getBoundingClientRect().bottom > 0);
      from = Math.max(0, Math.min(first - 50, rows.length - maxRows));
    }
    return rows.slice(from, from + maxRows).map((row) => row.dataset.check.replaceAll("-", ""));
  };
  const address = () => {
    const url = new URL(main.dataset.live, location.href);
    const rows = rowIDs();
    if (rows.length) url.searchParams.set("rows", rows.join(","));
    const results = [...document.querySelectorAll("#result-rows > .result[id]")].slice(0, 12);
    if (results.length) url.searchParams.set("results", results.map((row) => row.id.slice(2).replaceAll("-", "")).join(","));
    if (opened) url.searchParams.set("again", "1");
    return url;
  };

  // Live, or when the page was last up to date.
  const show = (lost) => {
    lamp.classList.toggle("lost", lost);
    text.textContent = lost ? `Reconnecting, as of ${new Date(newest).toISOString().slice(11, 19)}` : "Live";
  };
  const alive = () => {
    clearTimeout(lostTimer);
    lostTimer = 0;
    newest = now();
    show(false);
  };
  const lost = () => { lostTimer ||= setTimeout(() => show(true), 5000); };

  // What is open stays open: a fragment must not close a row that is being read.
  const swap = (html) => {
    const at = document.activeElement?.id;
    htmx.swap(document.body, html, { swapStyle: "none", swapDelay: 0, settleDelay: 0 });
    if (at && document.activeElement?.id !== at) document.getElementById(at)?.focus({ preventScroll: true });
    const rows = document.querySelectorAll("#result-rows > .result");
    for (let i = rows.length - 1; i >= 90; i--) rows[i].remove();
    tick();
  };

  // Changes of state are spoken, those of 5 seconds together.
  const moved = new Map();
  let speech = [];
  let speaking = 0;
  const changed = (list) => {
    for (const change of list) {
      const row = document.getElementById(change.row);
      if (row && row.dataset.state === change.state && !moved.has(change.row)) continue;
      if (row) {
        if (row.dataset.state === change.state) moved.delete(change.row);
        else moved.set(change.row, change.state);
      }
      speech.push(change.text);
    }
    const note = document.getElementById("moved");
    if (note) {
      note.hidden = moved.size === 0;
      note.querySelector(".text").textContent = `${moved.size} ${moved.size === 1 ? "check" : "checks"} changed state while you read`;
    }
    speaking ||= setTimeout(() => {
      document.getElementById("said").textContent = speech.slice(0, 5).join(". ");
      speech = [];
      speaking = 0;
    }, 5000);
  };

  const open = () => {
    close();
    source = new EventSource(address());
    source.addEventListener("open", alive);
    source.addEventListener("hello", () => { opened = true; alive(); });
    source.addEventListener("cells", (event) => {
      alive();
      if (document.querySelector("[data-waiting]")) location.reload(); // the first result
      else swap(event.data);
    });
    source.addEventListener("states", (event) => changed(JSON.parse(event.data)));
    source.addEventListener("signed-out", () => { close(); location.reload(); });
    source.addEventListener("error", () => {
      lost();
      if (source?.readyState === EventSource.CLOSED) setTimeout(() => { if (!document.hidden && source?.readyState === EventSource.CLOSED) open(); }, 5000);
    });
  };
  const close = () => { source?.close(); source = null; };

  // A page that is not seen has no stream; on return it gets all of its rows.
  document.addEventListener("visibilitychange", () => (document.hidden ? close() : open()));
  addEventListener("pagehide", close);
  addEventListener("pageshow", (event) => { if (event.persisted) open(); });
  document.addEventListener("htmx:afterSwap", (event) => { if (event.detail.target?.id === "more" || event.detail.elt?.id === "more") open(); });
  let scrolled = 0;
  addEventListener("scroll", () => {
    if (document.querySelectorAll("tr[data-check]").length <= maxRows) return;
    clearTimeout(scrolled);
    scrolled = setTimeout(open, 1000);
  }, { passive: true });

  // Ages go on by the server's clock.
  const { span } = window.vigil; // of app.js, which every page has
  const age = (since) => span(Math.max(0, Math.floor((now() - since) / 1000)));
  const write = (element, words) => { if (element.textContent !== words) element.textContent = words; };
  const tick = () => {
    for (const element of document.querySelectorAll("td.seen time")) write(element, age(Date.parse(element.dateTime)));
  };
  setInterval(() => { if (!document.hidden) tick(); }, 1000);
  if (!document.hidden) open();
})();
