// Panes of signals over time and over each other. Every bucket is drawn as its extremes; what is not a number is a gap with a red mark.

const COLOURS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9"];
const DASHES = [[], [7, 3], [2, 2], [9, 3, 2, 3], [4, 4], [1, 3]];
const KEEP = 3600;

/** The newest buckets of every signal, oldest first. */
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
  set(names, {t, low, high}) {
    this.clear();
    this.t = t;
    names.forEach((name, i) => { const s = this.names.indexOf(name); this.low[s] = low[i]; this.high[s] = high[i]; });
    this.version++;
  }
}

const short = value => String(+value.toPrecision(3));
const css = name => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const element = (tag, properties = {}, ...children) => {
  const made = Object.assign(document.createElement(tag), properties);
  made.append(...children);
  return made;
};

export class Panes {
  constructor(box, store, units, changed) {
    Object.assign(this, {box, store, units, changed, list: [], span: 20, paused: false, until: null, drawn: 0, cost: 0});
    new ResizeObserver(() => this.resize()).observe(box);
    const draw = now => {
      requestAnimationFrame(draw);
      if (document.hidden || this.paused || now - this.drawn < Math.max(32, 4 * this.cost)) return;  // a quarter of the time at most
      this.drawn = now;
      this.draw();
      this.cost = performance.now() - now;
    };
    requestAnimationFrame(draw);
  }
  layout() { return this.list.map(({kind, signals}) => ({kind, signals})); }
  load(layout) { this.list = []; this.box.replaceChildren(); layout.forEach(one => this.add(one.kind, one.signals)); }
  add(kind, signals) {
    const pane = {kind, signals: signals.filter(name => this.store.names.includes(name)), zoomed: false};
    pane.legend = element("div", {className: "legend"});
    pane.choice = element("div", {className: "choice"});
    const remove = element("button", {type: "button", textContent: "Remove"});
    remove.onclick = () => { this.list.splice(this.list.indexOf(pane), 1); pane.root.remove(); this.changed(); };
    const details = element("details", {}, element("summary", {textContent: "Signals"}), pane.choice);
    pane.area = kind === "xy" ? element("canvas", {className: "xy"}) : element("div", {className: "plot"});
    pane.area.setAttribute("role", "img");
    pane.root = element("div", {className: "pane"}, element("div", {className: "top"}, pane.legend, details), pane.area);
    pane.choice.append(remove, ...this.store.names.map(name => {
      const box = element("input", {type: "checkbox", checked: pane.signals.includes(name)});
      box.onchange = () => {
        pane.signals = box.checked ? [...pane.signals, name] : pane.signals.filter(other => other !== name);
        this.rebuild(pane);
        this.changed();
      };
      return element("label", {}, box, " " + name);
    }));
    this.box.append(pane.root);
    this.list.push(pane);
    this.rebuild(pane);
  }
  label(name) { const unit = this.units[name]; return unit ? `${name} [${unit}]` : name; }
  rebuild(pane) {
    const shown = pane.kind === "xy" ? pane.signals.slice(0, 2) : pane.signals;
    pane.area.setAttribute("aria-label", (pane.kind === "xy" ? [...shown].reverse().join(" over ") : shown.join(", ") + " over time") || "empty plot");
    pane.values = shown.map((name, i) => {
      const value = element("b"), mark = element("i");
      mark.style.background = COLOURS[i % COLOURS.length];
      const axis = pane.kind === "xy" ? ["x: ", "y: "][i] : "";
      pane.legend[i === 0 ? "replaceChildren" : "append"](element("span", {}, mark, axis + this.label(name) + " ", value));
      return value;
    });
    if (!shown.length) pane.legend.replaceChildren(element("span", {textContent: "choose signals"}));
    pane.plot?.destroy();
    pane.plot = null;
    pane.version = -1;
    if (pane.kind === "xy" || !shown.length) return;
    const axis = () => ({stroke: () => css("--soft"), grid: {stroke: () => css("--line"), width: 1}, ticks: {stroke: () => css("--line")}});
    pane.plot = new uPlot({
      width: pane.area.clientWidth || 400, height: pane.area.clientHeight || 190,
      scales: {x: {time: false}},
      cursor: {sync: {key: "desk"}, drag: {x: true, y: false}},
      axes: [{...axis(), size: 30}, {...axis(), size: 62}],
      series: [{}, ...shown.map((name, i) => ({label: name, stroke: COLOURS[i % COLOURS.length], width: 1.6, dash: DASHES[i % DASHES.length], spanGaps: false, points: {show: false}}))],
      hooks: {
        setSelect: [plot => { if (plot.select.width > 4) pane.zoomed = true; }],
        draw: [plot => this.marks(plot, pane)],
        setCursor: [plot => { if (plot.cursor.idx != null) this.legend(pane, plot.cursor.idx); }],
      },
    }, [[], ...shown.map(() => [])], pane.area);
    pane.plot.over.ondblclick = () => { pane.zoomed = false; pane.version = -1; this.draw(); };
  }
  legend(pane, i) { pane.values.forEach((value, s) => { const y = pane.plot.data[s + 1][i]; value.textContent = y == null ? "no number" : y.toPrecision(5); }); }
  marks(plot, pane) {
    plot.ctx.fillStyle = css("--red");
    for (const t of pane.broken ?? []) {
      const x = plot.valToPos(t, "x", true);
      if (x >= plot.bbox.left && x <= plot.bbox.left + plot.bbox.width) plot.ctx.fillRect(x - 1, plot.bbox.top, 3, 12);
    }
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
    return [from, to];
  }
  draw() {
    const [from, to] = this.part();
    for (const pane of this.list) {
      const box = pane.root.getBoundingClientRect();
      if (pane.version === this.store.version + to || box.bottom < 0 || box.top > innerHeight) continue;
      pane.version = this.store.version + to;
      if (pane.kind === "xy") this.drawXy(pane, from, to);
      else if (pane.plot) this.drawTime(pane, from, to);
    }
  }
  drawTime(pane, from, to) {
    const {t, low, high} = this.store, columns = pane.signals.map(name => this.store.names.indexOf(name));
    const stride = Math.max(1, Math.ceil((to - from) / Math.max(200, pane.area.clientWidth)));
    const x = [], ys = columns.map(() => []);
    pane.broken = [];
    for (let i = from; i < to; i += stride) {
      const end = Math.min(i + stride, to);
      x.push(t[i], (t[i] + t[end - 1]) / 2 + 1e-9);
      columns.forEach((c, s) => {
        let a = Infinity, b = -Infinity, bad = false;
        for (let k = i; k < end; k++) { const l = low[c][k], h = high[c][k]; bad ||= l == null || l !== l; if (l < a) a = l; if (h > b) b = h; }
        ys[s].push(bad ? null : a, bad ? null : b);
        if (bad && low[c].length) pane.broken.push(t[i]);
      });
    }
    const keep = pane.zoomed ? {min: pane.plot.scales.x.min, max: pane.plot.scales.x.max} : null;
    pane.plot.setData([x, ...ys], !keep);
    if (keep) pane.plot.setScale("x", keep);
    if (x.length && pane.plot.cursor.idx == null) this.legend(pane, x.length - 1);
  }
  drawXy(pane, from, to) {
    const canvas = pane.area, ratio = devicePixelRatio || 1, w = canvas.clientWidth, h = canvas.clientHeight;
    canvas.width = w * ratio; canvas.height = h * ratio;
    const ctx = canvas.getContext("2d");
    ctx.scale(ratio, ratio);
    const [cx, cy] = pane.signals.map(name => this.store.names.indexOf(name));
    if (cx === undefined || cy === undefined) return;
    const middle = c => { const out = []; for (let i = from; i < to; i++) out.push((this.store.low[c][i] + this.store.high[c][i]) / 2); return out; };
    const x = middle(cx), y = middle(cy), ok = x.map((v, i) => v === v && y[i] === y[i]);
    const range = values => { const seen = values.filter((_, i) => ok[i]); const a = Math.min(...seen), b = Math.max(...seen), e = (b - a || 1e-12) * 0.06; return [a - e, b + e]; };
    const [x0, x1] = range(x), [y0, y1] = range(y), left = 66, bottom = 24;
    const px = v => left + (v - x0) / (x1 - x0) * (w - left - 8), py = v => h - bottom - (v - y0) / (y1 - y0) * (h - bottom - 8);
    ctx.strokeStyle = css("--line"); ctx.strokeRect(left, 8, w - left - 8, h - bottom - 8);
    ctx.fillStyle = css("--soft"); ctx.font = "12px system-ui, sans-serif";
    ctx.textAlign = "left"; ctx.fillText(short(x0), left, h - 6); ctx.textAlign = "right"; ctx.fillText(short(x1), w - 8, h - 6);
    ctx.fillText(short(y1), left - 5, 18); ctx.fillText(short(y0), left - 5, h - bottom);
    ctx.strokeStyle = COLOURS[0]; ctx.lineWidth = 1.4; ctx.beginPath();
    let pen = false;
    x.forEach((v, i) => { if (!ok[i]) { pen = false; return; } ctx[pen ? "lineTo" : "moveTo"](px(v), py(y[i])); pen = true; });
    ctx.stroke();
    const last = ok.lastIndexOf(true);
    if (last >= 0) {
      ctx.fillStyle = COLOURS[1]; ctx.beginPath(); ctx.arc(px(x[last]), py(y[last]), 4, 0, 7); ctx.fill();
      [x[last], y[last]].forEach((v, i) => { if (pane.values[i]) pane.values[i].textContent = v.toPrecision(4); });
    }
  }
}
