// SPDX-License-Identifier: Apache-2.0
// Keeps a page up to date: one stream of events with fragments of the page, each of which
// changes the element with its id. Rows stay where they are until the user sorts again.
"use strict";

(() => {
  const main = document.querySelector("main[data-live]");
  const lamp = document.getElementById("live");
  if (!main || !lamp || !window.EventSource || !window.htmx) return;

  const text = lamp.querySelector(".text");
  const { now, tick } = window.vigil; // of app.js, which every page has
  const maxRows = 200; // of which the page asks for changes: those around the window
  let source = null;
  let opened = false;
  let newest = now();
  let lostTimer = 0;

  const rowIDs = () => {
    const rows = [...document.querySelectorAll("tr[data-check]:not(.gone)")];
    let from = 0;
    if (rows.length > maxRows) {
      const first = rows.findIndex((row) => row.getBoundingClientRect().bottom > 0);
      from = Math.max(0, Math.min(first - 50, rows.length - maxRows));
    }
    return rows.slice(from, from + maxRows).map((row) => row.dataset.check.replaceAll("-", ""));
  };
  const address = () => {
    const url = new URL(main.dataset.live, location.href);
    url.searchParams.set("of", location.pathname + location.search);
    url.searchParams.set("since", main.dataset.now);
    const rows = rowIDs();
    if (rows.length) url.searchParams.set("rows", rows.join(","));
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

  // Makes an element what it is now, and leaves alone what is the same: the focus, what is open
  // and what is selected stay. What a script or the user makes of an element is its own.
  const attributes = (old, fresh) => {
    for (const { name, value } of [...fresh.attributes]) {
      if (old.getAttribute(name) !== value) old.setAttribute(name, value);
    }
    for (const { name } of [...old.attributes]) {
      if (!fresh.hasAttribute(name) && name !== "open" && name !== "tabindex") old.removeAttribute(name);
    }
  };
  const change = (old, fresh) => {
    if (old.nodeType !== Node.ELEMENT_NODE || old.nodeName !== fresh.nodeName) {
      if (old.nodeType === fresh.nodeType && old.nodeName === fresh.nodeName) {
        if (old.data !== fresh.data) old.data = fresh.data;
      } else {
        old.replaceWith(fresh);
        if (fresh.nodeType === Node.ELEMENT_NODE) window.htmx.process(fresh);
      }
      return;
    }
    if ("same" in fresh.dataset) return; // the page has it
    const chosen = ["at", "selected"].filter((name) => old.classList.contains(name));
    attributes(old, fresh);
    old.classList.add(...chosen);
    if (!("own" in fresh.dataset)) children(old, fresh);
  };
  const children = (old, fresh) => {
    const list = [...fresh.childNodes];
    const ids = new Set(list.map((child) => child.id).filter(Boolean));
    const { grown } = old; // by rows that the user asked for: they stay
    const known = new Map();
    for (const child of [...old.children]) {
      if (!child.id) continue;
      if (ids.has(child.id)) known.set(child.id, child);
      else if (!grown && !child.matches(".result[open]")) child.remove();
    }
    let at = old.firstChild;
    for (const child of list) {
      if (grown && child.id === "more-results") continue;
      const same = child.id ? known.get(child.id) : at && !at.id && at.nodeName === child.nodeName && at;
      if (!same) {
        old.insertBefore(child, at);
        if (child.nodeType === Node.ELEMENT_NODE) window.htmx.process(child);
        continue;
      }
      if (same === at) at = at.nextSibling;
      else old.insertBefore(same, at);
      change(same, child);
    }
    while (at) {
      const next = at.nextSibling;
      if (!at.id || (!grown && !at.matches(".result[open]"))) at.remove();
      at = next;
    }
  };
  const swap = (html) => {
    const focused = document.activeElement?.id;
    const fragments = new DOMParser().parseFromString(html, "text/html").body;
    for (const fresh of [...fragments.children]) {
      const old = document.getElementById(fresh.id);
      if (!old) continue;
      change(old, document.adoptNode(fresh));
      tick(document.getElementById(fresh.id) ?? old);
    }
    if (focused && document.activeElement?.id !== focused) document.getElementById(focused)?.focus({ preventScroll: true });
    document.dispatchEvent(new CustomEvent("vigil:changed")); // for chart.js
  };

  // What happened to rows: the page says so, and offers to load itself again.
  const moved = new Map();
  let list = { new: 0, gone: [] };
  const counted = (n, words) => (n ? [`${n} ${n === 1 ? "check" : "checks"} ${words}`] : []);
  const note = () => {
    const element = document.getElementById("moved");
    if (!element) return;
    const texts = [
      ...counted(moved.size, "changed state"), ...counted(list.new, list.new === 1 ? "is new" : "are new"),
      ...counted(list.gone.length, list.gone.length === 1 ? "is deleted" : "are deleted"),
    ];
    element.hidden = texts.length === 0;
    element.querySelector(".text").textContent = texts.length ? `${texts.join(", ")} while you read` : "";
    element.querySelector("a").textContent = moved.size ? "Re-sort" : "Show";
  };
  const came = (event) => {
    list = event;
    for (const id of list.gone) {
      const row = document.getElementById(id);
      if (!row) continue;
      row.classList.add("gone");
      moved.delete(id);
      for (const box of row.querySelectorAll("input")) { box.checked = false; box.disabled = true; }
      row.querySelector(".why").textContent = "Deleted";
    }
    note();
  };

  // Changes of state are spoken, those of 5 seconds together.
  let speech = [];
  let speaking = 0;
  const changed = (states) => {
    for (const { row: id, state, text: said } of states) {
      const row = document.getElementById(id);
      if (row && row.dataset.state === state && !moved.has(id)) continue;
      if (row) {
        if (row.dataset.state === state) moved.delete(id);
        else moved.set(id, state);
      }
      speech.push(said);
    }
    note();
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
    source.addEventListener("cells", (event) => { alive(); swap(event.data); });
    source.addEventListener("title", (event) => {
      const { title, icon } = JSON.parse(event.data);
      document.title = `${title} · Vigil`;
      const tab = document.querySelector("link[rel=icon]");
      tab.href = icon || tab.dataset.own;
    });
    source.addEventListener("states", (event) => changed(JSON.parse(event.data)));
    source.addEventListener("rows", (event) => came(JSON.parse(event.data)));
    for (const over of ["signed-out", "gone"]) source.addEventListener(over, () => { close(); location.reload(); });
    source.addEventListener("error", () => {
      lost();
      if (source?.readyState === EventSource.CLOSED) {
        setTimeout(() => { if (!document.hidden && source?.readyState === EventSource.CLOSED) open(); }, 5000);
      }
    });
  };
  const close = () => { source?.close(); source = null; };

  // A page that is not seen has no stream; on return it gets all of it.
  document.addEventListener("visibilitychange", () => (document.hidden ? close() : open()));
  addEventListener("pagehide", close);
  addEventListener("pageshow", (event) => { if (event.persisted) open(); });
  document.addEventListener("htmx:afterSwap", (event) => {
    const ids = [event.detail.target?.id, event.detail.elt?.id];
    const found = ids.includes("checks-found"); // another list: what happened to the rows of the one before is over
    if (found) { moved.clear(); list = { new: 0, gone: [] }; note(); }
    if (found || ids.some((id) => id?.startsWith("more") && id !== "more-results")) open();
    if (ids.includes("more-results")) document.getElementById("result-rows").grown = true;
  });
  document.addEventListener("vigil:moved", () => { if (!document.hidden) open(); }); // another address
  let scrolled = 0;
  addEventListener("scroll", () => {
    if (document.querySelectorAll("tr[data-check]").length <= maxRows) return;
    clearTimeout(scrolled);
    scrolled = setTimeout(open, 1000);
  }, { passive: true });
  if (!document.hidden) open();
})();
