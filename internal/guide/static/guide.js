// SPDX-License-Identifier: Apache-2.0
// The search. It asks for the index when somebody begins to search, and compares words in the browser.
(() => {
  "use strict";
  const field = document.getElementById("q");
  const found = document.getElementById("found");
  const root = document.body.dataset.root;
  const most = 12;
  let index = null;

  // plain makes VIGIL_SECRET_KEY and "secret key" alike, at the same length.
  function plain(text) {
    return text.toLowerCase().replaceAll("_", " ");
  }

  // load reads the index once; a failure is tried again with the next letter.
  function load() {
    index ??= fetch(root + "search.json")
      .then((answer) => (answer.ok ? answer.json() : Promise.reject(new Error(String(answer.status)))))
      .then((sections) => sections.map((s) => ({ ...s, page: plain(s.p), head: plain(s.h || ""), text: plain(s.t) })))
      .catch((error) => {
        index = null;
        throw error;
      });
    return index;
  }

  // score says how well a section has all words; 0 when it lacks one.
  function score(section, words) {
    let sum = 0;
    for (const word of words) {
      let of = 0;
      if (section.head.includes(word)) of += 20;
      if (section.page.includes(word)) of += section.h ? 6 : 16;
      const at = section.text.indexOf(word);
      if (at >= 0) of += /\w/.test(section.text[at - 1] || " ") ? 2 : 4;
      if (of === 0) return 0;
      sum += of;
    }
    const phrase = words.join(" ");
    if (words.length > 1 && section.head.includes(phrase)) sum += 20;
    if (words.length > 1 && section.text.includes(phrase)) sum += 12;
    return section.u.startsWith("adr/") ? sum / 2 : sum; // a decision explains, a page says how
  }

  function element(name, text, className) {
    const made = document.createElement(name);
    if (text) made.textContent = text;
    if (className) made.className = className;
    return made;
  }

  // excerpt shows the words around the first one that was found, and marks it.
  function excerpt(section, words) {
    const out = element("span", "", "excerpt");
    const phrase = words.join(" ");
    const marks = section.text.includes(phrase) ? [phrase] : words;
    const places = marks.map((word) => section.text.indexOf(word)).filter((at) => at >= 0);
    const at = places.length ? Math.min(...places) : 0;
    const from = Math.max(0, section.t.lastIndexOf(" ", Math.max(0, at - 40)));
    const part = section.t.slice(from, from + 160);
    const word = marks.find((w) => section.text.startsWith(w, at)) || "";
    const begin = at - from;
    if (!word || begin < 0) {
      out.textContent = part;
      return out;
    }
    out.append((from > 0 ? "…" : "") + part.slice(0, begin), element("mark", part.slice(begin, begin + word.length)));
    out.append(part.slice(begin + word.length) + (from + part.length < section.t.length ? "…" : ""));
    return out;
  }

  function show(sections, words) {
    found.replaceChildren();
    const best = sections.map((section) => ({ section, sum: score(section, words) })).filter((hit) => hit.sum > 0);
    best.sort((a, b) => b.sum - a.sum);
    for (const { section } of best.slice(0, most)) {
      const link = element("a");
      link.href = root + section.u;
      link.append(element("b", section.h || section.p));
      if (section.h) link.append(element("small", section.p));
      link.append(excerpt(section, words));
      found.append(link);
    }
    if (best.length === 0) found.append(element("p", "Nothing has all of these words."));
    if (best.length > most) found.append(element("p", `${best.length - most} more; another word makes the list shorter.`));
    found.hidden = false;
  }

  async function search() {
    const text = field.value;
    const words = plain(text).split(/\s+/).filter(Boolean).slice(0, 8);
    if (words.length === 0 || words.join("").length < 2) {
      found.hidden = true;
      return;
    }
    try {
      const sections = await load();
      if (field.value === text) show(sections, words);
    } catch {
      found.replaceChildren(element("p", "The index of the search could not be loaded."));
      found.hidden = false;
    }
  }

  function close() {
    found.hidden = true;
  }

  field.addEventListener("focus", () => load().catch(() => {}), { once: true });
  field.addEventListener("input", search);
  field.form.addEventListener("submit", (event) => {
    event.preventDefault();
    found.querySelector("a")?.click();
  });
  field.form.addEventListener("keydown", (event) => {
    const links = [field, ...found.querySelectorAll("a")];
    const at = links.indexOf(document.activeElement);
    if (event.key === "Escape") {
      field.focus();
      close();
    } else if ((event.key === "ArrowDown" || event.key === "ArrowUp") && !found.hidden) {
      event.preventDefault();
      links[(at + (event.key === "ArrowDown" ? 1 : links.length - 1)) % links.length].focus();
    }
  });
  document.addEventListener("click", (event) => {
    if (!field.form.contains(event.target)) close();
  });
  found.addEventListener("click", (event) => {
    if (event.target.closest("a")) close();
  });
  document.addEventListener("keydown", (event) => {
    const typing = event.target.closest?.("input, textarea, select");
    if (event.key === "/" && !typing && !event.ctrlKey && !event.metaKey && !event.altKey) {
      event.preventDefault();
      field.focus();
    }
  });
  const asked = new URLSearchParams(location.search).get("q");
  if (asked) {
    field.value = asked.slice(0, 100);
    search();
  }
})();
