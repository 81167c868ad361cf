// SPDX-License-Identifier: Apache-2.0
// Draws the response times of a check. The page says the same as text and as a table.
"use strict";

(() => {
  if (!window.uPlot) return;
  let box = null;
  let data = null;
  const room = 100; // for the names on the right
  const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const narrow = () => box.clientWidth < 480;

  // The top of the y axis grows in steps and never shrinks while the page is open.
  let top = 0;
  const ceiling = (most) => {
    const size = 10 ** Math.floor(Math.log10(Math.max(most, 1)));
    top = Math.max(top, [1, 1.5, 2, 3, 4, 6, 8, 10].map((n) => n * size).find((n) => n >= most * 1.05) ?? 10 * size);
    return top;
  };
  const most = () => Math.max(1, ...data.values.flat().filter((v) => v !== null));
  const rule = () => (data.rule && data.rule < 4 * most() ? data.rule : 0);

  // Bands of incidents lie under the lines, the rule over them.
  const below = (u) => {
    const { ctx, bbox } = u;
    ctx.save();
    for (const [from, to] of data.bands) {
      const a = Math.max(u.valToPos(from, "x", true), bbox.left);
      const b = Math.min(Math.max(u.valToPos(to, "x", true), a + 3 * devicePixelRatio), bbox.left + bbox.width);
      ctx.fillStyle = colour("--bar-down");
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
    if (narrow()) return;
    const rows = data.names.map((name, i) => {
      const value = data.values[i].findLast((v) => v !== null);
      return { name, n: (i % 3) + 1, y: value === undefined ? null : u.valToPos(value, "y") + u.bbox.top / devicePixelRatio };
    }).filter((row) => row.y !== null);
    if (rule()) rows.push({ name: `rule: ${rule()} ms`, n: 0, y: u.valToPos(rule(), "y") + u.bbox.top / devicePixelRatio });
    rows.sort((a, b) => a.y - b.y);
    const list = document.createElement("ul");
    list.className = "labels";
    list.setAttribute("aria-hidden", "true");
    const lowest = 216;
    rows.forEach((row, i) => { if (i) row.y = Math.max(row.y, rows[i - 1].y + 16); });
    for (let i = rows.length - 1; i >= 0; i--) rows[i].y = Math.min(rows[i].y, i === rows.length - 1 ? lowest : rows[i + 1].y - 16);
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

  const time = (seconds, options) => new Intl.DateTimeFormat("en-GB", { timeZone: data.zone, ...options }).format(seconds * 1000);
  const ticks = (u, splits) => splits.map((s) => (data.step >= 3600
    ? time(s, { day: "numeric", month: "short" }) : time(s, { hour: "2-digit", minute: "2-digit" })));
  const axis = { stroke: () => colour("--t3"), font: `11px ${getComputedStyle(document.body).fontFamily}`, ticks: { show: false } };

  const draw = () => {
    const width = Math.max(200, box.clientWidth - (narrow() ? 0 : room));
    box.replaceChildren();
    const plot = new uPlot({
      width, height: 230, legend: { show: false }, cursor: { show: false }, padding: [8, 4, 0, 0],
      tzDate: (seconds) => uPlot.tzDate(new Date(seconds * 1000), data.zone),
      scales: { y: { range: () => [0, ceiling(Math.max(most(), rule()))] } },
      axes: [
        { ...axis, grid: { show: false }, values: ticks, space: 70, size: 28 },
        { ...axis, grid: { stroke: () => colour("--line"), width: 1 }, space: 44, size: 40 },
      ],
      series: [{}, ...data.names.map((name, i) => ({
        label: name, stroke: () => colour(`--series-${(i % 3) + 1}`), width: 1.5, dash: i > 2 ? [5, 4] : undefined,
        points: { show: false }, spanGaps: false,
      }))],
      hooks: { drawClear: [below], draw: [above], ready: [label] },
    }, [data.times, ...data.values], box);
    return plot;
  };

  // The data change while the page is open, and the first ones come with the first results.
  let plot = null;
  let drawn = "";
  let width = 0;
  const again = () => {
    plot?.destroy();
    width = box.clientWidth;
    plot = draw();
  };
  const resized = new ResizeObserver(() => { if (box.clientWidth !== width) again(); });
  const read = () => {
    const found = document.querySelector("[data-chart]");
    if (!found || (found === box && found.dataset.chart === drawn)) return;
    if (found !== box) {
      resized.disconnect();
      resized.observe(found);
    }
    box = found;
    drawn = box.dataset.chart;
    data = JSON.parse(drawn);
    again();
  };
  read();
  document.addEventListener("vigil:changed", read);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => plot?.redraw());
})();
