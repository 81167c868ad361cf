// What the pages do beyond reading and forms. Everything works without it.
"use strict";

(() => {
  const $ = (selector, within = document) => within.querySelector(selector);
  const all = (selector, within = document) => [...within.querySelectorAll(selector)];

  // Copy buttons copy the text of the code beside them, or of the element they name.
  for (const button of all("[data-copy]")) {
    button.hidden = !navigator.clipboard;
    button.addEventListener("click", async () => {
      const from = button.dataset.copy ? $(button.dataset.copy) : button.parentElement.querySelector("pre, input");
      await navigator.clipboard.writeText(from.value ?? from.textContent);
      button.textContent = "Copied";
      setTimeout(() => { button.textContent = "Copy"; }, 2000);
    });
  }

  // A summary of errors gets the focus, so that it is read first.
  $("[data-focus]")?.focus();
})();
