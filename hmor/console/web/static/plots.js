// Panes of signals over time and over each other. Every bucket is drawn as its extremes; what is not a number is a gap with a red mark.

import {make} from "/rows.js";

const SERIES = 6, KEEP = 3600;
const DASHES = [[], [7, 3], [2, 2], [9, 3, 2, 3], [4, 4], [1, 3]];
const PREFIXES = [[1e9, "G"], [1e6, "M"], [1e3, "k"], [1, ""], [1e-3, "m"], [1e-6, "\u00b5"], [1e-9, "n"]];
const PREFIXED = new Set(["m", "m/s", "m/s2", "N", "Nm", "N m", "J", "Pa", "W", "V", "A", "rad", "rad/s", "s", "Hz"]);

/** How values up to `most` of a unit are written: divided by `factor`, with so many decimals, in `unit`. */
export function scale(unit, most) {
  const size = most > 0 && Number.isFinite(most) ? most : 1;
  const [factor, prefix] = PREFIXED.has(unit) ? PREFIXES.find(([f]) => size >= f) ?? PREFIXES.at(-1) : [1, ""];
  const decimals = Math.min(6, Math.max(0, 3 - Math.floor(Math.log10(size / factor))));
  const plain = size / factor < 1e6 && size / factor >= 1e-4;
  const text = v => (plain ? (v / factor).toFixed(decimals) : (v / factor).toExponential(2)).replace(/^-(0\.?0*)$/, "$1");
  return {factor, unit: prefix + unit, text, axis: v => String(+(v / factor).toPrecision(4))};
}

/** Round numbers between a and b, about n of them. */
export function ticks(a, b, n) {
  const rough = (b - a) / n, power = 10 ** Math.floor(Math.log10(rough)), step = [1, 2, 5, 10].find(s => s * power >= rough) * power, found = [];
  for (let k = Math.ceil(a / step); k * step <= b; k++) found.push(k * step);
  return found;
}

/** The newest buckets of every signal, oldest first; undefined is not known, nan or null was no number. */
export class Store {
  constructor(names) { this.names = names; this.clear(); }
  clear() { this.t = []; this.low = this.names.map(() => []); this.high = this.names.map(() => []); this.version = 0; }
  add({buckets, first, length, signals, values}) {
    for (let b = 0; b < buckets; b++) {
      this.t.push(first + b * length);
      for (let s = 0; s < signals; s++) {
        this.low[s].push(values[2 * (b * signals + s)]);
        this.high[s].push(values[2 * (b * signals + s) + 1]);
      }
    }
    const over = this.t.length - KEEP;
    if (over > 600) for (const column of [this.t, ...this.low, ...this.high]) column.splice(0, over);
    this.version++;
  }
  /** Puts what is on disk in front of what came over the wire. */
  prepend(names, {t, low, high}) {
    let n = t.length;
    while (n > 0 && this.t.length && t[n - 1] >= this.t[0]) n--;
    const front = (column, found) => [...(found ?? Array(n)).slice(0, n), ...column];
    this.t = front(this.t, t);
    this.names.forEach((name, s) => { const i = names.indexOf(name); this.low[s] = front(this.low[s], low[i]); this.high[s] = front(this.high[s], high[i]); });
    this.version++;
  }
  set(names, found) { this.clear(); this.prepend(names, found); }
}

