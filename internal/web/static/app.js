// SPDX-License-Identifier: Apache-2.0
// What the pages do beyond reading and forms. Everything works without it.
"use strict";

(() => {
  const $ = (selector, within = document) => within.querySelector(selector);
  const all = (selector, within = document) => [...within.querySelectorAll(selector)];
  const visible = (element) => element && element.getClientRects().length > 0;

  // Copy buttons copy the text of the code beside them, or of the element they name.
  const copies = (within) => {
    for (const button of all("[data-copy]", within)) {
      button.hidden = !navigator.clipboard;
      button.addEventListener("click", async () => {
        const from = button.dataset.copy ? $(button.dataset.copy) : button.parentElement.querySelector("pre, input");
        await navigator.clipboard.writeText(from.value ?? from.textContent);
        button.textContent = "Copied";
        setTimeout(() => { button.textContent = "Copy"; }, 2000);
      });
    }
  };

  // A filter hides the entries that do not have its text.
  const filters = (within) => {
    for (const filter of all("[data-filter-of]", within)) {
      const input = $("input", filter);
      filter.hidden = false;
      input.addEventListener("input", () => {
        const text = input.value.trim().toLowerCase();
        for (const entry of all("[data-search]", $(filter.dataset.filterOf))) {
          entry.hidden = !entry.dataset.search.includes(text) && !$(":checked", entry);
        }
      });
      input.addEventListener("keydown", (event) => { if (event.key === "Enter") event.preventDefault(); });
    }
  };

  // Rows of a table are ordered by their buttons, which keep the focus, and by dragging, without the server.
  const orders = (within) => {
    for (const body of all("[data-orders] tbody", within)) {
      let dragged = null;
      for (const row of all("tr", body)) {
        for (const [name, step] of [["up", "previousElementSibling"], ["down", "nextElementSibling"]]) {
          const button = $(`button[name=${name}]`, row);
          button.addEventListener("click", (event) => {
            event.preventDefault();
            const other = row[step];
            if (other && name === "up") other.before(row);
            if (other && name === "down") other.after(row);
            button.focus();
          });
        }
        const handle = $("th", row);
        handle.draggable = true;
        handle.addEventListener("dragstart", (event) => {
          dragged = row;
          event.dataTransfer.effectAllowed = "move";
        });
        row.addEventListener("dragover", (event) => {
          if (!dragged || dragged === row) return;
          event.preventDefault();
          const box = row.getBoundingClientRect();
          if (event.clientY < box.top + box.height / 2) row.before(dragged); else row.after(dragged);
        });
        row.addEventListener("drop", (event) => { if (dragged) event.preventDefault(); });
        handle.addEventListener("dragend", () => { dragged = null; });
      }
    }
  };

  // Enter in a field presses the button that it names, instead of the first one of the form.
  const enters = (within) => {
    for (const input of all("[data-enter]", within)) {
      input.addEventListener("keydown", (event) => {
        if (event.key !== "Enter") return;
        event.preventDefault();
        $(input.dataset.enter).click();
      });
    }
  };

  // Countdowns and ages go on by the server's clock.
  const loaded = $("main[data-now]");
  const ahead = loaded ? Date.parse(loaded.dataset.now) - Date.now() : 0;
  const now = () => Date.now() + ahead;
  // A number of seconds in words, as span of time.go writes it.
  const span = (s) => {
    if (s < 60) return `${s} s`;
    if (s < 3600) return `${Math.floor(s / 60)} min`;
    return s < 172800 ? `${Math.floor(s / 3600)} h` : `${Math.floor(s / 86400)} d`;
  };
  // And as lengthOf writes it.
  const length = (s) => {
    if (s < 60 || s >= 3600) return span(s);
    return s % 60 ? `${Math.floor(s / 60)} min ${s % 60} s` : `${s / 60} min`;
  };
  // The text is changed in place: no style depends on what it is, only on whether there is one.
  const write = (element, words) => {
    const text = element.firstChild;
    if (text?.nodeType === Node.TEXT_NODE && !text.nextSibling) {
      if (text.data !== words) text.data = words;
    } else {
      element.textContent = words;
    }
  };
  const near = (element) => {
    const { top, bottom } = element.getBoundingClientRect();
    return bottom > -200 && top < innerHeight + 200;
  };
  // Each second for what is in the window or near it, and every tenth for all: a list has a hundred ages.
  const tick = (within = document, everywhere = true) => {
    const clocks = within.matches?.("time") ? [within] : all("time[data-countdown], time[data-age]", within);
    for (const element of everywhere ? clocks : clocks.filter(near)) {
      const at = Date.parse(element.dateTime);
      if ("countdown" in element.dataset) {
        const left = Math.ceil((at - now()) / 1000);
        write(element, left > 0 ? `in ${span(left)}` : "now");
      } else if ("age" in element.dataset) {
        const age = Math.max(0, Math.floor((now() - at) / 1000));
        write(element, element.dataset.age === "length" ? length(age) : span(age));
      }
    }
  };
  window.vigil = { now, tick };
  let ticks = 0;
  setInterval(() => { if (!document.hidden) tick(document, ++ticks % 10 === 0); }, 1000);
  document.addEventListener("visibilitychange", () => { if (!document.hidden) tick(); });
  let scrolled = 0;
  addEventListener("scroll", () => { scrolled ||= setTimeout(() => { scrolled = 0; tick(document, false); }, 100); }, { passive: true });
  addEventListener("beforeprint", () => tick());

  const prepare = (within) => { copies(within); filters(within); orders(within); enters(within); };
  prepare(document);
  // htmx:load is sent for each part that htmx adds, and for the page once.
  document.addEventListener("htmx:load", (event) => { if (event.target !== document.body) prepare(event.target); });

  // A row that was added gets the focus, in its first field.
  document.addEventListener("htmx:afterSwap", () => {
    const row = $(".item.added");
    if (row) { row.classList.remove("added"); $("input, select, textarea", row)?.focus(); }
  });

  // Ctrl or Cmd with Enter presses the button that says so.
  document.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
    const button = $("[data-key-submit]");
    if (button) { event.preventDefault(); button.click(); }
  });

  // A summary of errors gets the focus, so that it is read first.
  $("[data-focus]")?.focus();

  // The zone of the browser can be chosen where it is not UTC.
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
  const zoneButton = $("[data-own-zone]");
  if (zoneButton && zone && zoneButton.hidden && zone !== "UTC") {
    zoneButton.value = zoneButton.textContent = zone;
    zoneButton.hidden = false;
  }

  // A message stays for 6 seconds, or as long as it has the focus or the pointer.
  for (const toast of all(".toast")) {
    const hide = () => (toast.matches(":hover, :focus-within") ? setTimeout(hide, 2000) : toast.remove());
    setTimeout(hide, 6000);
  }

  // One menu is open at a time; a press elsewhere closes it.
  document.addEventListener("click", (event) => {
    for (const menu of all("details.menu[open]")) {
      if (!menu.contains(event.target) || event.target.closest("[data-closes] button")) menu.open = false;
    }
  });

  // Rows: one of them is in the tab order; it can be moved, opened and selected.
  const rows = () => all("tr[data-check], tr[data-row]").filter(visible);
  const current = () => document.activeElement?.closest?.("tr[data-check], tr[data-row]") ?? $("tr.at");
  const go = (row) => {
    if (!row) return;
    for (const other of all("tr.at")) { other.classList.remove("at"); other.tabIndex = -1; }
    row.classList.add("at");
    row.tabIndex = 0;
    row.focus();
    row.scrollIntoView({ block: "nearest" });
  };
  const move = (step) => {
    const list = rows();
    const at = list.indexOf(current());
    go(at < 0 ? list[step > 0 ? 0 : list.length - 1] : list[Math.min(Math.max(at + step, 0), list.length - 1)]);
  };
  const openRow = (row) => row?.querySelector("th a, td a")?.click();

  // Selection of checks.
  const boxes = () => all('.checks input[name="id"]');
  const form = () => $("#bulk"); // the list is another one after a search
  let anchor = null;
  const count = () => {
    if (!form()) return;
    const list = boxes();
    const chosen = list.filter((box) => box.checked);
    for (const box of list) box.closest("tr").classList.toggle("selected", box.checked);
    const everything = $("[data-everything]");
    if (chosen.length < list.length) everything.value = "";
    const matching = $("[data-matching]");
    const whole = chosen.length > 0 && chosen.length === list.length;
    matching.hidden = !whole || !$('.more, .rest, .fold[aria-expanded="false"]') || everything.value !== "";
    $("[data-selected]").textContent = everything.value ? matching.textContent.replace("Select all", "All") : `${chosen.length} selected`;
    const top = $("[data-all]");
    top.hidden = false;
    top.checked = whole;
    top.indeterminate = chosen.length > 0 && !whole;
  };
  const select = (box, on, range) => {
    const list = boxes();
    const a = list.indexOf(anchor);
    const b = list.indexOf(box);
    if (range && a >= 0) for (const each of list.slice(Math.min(a, b), Math.max(a, b) + 1)) each.checked = on;
    box.checked = on;
    anchor = box;
    count();
  };
  const clear = () => {
    for (const box of boxes()) box.checked = false;
    count();
  };
  document.addEventListener("change", (event) => {
    if (!event.target.matches("[data-all]")) return;
    for (const box of boxes()) box.checked = event.target.checked;
    count();
  });
  document.addEventListener("click", (event) => {
    if (!event.target.closest("#bulk")) return;
    if (event.target.name === "id") select(event.target, event.target.checked, event.shiftKey);
    if (event.target.closest("[data-matching]")) { $("[data-everything]").value = "yes"; count(); }
    if (event.target.closest("[data-clear]")) { event.preventDefault(); clear(); }
  });
  document.addEventListener("htmx:afterSwap", count);
  count();

  // Days: arrow keys and the pointer walk them, the text shows below.
  for (const days of all("[data-days]")) {
    const out = $("output", days);
    const svg = $("svg", days);
    let at = Infinity; // the newest day
    const show = (n) => {
      const texts = all("li", days); // they change while the page is open
      at = Math.min(Math.max(n, 0), texts.length - 1);
      out.textContent = texts[at].textContent;
    };
    svg.addEventListener("keydown", (event) => {
      if (event.key === "ArrowLeft") show(at - 1);
      else if (event.key === "ArrowRight") show(at + 1);
      else return;
      event.preventDefault();
      event.stopPropagation();
    });
    svg.addEventListener("focus", () => show(at));
    svg.addEventListener("blur", () => { out.textContent = ""; });
    svg.addEventListener("pointermove", (event) => {
      const box = svg.getBoundingClientRect();
      show(Math.floor(((event.clientX - box.left) / box.width) * all("li", days).length));
    });
    svg.addEventListener("pointerleave", () => { out.textContent = ""; });
  }

  // Help in a dialog: the same list as the page /app/help.
  let dialog = null;
  let asked = false; // for the page that it is made of
  const help = async () => {
    if (!dialog) {
      if (asked) return;
      asked = true;
      let text = "";
      try {
        const answer = await fetch("/app/help", { headers: { Accept: "text/html" } });
        text = await answer.text();
      } finally {
        asked = false;
      }
      const page = new DOMParser().parseFromString(text, "text/html");
      dialog = document.createElement("dialog");
      dialog.setAttribute("aria-label", "Appearance and keys");
      dialog.append(...all(".help-page > section", page));
      for (const back of all('input[name="back"]', dialog)) back.value = location.pathname + location.search;
      const close = document.createElement("button");
      close.className = "small";
      close.textContent = "Close";
      close.addEventListener("click", () => dialog.close());
      dialog.append(close);
      document.body.append(dialog);
      dialog.addEventListener("click", (event) => { if (event.target === dialog) dialog.close(); });
    }
    dialog.showModal();
  };
  $('[data-key-button="?"]')?.addEventListener("click", (event) => { event.preventDefault(); help(); }); // it stays when the menu changes

  // Single keys. They are off in fields, and a user can switch them off.
  const places = { c: "/app", i: "/app/incidents", d: "/app/deliveries", h: "/app/channels", s: "/app/status-pages" };
  let leading = 0; // when g was pressed
  const typing = (target) => target.closest("input:not([type=checkbox], [type=radio]), textarea, select, [contenteditable]");
  const press = (key) => {
    const found = all(`[data-key="${key}"]`).find(visible);
    if (!found) return false;
    if (found.tagName === "SUMMARY") {
      found.parentElement.open = !found.parentElement.open;
      found.parentElement.querySelector(".items button, .items a")?.focus();
    } else {
      found.click();
    }
    return true;
  };
  // Keys that act on a row act on the selection when there is one, else on the row.
  const onRow = (key) => {
    const row = current();
    if (!row || boxes().some((box) => box.checked)) return false;
    const box = $('input[name="id"]', row);
    if (!box) return false;
    if (key === "e") { location.href = `/app/checks/${row.dataset.check}/edit`; return true; }
    if (key === "a") {
      const { incident } = $(".mark", row).dataset;
      if (incident) location.href = `/app/incidents/${incident}`;
      return Boolean(incident);
    }
    const action = { p: "paused" in $(".mark", row).dataset ? "enable" : "disable", t: "test" }[key];
    if (!action) return false;
    box.checked = true;
    count();
    form().requestSubmit($(`button[value="${action}"]`, form()));
    return true;
  };
  const escape = () => {
    const open = $("details.menu[open]");
    const filter = $("[data-key-focus]");
    if (open) { open.open = false; $("summary", open).focus(); } else if (boxes().some((box) => box.checked)) clear();
    else if (filter && (filter.value || document.activeElement === filter)) {
      if (filter.value && new URLSearchParams(location.search).has("query")) {
        filter.value = "";
        filter.form.requestSubmit();
      }
      filter.value = "";
      filter.blur();
    } else if (new URLSearchParams(location.search).has("query")) $(".empty .button")?.click();
  };
  const keys = {
    "?": help,
    "/": () => { const filter = $("[data-key-focus]"); if (visible(filter)) { filter.focus(); filter.select(); } },
    j: () => move(1), ArrowDown: () => move(1), k: () => move(-1), ArrowUp: () => move(-1),
    x: (event) => {
      const box = current()?.querySelector('input[name="id"]');
      if (box) select(box, event.shiftKey || !box.checked, event.shiftKey);
    },
    g: () => { leading = Date.now(); },
  };
  document.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
      const test = $("[data-key-test]");
      if (test) { event.preventDefault(); test.click(); }
      return;
    }
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || $("dialog[open]")) return;
    if (event.key === "Escape") { escape(); return; }
    if (typing(event.target)) return;
    const row = event.target.closest("tr[data-check], tr[data-row]");
    if (event.key === "Enter") {
      if (row && event.target === row) openRow(row);
      return;
    }
    if (event.key.startsWith("Arrow") && !row) return;
    if (!("keys" in document.body.dataset) && !event.key.startsWith("Arrow")) return;
    const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
    const second = Date.now() - leading < 1500 && places[key];
    leading = 0;
    if (second) {
      location.href = second;
    } else if (keys[key]) {
      keys[key](event);
    } else if (!/^[a-z]$/.test(key) || !(onRow(key) || press(key))) {
      return;
    }
    event.preventDefault();
  });

  // What a search has made of the list of checks is said to those who do not see it.
  document.addEventListener("htmx:afterSettle", (event) => {
    const found = document.getElementById("checks-found");
    const said = document.getElementById("said");
    const searching = document.activeElement?.name === "query" && event.detail.target?.id === "checks-found";
    if (found && said && searching) said.textContent = found.dataset.said;
  });
})();
