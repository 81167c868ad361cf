// SPDX-License-Identifier: Apache-2.0
// What was typed into a form survives an ended session, another page and Back: it is kept for the tab
// and the user until the form is saved. Secrets are never kept. Everything works without it.
"use strict";

(() => {
  const $ = (selector, within = document) => within.querySelector(selector);
  const all = (selector, within = document) => [...within.querySelectorAll(selector)];
  const prefix = "vigil.draft ";
  const sent = "vigil.sent";
  const store = (() => { try { return window.sessionStorage; } catch { return null; } })();
  const read = (key) => { try { return JSON.parse(store?.getItem(key)); } catch { return null; } };
  const keyOf = (form) => `${prefix}${form.dataset.owner} ${form.dataset.draft}`;
  const draftForm = () => $("form[data-draft]");

  // Whether a name says that its value is a secret; a word that begins with = is the whole of a name.
  const named = (words, name) => {
    const lower = name.trim().toLowerCase();
    return words.some((word) => (word.startsWith("=") ? lower === word.slice(1) : lower.includes(word)));
  };
  const mask = "***";
  // An address without its user, and without the values of parameters that are secrets.
  const plainAddress = (text, words) => text
    .replace(/^([a-z][a-z0-9+.-]*:)?\/\/[^/?#]*@/i, (found) => `${found.split("//")[0]}//`)
    .replace(/([?&;#])([^=&;#?]*)=([^&;#]*)/g, (found, mark, name, value) => {
      let plain = name;
      try { plain = decodeURIComponent(name); } catch { /* it is looked at as it is */ }
      return value !== mask && named(words, plain) ? `${mark}${name}=` : found;
    });
  // What may be kept of a control: null for nothing.
  const keepable = (control, form, words) => {
    const { value } = control;
    const kind = control.dataset.secret ?? "";
    if (value === mask) return value;
    if (control.type === "password" || control.type === "file" || kind === "always") return null;
    if (kind === "by-name") {
      const beside = form.elements.namedItem(control.name.replace(/\.value$/, ".name"));
      return beside && !named(words, beside.value) ? value : null;
    }
    if (kind.startsWith("if:")) return form.elements.namedItem(kind.slice(3))?.checked ? null : value;
    return kind === "query" ? plainAddress(value, words) : value;
  };

  const left = ["key", "do", "confirmed"]; // each page of a form has its own
  const keep = (form) => {
    const words = (form.dataset.secretNames ?? "").split(" ").filter(Boolean);
    const values = [];
    const kept = [];
    for (const control of form.elements) {
      if (!control.name || control.disabled || left.includes(control.name) || control.tagName === "BUTTON") continue;
      if (/^(checkbox|radio)$/.test(control.type) && !control.checked) continue;
      const value = keepable(control, form, words);
      if (value === null) {
        if (control.value) kept.push(control.name);
        continue;
      }
      values.push([control.name, value]);
    }
    try { store?.setItem(keyOf(form), JSON.stringify({ values, kept })); } catch { /* the store is full */ }
  };
  const forget = (key) => store?.removeItem(key);

  // The server makes the form again from what was kept, with its rows and the fields of its type.
  const remake = (form, draft) => {
    const values = { do: "restore" };
    for (const [name, value] of [...draft.values, ...draft.kept.map((name) => ["kept", name])]) {
      (values[name] ??= []).push(value);
    }
    const fresh = form.elements.namedItem("key");
    if (fresh) values.key = fresh.value;
    window.htmx.ajax("POST", form.getAttribute("action"), {
      target: form.dataset.restore, select: form.dataset.restore, swap: "outerHTML", values, source: document.body,
    });
  };
  // A form whose fields are the same for everybody is filled in.
  const fill = (form, draft) => {
    const values = new Map();
    for (const [name, value] of draft.values) values.set(name, [...(values.get(name) ?? []), value]);
    for (const control of form.elements) {
      if (!control.name || left.includes(control.name) || control.tagName === "BUTTON" || control.type === "password") continue;
      const given = values.get(control.name) ?? [];
      if (/^(checkbox|radio)$/.test(control.type)) control.checked = given.includes(control.value);
      else if (given.length) control.value = given.shift();
    }
    const note = document.createElement("div");
    note.className = "banner warn restored";
    note.setAttribute("role", "status");
    const text = document.createElement("p");
    const again = document.createElement("a");
    again.href = form.dataset.draft;
    again.dataset.forget = "";
    again.textContent = "Begin again";
    text.append("What you typed is back. ", again);
    note.append(text);
    form.prepend(note);
  };

  const begin = () => {
    const waiting = store?.getItem(sent);
    const form = draftForm();
    const status = performance.getEntriesByType("navigation")[0]?.responseStatus ?? 200;
    if (waiting && !location.pathname.startsWith("/app/sign-in") && status < 400) {
      store.removeItem(sent);
      if (!form || keyOf(form) !== waiting) forget(waiting); // it was saved
    }
    if (!form) return;
    if ("typed" in form.dataset) { keep(form); return; }
    const draft = read(keyOf(form));
    if (!draft) return;
    if (form.dataset.restore) remake(form, draft); else fill(form, draft);
  };

  let soon = 0;
  let typed = null; // the form that has changed and is not kept yet
  const keepTyped = () => {
    // A form that another type has replaced meanwhile would take the place of what is typed since.
    if (typed?.isConnected) keep(typed);
    typed = null;
  };
  const changed = (event) => {
    const form = event.target.form ?? event.target.closest?.("form");
    if (!form || !("draft" in form.dataset)) return;
    clearTimeout(soon);
    typed = form;
    soon = setTimeout(keepTyped, 150);
  };
  // Who types and leaves the page at once is faster than the timer.
  window.addEventListener("pagehide", keepTyped);
  document.addEventListener("input", changed);
  document.addEventListener("change", changed);
  document.addEventListener("htmx:afterSettle", () => {
    const form = draftForm();
    if (form && "typed" in form.dataset) keep(form);
  });
  document.addEventListener("submit", (event) => {
    const form = event.target;
    if (form.getAttribute("action") === "/app/sign-out") {
      for (const key of Object.keys(store ?? {})) if (key.startsWith(prefix)) forget(key);
      return;
    }
    if (!("draft" in form.dataset)) return;
    clearTimeout(soon);
    typed = null;
    keep(form);
    store?.setItem(sent, keyOf(form));
  });
  document.addEventListener("click", (event) => {
    const form = draftForm();
    if (!form || !event.target.closest?.("a[data-forget]")) return;
    clearTimeout(soon);
    typed = null;
    forget(keyOf(form));
  });

  // An address that is typed without a scheme gets it, and a host that is typed as an address becomes the
  // host, as the server does it. The form says so.
  const say = (input, text) => {
    const field = input.closest(".field");
    $(".made", field)?.remove();
    if (!text) return;
    const note = document.createElement("p");
    note.className = "help made";
    note.setAttribute("role", "status");
    note.textContent = text;
    field.append(note);
  };
  document.addEventListener("change", (event) => {
    const input = event.target;
    const text = input.value?.trim() ?? "";
    if (input.dataset?.scheme) {
      const bare = text.replace(/^\/\//, "");
      const host = bare.split(/[/?#]/)[0];
      const full = text && !text.includes("://") && !/[\s\\@]/.test(text) && (/[.:]/.test(host) || host === "localhost")
        ? `${input.dataset.scheme}://${bare}` : text;
      if (full !== text) input.value = full;
      say(input, full === text ? "" : `Read as ${full.split("?")[0]}`);
    }
    if (input.dataset && "host" in input.dataset) {
      let host = "";
      try { host = text.includes("://") ? new URL(text).hostname : ""; } catch { /* it stays as it is */ }
      if (host) input.value = host;
      say(input, host && `Of the address, its host ${host} is used.`);
    }
  });

  // A page that is a form begins in it, where there is a keyboard.
  const start = () => {
    if (document.activeElement !== document.body || $("[data-focus], [autofocus]") || matchMedia("(pointer: coarse)").matches) return;
    const form = draftForm() ?? $("main form.form");
    const first = form && all("input, textarea", form).find((control) =>
      !/^(hidden|checkbox|radio|submit)$/.test(control.type) && !control.disabled && control.getClientRects().length > 0);
    first?.focus({ preventScroll: true });
  };

  begin();
  start();
})();