export class Panes {
  constructor(box, store, units, changed) {
    Object.assign(this, {box, store, units, changed, list: [], events: [], mark: null, span: 20, paused: false, until: null, drawn: 0, cost: 0});
    this.recolour();
    this.sizes = new ResizeObserver(() => this.resize());
    this.sizes.observe(box);
    const draw = now => {
      if (this.over) return;
      requestAnimationFrame(draw);
      if (document.hidden || this.paused || now - this.drawn < Math.max(32, 4 * this.cost)) return;  // a quarter of the time at most
      this.drawn = now;
      const before = performance.now();
      this.draw();
      this.cost = performance.now() - before;
    };
    requestAnimationFrame(draw);
  }
  close() { this.over = true; this.sizes.disconnect(); for (const pane of this.list) pane.plot?.destroy(); }
  recolour() {
    const style = getComputedStyle(document.documentElement), of = name => style.getPropertyValue(name).trim();
    this.colours = {ink: of("--ink"), soft: of("--soft"), line: of("--line"), red: of("--red"), purple: of("--purple"), series: Array.from({length: SERIES}, (_, i) => of(`--s${i + 1}`))};
  }
  layout() { return this.list.map(({kind, signals}) => ({kind, signals})); }
  load(layout) { this.list = []; this.box.replaceChildren(); layout.forEach(one => this.add(one.kind, one.signals)); }
  add(kind, signals) {
    const pane = {kind, signals: signals.filter(name => this.store.names.includes(name)), zoomed: false};
    pane.legend = make("div", {className: "legend"});
    pane.choice = make("div", {className: "choice"});
    const remove = make("button", {type: "button", textContent: "Remove this plot"});
    remove.onclick = () => { this.list.splice(this.list.indexOf(pane), 1); pane.plot?.destroy(); pane.root.remove(); this.changed(); };
    const summary = make("summary", {textContent: "\u2630", title: "Signals of this plot", ariaLabel: "Signals of this plot"});
    const details = make("details", {}, summary, pane.choice);
    pane.area = kind === "xy" ? make("canvas", {className: "xy"}) : make("div", {className: "plot"});
    pane.area.setAttribute("role", "img");
    pane.root = make("div", {className: "pane"}, make("div", {className: "top"}, pane.legend, details), pane.area);
    pane.choice.append(remove, ...this.store.names.map(name => {
      const box = make("input", {type: "checkbox", checked: pane.signals.includes(name)});
      box.onchange = () => {
        pane.signals = box.checked ? [...pane.signals, name] : pane.signals.filter(other => other !== name);
        this.rebuild(pane);
        this.changed();
      };
      return make("label", {}, box, " " + name);
    }));
    this.box.append(pane.root);
    this.list.push(pane);
    this.rebuild(pane);
  }
  rebuild(pane) {
    const shown = pane.kind === "xy" ? pane.signals.slice(0, 2) : pane.signals;
    pane.area.setAttribute("aria-label", (pane.kind === "xy" ? [...shown].reverse().join(" over ") : shown.join(", ") + " over time") || "empty plot");
    pane.entries = shown.map((name, i) => {
      const value = make("b"), unit = make("u"), line = make("i");
      line.style.background = pane.kind === "xy" ? "transparent" : `var(--s${i % SERIES + 1})`;
      line.hidden = pane.kind === "xy";
      return {value, unit, row: make("span", {}, line, (pane.kind === "xy" ? ["x ", "y "][i] : "") + name + " ", value, " ", unit)};
    });
    pane.legend.replaceChildren(...pane.entries.map(entry => entry.row));
    if (!shown.length) pane.legend.replaceChildren(make("span", {textContent: "choose signals"}));
    pane.scales = shown.map(name => scale(this.units[name], 0));
    pane.plot?.destroy();
    pane.plot = null;
    pane.version = -1;
    if (pane.kind === "xy" || !shown.length) return;
    const axis = () => ({stroke: () => this.colours.soft, grid: {stroke: () => this.colours.line, width: 1}, ticks: {show: false}, font: "13px system-ui, sans-serif"});
    const alike = new Set(shown.map(name => this.units[name])).size === 1;
    pane.plot = new uPlot({
      width: pane.area.clientWidth || 400, height: pane.area.clientHeight || 190, padding: [8, 18, 0, 0],
      scales: {x: {time: false}},
      cursor: {sync: {key: "desk"}, drag: {x: true, y: false}},
      axes: [{...axis(), size: 28, values: (_, at) => at.map((t, i) => i === at.length - 1 ? `${t} s` : t)},
             {...axis(), size: 54, values: (_, at) => at.map(v => alike ? pane.scales[0].axis(v) : String(+v.toPrecision(4)))}],
      series: [{}, ...shown.map((name, i) => ({label: name, stroke: () => this.colours.series[i % SERIES], width: 1.8, dash: DASHES[i % DASHES.length], spanGaps: false, points: {show: false}}))],
      hooks: {
        setSelect: [plot => { if (plot.select.width > 4) pane.zoomed = true; }],
        draw: [plot => this.marks(plot, pane)],
        setCursor: [plot => { if (plot.cursor.idx != null) this.legend(pane, plot.cursor.idx); }],
      },
    }, [[], ...shown.map(() => [])], pane.area);
    const over = pane.plot.over;
    over.ondblclick = () => { pane.zoomed = false; pane.version = -1; this.setMark(null); };
    let down = null;
    over.addEventListener("mousedown", event => { down = event.clientX; });
    over.addEventListener("click", event => { if (Math.abs(event.clientX - down) < 3) this.setMark(pane.plot.posToVal(event.clientX - over.getBoundingClientRect().left, "x")); });
  }
  /** The second cursor: the legends show the difference from it, and a note is about its time. */
  setMark(t) { this.mark = t; for (const pane of this.list) pane.version = -1; this.draw(); }
  legend(pane, i) {
    const at = pane.plot.data[0], k = this.mark == null ? -1 : at.findIndex(t => t >= this.mark);
    pane.entries.forEach(({value, unit}, s) => {
      const y = pane.plot.data[s + 1][i], from = k >= 0 ? pane.plot.data[s + 1][k] : null, scaled = pane.scales[s];
      value.textContent = y == null ? (y === null ? "no number" : "") : from == null ? scaled.text(y) : "\u0394 " + scaled.text(y - from);
      unit.textContent = scaled.unit;
    });
  }
  marks(plot, pane) {
    const {ctx, bbox} = plot, line = (t, colour, dash, height) => {
      const x = Math.round(plot.valToPos(t, "x", true));
      if (x < bbox.left || x > bbox.left + bbox.width) return;
      ctx.strokeStyle = colour; ctx.lineWidth = 1.5 * devicePixelRatio; ctx.setLineDash(dash); ctx.beginPath(); ctx.moveTo(x, bbox.top); ctx.lineTo(x, bbox.top + height); ctx.stroke();
    };
    ctx.save();
    for (const [t, broke] of this.events) line(t, broke ? this.colours.red : this.colours.purple, [2, 3], bbox.height);
    if (this.mark != null) line(this.mark, this.colours.ink, [6, 4], bbox.height);
    ctx.fillStyle = this.colours.red;
    for (const t of pane.broken ?? []) {
      const x = plot.valToPos(t, "x", true);
      if (x >= bbox.left && x <= bbox.left + bbox.width) ctx.fillRect(x - 1, bbox.top, 3, 14);
    }
    ctx.restore();
  }
  resize() { for (const pane of this.list) if (pane.plot) pane.plot.setSize({width: pane.area.clientWidth, height: pane.area.clientHeight}); else pane.version = -1; }
  pause(yes) { this.paused = yes; }
  all() { for (const pane of this.list) { pane.zoomed = false; pane.version = -1; } this.draw(); }
  /** Indices of the part of the store that is shown. */
  part() {
    const t = this.store.t, end = this.until ?? t[t.length - 1] ?? 0;
    let to = t.length;
    while (this.until != null && to > 0 && t[to - 1] > end) to--;
    let from = to;
    while (from > 0 && t[from - 1] >= end - this.span) from--;
    return [from, to, end];
  }
  draw() {
    const [from, to, end] = this.part();
    for (const pane of this.list) {
      const box = pane.root.getBoundingClientRect();
      if (pane.version === this.store.version + to || box.bottom < 0 || box.top > innerHeight) continue;
      pane.version = this.store.version + to;
      if (pane.kind === "xy") this.drawXy(pane, from, to);
      else if (pane.plot) this.drawTime(pane, from, to, end);
    }
    this.newest = this.store.t[to - 1];
  }
  drawTime(pane, from, to, end) {
    const {t, low, high} = this.store, columns = pane.signals.map(name => this.store.names.indexOf(name));
    const stride = Math.max(1, Math.ceil((to - from) / Math.max(200, pane.area.clientWidth)));
    const x = [], ys = columns.map(() => []), most = columns.map(() => 0);
    pane.broken = [];
    for (let i = from - from % stride; i < to; i += stride) {  // buckets of a stride stay the same while the picture moves
      const last = Math.min(i + stride, to);
      x.push(t[i], (t[i] + t[last - 1]) / 2 + 1e-9);
      columns.forEach((c, s) => {
        let a = Infinity, b = -Infinity, bad = false, known = true;
        for (let k = i; k < last; k++) { const l = low[c][k], h = high[c][k]; if (l === undefined) known = false; else if (l === null || l !== l) bad = true; if (l < a) a = l; if (h > b) b = h; }
        const falls = ys[s].at(-1) > (a + b) / 2;  // first the extreme that is nearer to the line so far
        ys[s].push(...bad ? [null, null] : known ? falls ? [b, a] : [a, b] : [undefined, undefined]);
        if (known && !bad) most[s] = Math.max(most[s], Math.abs(a), Math.abs(b));
        if (bad) pane.broken.push(t[i]);
      });
    }
    const units = pane.signals.map(name => this.units[name]), of = s => Math.max(...most.filter((_, k) => units[k] === units[s]));
    pane.scales = units.map((unit, s) => scale(unit, of(s)));
    const begin = this.until == null ? Math.max(0, end - this.span) : Math.max(0, t[from] ?? 0);
    const range = pane.zoomed ? {min: pane.plot.scales.x.min, max: pane.plot.scales.x.max} : {min: begin, max: this.until == null ? Math.max(end, Math.min(this.span, begin + this.span)) : Math.max(end, begin + 1e-6)};
    pane.plot.setData([x, ...ys], false);
    pane.plot.setScale("x", range);
    if (x.length && pane.plot.cursor.idx == null) this.legend(pane, x.length - 1);
  }
  drawXy(pane, from, to) {
    const canvas = pane.area, ratio = devicePixelRatio || 1, w = canvas.clientWidth, h = canvas.clientHeight;
    canvas.width = w * ratio; canvas.height = h * ratio;
    const ctx = canvas.getContext("2d"), {line, soft, series} = this.colours;
    ctx.scale(ratio, ratio);
    const [cx, cy] = pane.signals.map(name => this.store.names.indexOf(name));
    if (cx === undefined || cy === undefined) return;
    const middle = c => { const out = []; for (let i = from; i < to; i++) out.push((this.store.low[c][i] + this.store.high[c][i]) / 2); return out; };
    const x = middle(cx), y = middle(cy), ok = x.map((v, i) => v === v && y[i] === y[i]);
    const seen = values => { let a = Infinity, b = -Infinity; values.forEach((v, i) => { if (ok[i]) { a = Math.min(a, v); b = Math.max(b, v); } }); const e = a < b ? (b - a) * 0.06 : Math.abs(a) * 0.1 || 1e-9; return a <= b ? [a - e, b + e] : [-1, 1]; };
    const [x0, x1] = seen(x), [y0, y1] = seen(y), left = 56, bottom = 26, top = 8, right = 10;
    pane.scales = [[x0, x1], [y0, y1]].map(([a, b], i) => scale(this.units[pane.signals[i]], Math.max(Math.abs(a), Math.abs(b)) * 0.9));
    const px = v => left + (v - x0) / (x1 - x0) * (w - left - right), py = v => h - bottom - (v - y0) / (y1 - y0) * (h - bottom - top);
    ctx.strokeStyle = line; ctx.fillStyle = soft; ctx.font = "13px system-ui, sans-serif"; ctx.lineWidth = 1;
    ctx.textAlign = "center"; ctx.textBaseline = "alphabetic";
    for (const v of ticks(x0, x1, 5)) { ctx.beginPath(); ctx.moveTo(px(v), top); ctx.lineTo(px(v), h - bottom); ctx.stroke(); ctx.fillText(pane.scales[0].axis(v), px(v), h - 8); }
    ctx.textAlign = "right"; ctx.textBaseline = "middle";
    for (const v of ticks(y0, y1, 4)) { ctx.beginPath(); ctx.moveTo(left, py(v)); ctx.lineTo(w - right, py(v)); ctx.stroke(); ctx.fillText(pane.scales[1].axis(v), left - 6, py(v)); }
    ctx.strokeStyle = series[0]; ctx.lineWidth = 1.6; ctx.lineJoin = "round"; ctx.beginPath();
    let pen = false;
    x.forEach((v, i) => { if (!ok[i]) { pen = false; return; } ctx[pen ? "lineTo" : "moveTo"](px(v), py(y[i])); pen = true; });
    ctx.stroke();
    const last = ok.lastIndexOf(true);
    if (last < 0) return;
    ctx.fillStyle = series[1]; ctx.beginPath(); ctx.arc(px(x[last]), py(y[last]), 5, 0, 7); ctx.fill();
    [x[last], y[last]].forEach((v, i) => { pane.entries[i].value.textContent = pane.scales[i].text(v); pane.entries[i].unit.textContent = pane.scales[i].unit; });
  }
}
