// Tables and lists of the desk. Whatever has a name reaches the page as text, never as markup.

export const make = (tag, properties = {}, ...children) => {
  const made = Object.assign(document.createElement(tag), properties);
  made.append(...children);
  return made;
};
const show = value => value == null ? "" : Math.abs(value) >= 1e6 || (value !== 0 && Math.abs(value) < 1e-3) ? value.toExponential(2).replace(/\.?0*e\+?/, "e") : String(+value.toPrecision(3));
const interval = (lower, upper) => lower != null && upper != null ? (lower === -upper ? "\u00b1" + show(upper) : `${show(lower)} \u2026 ${show(upper)}`)
  : upper != null ? "\u2264 " + show(upper) : lower != null ? "\u2265 " + show(lower) : "none";

/** How much of its interval a value uses: 0 in the middle (or at 0), 1 at a limit. */
export function share(value, lower, upper) {
  if (value == null) return 1;
  const middle = lower != null && upper != null ? (lower + upper) / 2 : 0;
  const above = upper != null && upper > middle ? (value - middle) / (upper - middle) : value > (upper ?? Infinity) ? 1 : 0;
  const below = lower != null && lower < middle ? (middle - value) / (middle - lower) : value < (lower ?? -Infinity) ? 1 : 0;
  return Math.max(above, below, 0);
}

/** One row for each command and each rule. */
export class Rules {
  constructor(body, acknowledge, tighten) {
    Object.assign(this, {body, acknowledge, tighten, rows: [], commands: [], first: null, seen: -1});
    acknowledge.onclick = () => { this.rows[this.first]?.row.classList.remove("first", "broken"); this.first = null; this.seen = this.latest; acknowledge.hidden = true; };
  }
  set(rules, commands) {
    this.rows = rules.map((rule, i) => {
      const name = make("button", {type: "button", textContent: rule.name});
      name.onclick = () => this.tighten(rule, this.rows[i].limits);
      return this.row(rule, name, rule.action);
    });
    this.commands = commands.map(command => this.row(command, make("span", {textContent: command.name}), "clip"));
    this.body.replaceChildren(...this.commands.map(r => r.row), ...this.rows.map(r => r.row));
    Object.assign(this, {first: null, seen: -1});
  }
  row(rule, name, action) {
    const fill = make("i"), peak = make("b"), value = make("td"), limits = make("td", {textContent: interval(rule.lower, rule.upper)});
    const row = make("tr", {className: rule.default ? "default" : ""}, make("td", {}, name), value, limits, make("td", {}, make("div", {className: "margin"}, fill, peak)), make("td", {textContent: action}));
    row.title = rule.signal ? `${rule.name}: ${rule.quantity} of ${rule.signal}` : rule.name;
    return {rule, row, fill, peak, value, interval: limits, limits: [rule.lower ?? null, rule.upper ?? null], least: Infinity, most: -Infinity, title: row.title};
  }
  put(r, value, least, most, lower, upper) {
    const used = share(value, lower, upper), peak = Math.max(share(least, lower, upper), share(most, lower, upper));
    r.value.textContent = value == null ? "no number" : show(value);
    r.interval.textContent = interval(lower, upper);
    r.fill.style.width = `${100 * Math.min(1, used)}%`;
    r.fill.className = used >= 1 ? "full" : used > 0.8 ? "high" : "";
    r.peak.style.left = `${Math.min(97, 100 * peak)}%`;
    r.row.title = `${r.title}; ${(100 * used).toFixed(0)} % of the margin used, at most ${(100 * peak).toFixed(0)} %`;
  }
  update(values) {
    values.forEach(([value, least, most, lower, upper, acting], i) => {
      const r = this.rows[i];
      if (!r) return;
      r.limits = [lower, upper];
      this.put(r, value, least, most, lower, upper);
      r.row.classList.toggle("broken", acting || i === this.first);
    });
  }
  /** Extremes of the commands in a picture, by their names. */
  command(name, low, high) {
    const r = this.commands.find(one => one.rule.name === name);
    if (!r || !(low <= high)) return;
    Object.assign(r, {least: Math.min(r.least, low), most: Math.max(r.most, high), now: high});
  }
  drawCommands() { for (const r of this.commands) if (r.now !== undefined) this.put(r, r.now, r.least, r.most, r.rule.lower, r.rule.upper); }
  /** Marks the rule that broke first, among events after the last one that was acknowledged. */
  broke(events) {
    const found = events.find(([tick, , , rule]) => rule && tick > this.seen), i = found ? this.rows.findIndex(r => r.rule.name === found[3]) : -1;
    this.latest = Math.max(-1, ...events.map(([tick]) => tick));
    if (this.first !== null || i < 0) return;
    this.first = i;
    this.rows[i].row.classList.add("first", "broken");
    this.body.prepend(this.rows[i].row);
    this.acknowledge.hidden = false;
  }
}

const complete = item => item.result === "good" || (item.result === "tick" && item.done);
/** Rows are made once and then changed in place: what has the focus keeps it. Tells whether an item is open. */
export function sheet(list, count, items, tick) {
  if (list.children.length !== items.length)
    list.replaceChildren(...items.map((_, i) => {
      const box = make("input", {type: "checkbox"});
      box.onchange = () => tick(i, box.checked);
      return make("li", {}, box, make("b"), make("span"));
    }));
  items.forEach((item, i) => {
    const row = list.children[i], [box, name, words] = row.children;
    row.className = item.result + (item.done ? " done" : "");
    box.hidden = item.result !== "tick";
    if (box.checked !== item.done) box.checked = item.done;
    box.setAttribute("aria-label", item.what);
    name.textContent = item.what;
    words.textContent = item.words;
  });
  count.textContent = `${items.filter(complete).length} of ${items.length} in order; Arm is locked until all are`;
}
export const open = items => items?.some(item => !complete(item)) ?? false;

export function events(list, rows) {
  list.replaceChildren(...rows.slice(-200).reverse().map(([, who, words, rule]) => make("li", {className: rule ? "broke" : who, textContent: words})));
}

export function lamps(list, entries) {
  list.replaceChildren(...entries.map(([kind, words]) => make("li", {className: kind, textContent: words})));
}

export function summary(box, found, download) {
  box.hidden = false;
  const part = name => box.querySelector("#" + name);
  part("ended").textContent = found.ended === "finished" ? "Finished." : found.ended;
  const figures = found.tracking ? [["J1, delay", `${found.tracking.J1_ms.toFixed(2)} ms`], ["J2, rms error", `${found.tracking.J2_percent.toFixed(2)} %`], ["J3, peak error", `${found.tracking.J3_percent.toFixed(2)} %`]] : [];
  figures.push(["missed wake-ups", found.missed ?? "no clock"], ["ticks", found.ticks], ["frames lost", found.frames_lost]);
  part("figures").replaceChildren(...figures.map(([name, value]) => make("div", {}, make("dt", {textContent: name}), make("dd", {textContent: String(value)}))));
  part("files").replaceChildren(...["report", "record", "run"].flatMap(name => {
    const button = make("button", {type: "button", textContent: {report: "Report", record: "Record (netCDF)", run: "run.json"}[name]});
    button.onclick = () => download(name);
    return [button, " "];
  }), make("span", {className: "small", textContent: found.folder}));
  part("peaks").replaceChildren(...found.peaks.map(([name, low, high, unit]) => make("tr", {}, ...[name, show(low), show(high), unit].map(text => make("td", {textContent: text})))));
}
