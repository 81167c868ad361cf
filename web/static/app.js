// What the pages do beyond reading and forms. Everything works without it.
"use strict";

(() => {
  const $ = (selector, within = document) => within.querySelector(selector);
  const all = (selector, within = document) => [...within.querySelectorAll(selector)];

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

  const prepare = (within) => { copies(within); filters(within); };
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
})();
