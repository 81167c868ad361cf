// SPDX-License-Identifier: Apache-2.0
// Draws the response times of a check, or its rate. The page says the same as text and as a table.
"use strict";

(() => {
  if (!window.uPlot) return;
  let box = null;
  let data = null;
  let plot = null;
  let held = false; // a time is being chosen: what comes meanwhile waits
  const room = 100; // for the names on the right
  const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const beside = () => box.clientWidth >= 480 && data.lines.length <= 8;
  const reader = () => document.getElementById("chart-read");

  // The top of the y axis grows in steps and never shrinks while the same time is shown.
  let top = 0;
  const ceiling = (most) => {
    const size = 10 ** Math.floor(Math.log10(Math.max(most, 1)));
    top = Math.max(top, [1, 1.5, 2, 3, 4, 6, 8, 10].map((n) => n * size).find((n) => n >= most * 1.05) ?? 10 * size);
    return top;
  };
  const most = () => Math.max(1, ...data.lines.flatMap((line) => line.values).filter((v) => v !== null));
  const rule = () => (data.rule && data.rule < 4 * most() ? data.rule : 0);
  // A value in the unit of the chart; large ones, and the axis of large ones, in the unit a thousand times as large.
  const units = { ms: "s", "Mbit/s": "Gbit/s" };
  const digits = (value) => (value >= 10 ? 0 : value >= 1 || data.unit === "ms" ? 1 : 3);
  const figure = (value, large = value >= 1000) => (large
    ? `${Number((value / 1000).toFixed(2))} ${units[data.unit]}` : `${Number(value.toFixed(digits(value)))} ${data.unit}`);

  const time = (seconds, options) => new Intl.DateTimeFormat("en-GB", { timeZone: data.zone, ...options }).format(seconds * 1000);
  const clock = { hour: "2-digit", minute: "2-digit" };
  const ticks = (u, splits) => {
    const days = data.end - data.start > 2 * 86400;
    const exact = splits.length > 1 && splits[1] - splits[0] < 60 ? { ...clock, second: "2-digit" } : clock;
    return splits.map((s) => time(s, days ? { day: "numeric", month: "short" } : exact));
  };

  // Maintenance and incidents lie under the lines, the rule over them.
  const span = (u, from, to) => {
    const { left, width } = u.bbox;
    const a = Math.min(Math.max(u.valToPos(from, "x", true), left), left + width);
    return [a, Math.min(Math.max(u.valToPos(to, "x", true), a + 3 * devicePixelRatio), left + width)];
  };
  const below = (u) => {
    const { ctx, bbox } = u;
    ctx.save();
    ctx.fillStyle = colour("--t3");
    ctx.globalAlpha = 0.14;
    for (const [from, to] of data.pauses) {
      const [a, b] = span(u, from, to);
      ctx.fillRect(a, bbox.top, b - a, bbox.height);
    }
    ctx.fillStyle = colour("--bar-down");
    for (const { from, to } of data.bands) {
      const [a, b] = span(u, from, to);
      ctx.globalAlpha = 0.15;
      ctx.fillRect(a, bbox.top, b - a, bbox.height);
      ctx.globalAlpha = 1;
      ctx.fillRect(a, bbox.top + bbox.height - 3 * devicePixelRatio, b - a, 3 * devicePixelRatio);
    }
    ctx.restore();
  };
  const above = (u) => {
    if (!rule()) return;
    const { ctx, bbox } = u;
    const y = u.valToPos(rule(), "y", true);
    ctx.save();
    ctx.strokeStyle = colour("--bar-warn");
    ctx.lineWidth = devicePixelRatio;
    ctx.setLineDash([4 * devicePixelRatio, 4 * devicePixelRatio]);
    ctx.beginPath();
    ctx.moveTo(bbox.left, y);
    ctx.lineTo(bbox.left + bbox.width, y);
    ctx.stroke();
    ctx.restore();
  };

  // Names stand at the height of their newest value, apart from each other.
  const label = (u) => {
    box.querySelector(".labels")?.remove();
    if (!beside()) return;
    const at = (value) => u.valToPos(value, "y") + u.bbox.top / devicePixelRatio;
    const rows = data.lines.map(({ name, values }, i) => {
      const value = values.findLast((v) => v !== null);
      return { name, n: (i % 3) + 1, y: value === undefined ? null : at(value) };
    }).filter((row) => row.y !== null);
    if (rule()) rows.push({ name: `rule: ${figure(rule())}`, n: 0, y: at(rule()) });
    rows.sort((a, b) => a.y - b.y);
    const list = document.createElement("ul");
    list.className = "labels";
    list.setAttribute("aria-hidden", "true");
    rows.forEach((row, i) => { if (i) row.y = Math.max(row.y, rows[i - 1].y + 16); });
    for (let i = rows.length - 1; i >= 0; i--) rows[i].y = Math.min(rows[i].y, i === rows.length - 1 ? 216 : rows[i + 1].y - 16);
    for (const row of rows) {
      const item = document.createElement("li");
      item.className = row.n ? `series-${row.n}` : "rule";
      const text = document.createElement("span");
      text.textContent = row.name;
      item.append(text);
      item.style.top = `${row.y}px`;
      list.append(item);
    }
    box.append(list);
  };

  // What a line says at a step, in words where there is no value.
  const words = (line, i) => {
    const failed = line.failed.find(([n]) => n === i);
    const value = line.values[i];
    const at = data.start + i * data.step;
    if (value === null && !failed) {
      return data.pauses.some(([from, to]) => from < at + data.step && to > at) ? "in maintenance" : "no result";
    }
    const count = failed && (failed[2] === 1 ? "failed" : `${failed[1]} of ${failed[2]} failed`);
    return [value === null ? "" : figure(value), count].filter(Boolean).join(", ");
  };
  const when = (i) => time(data.start + i * data.step, {
    ...clock, ...(data.step < 60 ? { second: "2-digit" } : {}),
    ...(data.end - data.start > 43200 ? { day: "numeric", month: "short" } : {}),
  });
  let spoken = false; // by keys: what is read is also spoken
  const bandAt = (u, left) => data.bands.find(({ from, to }) => {
    const [a, b] = span(u, from, to).map((x) => (x - u.bbox.left) / devicePixelRatio);
    return left >= a - 3 && left <= b + 3;
  });
  const read = (u) => {
    const { idx, left } = u.cursor;
    const out = reader();
    out.replaceChildren();
    u.over.classList.remove("on-band");
    if (idx === null || idx === undefined || left < 0) return;
    const head = document.createElement("b");
    head.textContent = when(idx);
    const rows = data.lines.map((line, i) => {
      const row = document.createElement("span");
      row.className = `series-${(i % 3) + 1}`;
      const text = document.createElement("span");
      text.textContent = `${line.name} ${words(line, idx)}`;
      row.append(text);
      return row;
    });
    const band = bandAt(u, left);
    u.over.classList.toggle("on-band", Boolean(band));
    if (band) {
      const row = document.createElement("span");
      row.className = "band";
      row.textContent = band.text;
      rows.push(row);
    }
    out.replaceChildren(head, ...rows);
    const x = u.bbox.left / devicePixelRatio + left;
    out.style.translate = `${Math.max(0, x + out.offsetWidth + 16 < box.clientWidth ? x + 12 : x - out.offsetWidth - 12)}px 0`;
    if (spoken) document.getElementById("said").textContent = [head, ...rows].map((row) => row.textContent).join(", ");
  };

  // Another time is another address: going back, reloading and sharing work.
  const iso = (seconds) => new Date(Math.round(seconds) * 1000).toISOString().replace(".000", "");
  let shown = location.pathname + location.search;
  let asked = null; // the request that is under way: the newest one wins
  const show = async (address, push) => {
    asked?.abort();
    const own = new AbortController();
    asked = own;
    const focused = document.activeElement;
    const inside = focused?.closest("#check-chart") && (focused.id || focused.textContent);
    try {
      const answer = await fetch(address, { headers: { Accept: "text/html" }, signal: own.signal });
      const text = await answer.text();
      if (asked !== own) return;
      const page = new DOMParser().parseFromString(text, "text/html");
      const fresh = page.getElementById("check-chart");
      if (!fresh || answer.redirected) throw new Error("another page");
      if (push) history.pushState(null, "", address);
      shown = location.pathname + location.search;
      document.getElementById("check-chart").replaceWith(document.adoptNode(fresh));
    } catch {
      if (asked === own) location.assign(address);
      return;
    }
    asked = null;
    top = 0;
    held = false;
    look();
    const links = [...document.querySelectorAll("#check-chart a")];
    if (inside) (links.find((link) => (link.id || link.textContent) === inside) ?? box ?? links[0])?.focus({ preventScroll: true });
    document.dispatchEvent(new CustomEvent("vigil:moved")); // for live.js
  };
  const zoom = (from, to) => {
    const address = new URL(location.href);
    address.hash = "";
    address.searchParams.set("from", iso(Math.max(from, data.start)));
    address.searchParams.set("to", iso(Math.min(Math.max(to, from + 1), data.end)));
    address.searchParams.delete("table");
    show(address.href, true);
  };
  const reset = () => { if (data.reset) show(new URL(data.reset, location.href).href, true); };

  const scale = (u, splits) => splits.map((value) => figure(value, top >= 2000));
  const axis = { stroke: () => colour("--t3"), font: `11px ${getComputedStyle(document.body).fontFamily}`, ticks: { show: false } };
  const times = () => data.lines[0].values.map((_, i) => data.start + i * data.step);
  const columns = () => [times(), ...data.lines.map((line) => line.values)];
  // Few results are points; of many only those that no line joins.
  const few = (values) => values.filter((v) => v !== null).length <= 5;
  const points = (u, n) => {
    const values = u.data[n];
    const alone = (i) => (values[i - 1] ?? null) === null && (values[i + 1] ?? null) === null;
    return values.flatMap((v, i) => (v !== null && (few(values) || alone(i)) ? [i] : []));
  };
  const draw = () => {
    const width = Math.max(200, box.clientWidth - (beside() ? room : 0));
    box.replaceChildren();
    const line = uPlot.paths.linear();
    const made = new uPlot({
      width, height: 230, legend: { show: false }, padding: [8, 4, 0, 0],
      cursor: {
        y: false, points: { size: 7 }, drag: { x: true, y: false, setScale: false },
        bind: { dblclick: () => () => { reset(); return null; } },
      },
      tzDate: (seconds) => uPlot.tzDate(new Date(seconds * 1000), data.zone),
      scales: { x: { range: () => [data.start, data.end] }, y: { range: () => [0, ceiling(Math.max(most(), rule()))] } },
      axes: [
        { ...axis, grid: { show: false }, values: ticks, space: 70, size: 28 },
        { ...axis, grid: { stroke: () => colour("--line"), width: 1 }, values: scale, space: 44, size: 56 },
      ],
      series: [{}, ...data.lines.map(({ name }, i) => ({
        label: name, stroke: () => colour(`--series-${(i % 3) + 1}`), width: 1.5, dash: i > 2 ? [5, 4] : undefined, spanGaps: false,
        points: { show: true, size: 5, filter: points }, paths: (u, n, a, b) => (few(u.data[n]) ? null : line(u, n, a, b)),
      }))],
      hooks: { drawClear: [below], draw: [above], ready: [label], setCursor: [read], setSelect: [chosen] },
    }, columns(), box);
    const { over } = made;
    over.addEventListener("mousedown", () => { held = true; spoken = false; });
    over.addEventListener("mousemove", () => { spoken = false; });
    over.addEventListener("click", () => {
      const band = !dragged && bandAt(made, made.cursor.left);
      if (band) location.assign(band.href);
    });
    // A finger that moves to the side reads the values; the page scrolls up and down as ever.
    for (const name of ["pointerdown", "pointermove"]) {
      over.addEventListener(name, (event) => {
        if (event.pointerType !== "touch") return;
        const { left, top: y } = over.getBoundingClientRect();
        spoken = false;
        made.setCursor({ left: event.clientX - left, top: event.clientY - y });
      });
    }
    return made;
  };
  let dragged = false;
  const chosen = (u) => {
    const { left, width } = u.select;
    dragged = width > 4;
    if (!dragged || anchor !== null) return;
    zoom(u.posToVal(left, "x"), u.posToVal(left + width, "x"));
  };
  addEventListener("mouseup", () => {
    if (!held || anchor !== null) return;
    setTimeout(() => { dragged = false; held = false; look(); });
  });

  // Keys, while the chart has the focus.
  let anchor = null; // where a choice by keys began
  const move = (i, choosing) => {
    const last = data.lines[0].values.length - 1;
    const at = Math.min(Math.max(i, 0), last);
    if (choosing) anchor ??= plot.cursor.idx ?? at;
    else anchor = null;
    held = anchor !== null;
    spoken = true;
    const x = (n) => plot.valToPos(data.start + n * data.step, "x");
    plot.setCursor({ left: x(at), top: 20 });
    const [a, b] = anchor === null ? [0, 0] : [Math.min(anchor, at), Math.max(anchor, at) + 1];
    plot.setSelect({ left: x(a), width: anchor === null ? 0 : x(b) - x(a), top: 0, height: plot.bbox.height / devicePixelRatio }, false);
  };
  const key = (event) => {
    if (!plot || event.ctrlKey || event.metaKey || event.altKey) return;
    const last = data.lines[0].values.length - 1;
    const at = plot.cursor.left >= 0 ? plot.cursor.idx : null;
    const to = {
      ArrowLeft: (at ?? last + 1) - 1, ArrowRight: (at ?? -1) + 1, PageUp: (at ?? last) - 10, PageDown: (at ?? 0) + 10, Home: 0, End: last,
    };
    if (event.key in to) move(to[event.key], event.shiftKey);
    else if (event.key === "Enter" && at !== null) {
      const near = Math.ceil(last / 20);
      const [a, b] = anchor === null ? [at - near, at + near] : [Math.min(anchor, at), Math.max(anchor, at)];
      anchor = null;
      zoom(data.start + a * data.step, data.start + (b + 1) * data.step);
    } else if (event.key === "Escape" && anchor !== null) move(at, false);
    else if (event.key === "Escape" && data.reset) reset();
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  const leave = () => {
    anchor = null;
    held = false;
    spoken = false;
    plot?.setCursor({ left: -10, top: -10 });
  };

  // The data change while the page is open, and the first ones come with the first results.
  let drawn = "";
  let width = 0;
  const resized = new ResizeObserver(() => {
    if (!box || box.clientWidth === width) return;
    plot?.destroy();
    width = box.clientWidth;
    plot = draw();
  });
  const names = () => JSON.stringify([data.lines.map((line) => line.name), beside()]);
  let named = "";
  const look = () => {
    const found = document.querySelector("[data-chart]");
    if (!found) { plot?.destroy(); plot = null; box = null; return; }
    if (held || (found === box && found.dataset.chart === drawn)) return;
    const same = found === box;
    if (!same) {
      resized.disconnect();
      found.addEventListener("keydown", key);
      found.addEventListener("blur", leave);
    }
    box = found;
    drawn = box.dataset.chart;
    data = JSON.parse(drawn);
    if (same && plot && names() === named) { // a cursor stays at its place
      const { left, top: y } = plot.cursor;
      plot.batch(() => plot.setData(columns()));
      label(plot);
      if (left >= 0) plot.setCursor({ left, top: y });
      return;
    }
    named = names();
    plot?.destroy();
    width = box.clientWidth;
    plot = draw();
    resized.observe(found);
  };
  look();
  document.addEventListener("vigil:changed", look);
  document.addEventListener("click", (event) => {
    const link = event.target.closest?.("#check-chart .chart-tools a, #chart-reset, .chart-more a");
    if (!link || event.button || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    show(link.href, true);
  });
  addEventListener("popstate", () => { if (location.pathname + location.search !== shown) show(location.href, false); });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => plot?.redraw());
})();
