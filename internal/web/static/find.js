// SPDX-License-Identifier: Apache-2.0
// The palette: a dialog over the page /app/find, which does the same without it.
"use strict";

(() => {
  const wait = 120; // milliseconds after a key
  let dialog = null;
  let input = null;
  let asked = null; // the request that is under way
  let timer = 0;

  const list = () => dialog.querySelector("[role=listbox]");
  const options = () => [...dialog.querySelectorAll("[role=option]")];
  const chosen = () => dialog.querySelector('[aria-selected="true"]');
  const choose = (option) => {
    for (const each of options()) each.setAttribute("aria-selected", String(each === option));
    if (option) input.setAttribute("aria-activedescendant", option.id);
    else input.removeAttribute("aria-activedescendant");
    option?.scrollIntoView({ block: "nearest" });
  };

  let going = Promise.resolve(); // until the list is that of what is typed
  const ask = () => { going = read(); };
  const read = async () => {
    clearTimeout(timer);
    timer = 0;
    asked?.abort();
    const own = new AbortController();
    asked = own;
    const back = location.pathname + location.search;
    try {
      const answer = await fetch(`/app/find?${new URLSearchParams({ query: input.value, back })}`, {
        headers: { "HX-Request": "true" }, signal: own.signal,
      });
      const text = await answer.text();
      if (asked !== own) return;
      const fresh = new DOMParser().parseFromString(text, "text/html").querySelector("[role=listbox]");
      if (!answer.ok || !fresh) throw new Error("no list");
      list().replaceWith(document.adoptNode(fresh));
      input.setAttribute("aria-expanded", String(options().length > 0));
      dialog.querySelector("[role=status]").textContent = fresh.dataset.said;
      choose(options()[0]);
    } catch (error) {
      if (error.name === "AbortError" || asked !== own) return;
      list().replaceChildren();
      choose(null);
      dialog.querySelector("[role=status]").textContent = "The search did not work. Try again.";
    }
  };

  // What is chosen is opened, or posted as the form of the page is.
  const run = (option) => {
    if (!option) return;
    const { href, action, fields } = option.dataset;
    if (!action) {
      location.href = href;
      return;
    }
    const form = document.createElement("form");
    form.method = "post";
    form.action = action;
    for (const [name, value] of new URLSearchParams(fields)) {
      const field = document.createElement("input");
      field.type = "hidden";
      field.name = name;
      field.value = value;
      form.append(field);
    }
    document.body.append(form);
    form.submit();
  };

  const make = () => {
    dialog = document.createElement("dialog");
    dialog.className = "palette";
    dialog.setAttribute("aria-label", "Find or do");
    dialog.innerHTML = `<input type="text" role="combobox" aria-expanded="false" aria-controls="palette-list" aria-autocomplete="list"
      aria-label="Find or do" maxlength="200" autocomplete="off" autocapitalize="off" spellcheck="false"
      placeholder="Checkout, pause checkout, new tcp"><ul role="listbox" id="palette-list" aria-label="Results"></ul>
      <p class="t3" role="status"></p><button class="small" type="button">Close</button>`;
    document.body.append(dialog);
    input = dialog.querySelector("input");
    input.addEventListener("input", () => { clearTimeout(timer); timer = setTimeout(ask, wait); });
    dialog.querySelector("button").addEventListener("click", () => dialog.close());
    dialog.addEventListener("click", (event) => {
      if (event.target === dialog) dialog.close();
      else run(event.target.closest("[role=option]"));
    });
    dialog.addEventListener("close", () => { clearTimeout(timer); asked?.abort(); asked = null; });
    input.addEventListener("keydown", async (event) => {
      const all = options();
      const at = all.indexOf(chosen());
      const to = { ArrowDown: (at + 1) % all.length, ArrowUp: (at <= 0 ? all.length : at) - 1 }[event.key];
      if (to !== undefined) {
        event.preventDefault();
        choose(all[to]);
      } else if (event.key === "Enter" && !event.isComposing) {
        event.preventDefault();
        if (timer) ask(); // what is typed, and not what was found before
        await going;
        if (dialog.open) run(chosen());
      }
    });
  };
  const open = () => {
    if (!dialog) make();
    if (dialog.open) { dialog.close(); return; }
    if (document.querySelector("dialog[open]")) return;
    dialog.showModal();
    input.focus();
    input.select();
    ask();
  };

  document.addEventListener("keydown", (event) => {
    if (event.key.toLowerCase() !== "k" || !(event.ctrlKey || event.metaKey) || event.shiftKey || event.altKey) return;
    event.preventDefault();
    open();
  });
  document.addEventListener("click", (event) => {
    if (!event.target.closest?.("[data-palette]") || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    open();
  });
})();
