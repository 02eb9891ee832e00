// Tables and lists of the desk. Whatever has a name reaches the page as text, never as markup.

export const make = (tag, properties = {}, ...children) => {
  const made = Object.assign(document.createElement(tag), properties);
  made.append(...children);
  return made;
};
const show = value => value == null ? "" : Math.abs(value) >= 1e5 || (value !== 0 && Math.abs(value) < 1e-3) ? value.toExponential(2) : String(+value.toPrecision(4));

/** How much of its interval a value uses: 0 in the middle (or at 0), 1 at a limit. */
export function share(value, lower, upper) {
  if (value == null) return 1;
  const middle = lower != null && upper != null ? (lower + upper) / 2 : 0;
  const above = upper != null && upper > middle ? (value - middle) / (upper - middle) : value > (upper ?? Infinity) ? 1 : 0;
  const below = lower != null && lower < middle ? (middle - value) / (middle - lower) : value < (lower ?? -Infinity) ? 1 : 0;
  return Math.max(above, below, 0);
}

export class Rules {
  constructor(body, acknowledge, tighten) {
    Object.assign(this, {body, acknowledge, tighten, rows: [], first: null});
    acknowledge.onclick = () => { this.rows[this.first]?.row.classList.remove("first", "broken"); this.first = null; acknowledge.hidden = true; };
  }
  set(rules) {
    this.rows = rules.map((rule, i) => {
      const fill = make("i"), peak = make("b"), name = make("button", {type: "button", textContent: rule.name, title: "Tighten this limit"});
      name.onclick = () => this.tighten(rule, this.rows[i].limits);
      const value = make("td"), limits = make("td");
      const row = make("tr", {}, make("td", {}, name), value, limits, make("td", {}, make("div", {className: "margin"}, fill, peak)), make("td", {textContent: rule.action}));
      return {rule, row, fill, peak, value, interval: limits, limits: [rule.lower ?? null, rule.upper ?? null]};
    });
    this.body.replaceChildren(...this.rows.map(r => r.row));
  }
  update(values) {
    values.forEach(([value, least, most, lower, upper, acting], i) => {
      const r = this.rows[i];
      if (!r) return;
      const used = share(value, lower, upper), peak = Math.max(share(least, lower, upper), share(most, lower, upper));
      r.limits = [lower, upper];
      r.value.textContent = value == null ? "no number" : show(value);
      r.interval.textContent = `${show(lower)} \u2026 ${show(upper)}`;
      r.fill.style.width = `${100 * Math.min(1, used)}%`;
      r.fill.className = used >= 1 ? "full" : used > 0.8 ? "high" : "";
      r.peak.style.left = `${Math.min(97, 100 * peak)}%`;
      r.row.title = `${(100 * used).toFixed(0)} % of the margin used, at most ${(100 * peak).toFixed(0)} %`;
      r.row.classList.toggle("broken", acting || i === this.first);
    });
  }
  /** Marks the rule that broke first until somebody acknowledges it. */
  broke(name) {
    const i = this.rows.findIndex(r => r.rule.name === name);
    if (this.first !== null || i < 0) return;
    this.first = i;
    this.rows[i].row.classList.add("first", "broken");
    this.body.prepend(this.rows[i].row);
    this.acknowledge.hidden = false;
  }
}

/** Rows are made once and then changed in place: what has the focus keeps it. */
export function sheet(list, items, tick) {
  if (list.children.length !== items.length)
    list.replaceChildren(...items.map((_, i) => {
      const box = make("input", {type: "checkbox"});
      box.onchange = () => tick(i, box.checked);
      return make("li", {}, box, " ", make("b"), make("span"));
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
}

export function events(list, rows) {
  list.replaceChildren(...rows.slice(-200).reverse().map(([, who, words]) => make("li", {className: who, textContent: words})));
}

export function lamps(list, entries) {
  list.replaceChildren(...entries.map(([kind, words]) => make("li", {className: kind, textContent: words})));
}

export function summary(box, found, download) {
  box.hidden = false;
  const part = name => box.querySelector("#" + name);
  part("ended").textContent = found.ended === "finished" ? "Finished." : found.ended;
  const figures = [["missed wake-ups", found.missed ?? "no clock"], ["ticks", found.ticks], ["frames lost", found.frames_lost]];
  if (found.tracking) figures.push(["J1", `${found.tracking.J1_ms.toFixed(2)} ms`], ["J2", `${found.tracking.J2_percent.toFixed(2)} %`], ["J3", `${found.tracking.J3_percent.toFixed(2)} %`]);
  figures.push(["folder", found.folder]);
  part("figures").replaceChildren(...figures.flatMap(([name, value]) => [make("dt", {textContent: name}), make("dd", {textContent: String(value)})]));
  part("files").replaceChildren(...["report", "record", "run"].flatMap(name => {
    const button = make("button", {type: "button", textContent: {report: "Report", record: "Record (netCDF)", run: "run.json"}[name]});
    button.onclick = () => download(name);
    return [button, " "];
  }));
  part("peaks").replaceChildren(...found.peaks.map(([name, low, high, unit]) => make("tr", {}, ...[name, show(low), show(high), unit].map(text => make("td", {textContent: text})))));
}
