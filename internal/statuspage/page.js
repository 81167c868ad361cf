// SPDX-License-Identifier: Apache-2.0
// The bars answer to a pointer, a tap and the arrow keys with a day's date, uptime and incidents.
// Without this script the same is in the list below each of them.
"use strict";
{
  const last = 89, first = Date.parse(document.body.dataset.first);
  const nameOf = (day) => new Date(first + day * 864e5).toLocaleDateString("en-GB", { day: "numeric", month: "long", timeZone: "UTC" });
  for (const days of document.querySelectorAll(".days")) {
    const told = new Map();
    for (const item of days.parentNode.querySelectorAll("[data-day]")) told.set(Number(item.dataset.day), item);
    const none = new Set();
    for (const span of days.dataset.none.split(" ").filter(Boolean)) {
      const [from, to = from] = span.split("-").map(Number);
      for (let day = from; day <= to; day++) none.add(day);
    }
    const at = document.createElement("span"), tip = document.createElement("div");
    at.className = "at";
    tip.className = "tip";
    at.hidden = tip.hidden = true;
    days.append(at, tip);
    days.firstElementChild.removeAttribute("role");
    const label = days.firstElementChild.getAttribute("aria-label");
    days.firstElementChild.removeAttribute("aria-label");
    days.firstElementChild.setAttribute("aria-hidden", "true");
    const keys = document.createElement("div");
    keys.className = "keys";
    keys.tabIndex = 0;
    const set = (name, value) => keys.setAttribute(name, value);
    set("role", "slider");
    set("aria-label", days.dataset.name + ", day by day: " + label);
    set("aria-valuemin", 0);
    set("aria-valuemax", last);
    days.insertBefore(keys, at);
    let now = last;
    const say = () => {
      tip.replaceChildren();
      if (told.has(now)) {
        for (const node of told.get(now).childNodes) tip.append(node.cloneNode(true));
      } else {
        const name = document.createElement("b");
        name.textContent = nameOf(now);
        tip.append(name, none.has(now) ? "No data" : "100 % up, no incident");
      }
      set("aria-valuenow", now);
      set("aria-valuetext", tip.innerText || tip.textContent);
    };
    const hide = () => { at.hidden = tip.hidden = true; };
    const show = (day) => {
      now = Math.min(last, Math.max(0, day));
      at.hidden = tip.hidden = false;
      say();
      const share = 100 / (last + 1), width = tip.offsetWidth; // in percent: the window may become narrower
      at.style.left = `calc(${now * share}% - 2px)`;
      at.style.width = `calc(${share * 5 / 7}% + 4px)`;
      tip.style.left = `max(0px, min(100% - ${width}px, ${(now + 0.5) * share}% - ${width / 2}px))`;
    };
    const dayAt = (event) => Math.floor((event.clientX - days.getBoundingClientRect().left) / days.clientWidth * (last + 1));
    say();
    keys.addEventListener("pointermove", (event) => { if (event.pointerType === "mouse") show(dayAt(event)); });
    keys.addEventListener("click", (event) => { if (event.detail) show(dayAt(event)); });
    days.addEventListener("pointerleave", (event) => {
      if (event.pointerType === "mouse" && !days.contains(document.activeElement)) hide();
    });
    keys.addEventListener("focus", () => show(now));
    days.addEventListener("focusout", (event) => { if (!days.contains(event.relatedTarget)) hide(); });
    days.addEventListener("keydown", (event) => {
      if (event.key === "Escape") return hide();
      const to = {
        ArrowLeft: now - 1, ArrowDown: now - 1, ArrowRight: now + 1, ArrowUp: now + 1, PageDown: now - 7, PageUp: now + 7,
        Home: 0, End: last,
      }[event.key];
      if (to === undefined || event.target !== keys) return;
      event.preventDefault();
      show(to);
    });
    document.addEventListener("pointerdown", (event) => { if (!days.contains(event.target)) hide(); });
  }
}
