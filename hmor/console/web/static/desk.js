// The desk: what arrives over the wire goes to lamps, tables and panes; what the operator presses goes back.

import {Wire, get} from "/wire.js";
import {Panes, Store} from "/plots.js";
import {Rules, events, lamps, make, open, sheet, summary} from "/rows.js";

const at = id => document.getElementById(id);
const SIGNS = {idle: "\u25CB", checked: "\u25D0", armed: "\u25B3", running: "\u25B6", holding: "\u2016", ramping: "\u25BC", tripped: "\u25A0"};
const NAMES = {idle: "at rest", ramping: "stopping"};
const STATES = ["idle", "checked", "armed", "running", "holding", "ramping", "tripped"];
const FORCE = new Set(["N", "kN", "Nm", "N m"]), MOTION = new Set(["m", "mm", "rad"]);
let about = null, role = "viewer", mode = "live", state = "idle", legal = [], panes = null, store = null, last = {}, sheetKnown = false, sheetOpen = false, ended = false;
const rules = new Rules(at("rules"), at("acknowledge"), tighten);

// ---------------------------------------------------------------- looks
const theme = name => { document.documentElement.dataset.theme = name; panes?.recolour(); panes?.all(); };
theme(localStorage.getItem("theme") ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light"));
at("theme").onclick = () => { const next = document.documentElement.dataset.theme === "dark" ? "light" : "dark"; localStorage.setItem("theme", next); theme(next); };
new ResizeObserver(() => document.documentElement.style.setProperty("--below", `${document.querySelector("header").offsetHeight}px`)).observe(document.querySelector("header"));  // the orders stay in sight
let clearing;
function say(words) {
  at("message").textContent = words;
  at("message").hidden = !words;
  clearTimeout(clearing);
  if (words) clearing = setTimeout(() => say(""), 8000);
}

// ---------------------------------------------------------------- orders
const wire = new Wire({hello, state: newState, frames, rules: newRules, log, role: newRole, summary: finish, closed, silent});
async function order(what, more) {
  const answer = await wire.order(what, more);
  if (answer.refused) say(`Refused: ${answer.why}.`);
  return answer;
}
/** Two steps: the second press within four seconds does it. */
function twice(button, ask, act) {
  const words = button.textContent;
  let timer = 0;
  const rest = () => { clearTimeout(timer); timer = 0; button.textContent = words; button.classList.remove("sure"); };
  button.onclick = () => {
    if (timer) { rest(); act(); return; }
    button.textContent = ask;
    button.classList.add("sure");
    timer = setTimeout(rest, 4000);
  };
  return rest;
}
for (const button of at("orders").querySelectorAll("button")) button.onclick = () => { rest(); order(button.dataset.do); };
const rest = twice(at("arm"), "Press again to arm", () => order("arm"));
twice(at("take"), "Press again to take over", () => order("take", {sure: true}));
const NEXT = {checked: "arm", armed: "start", holding: "resume"};
function enable() {
  for (const button of at("orders").querySelectorAll("button")) {
    const what = button.dataset.do, may = role === "operator" || (what === "trip" && role === "standby");
    button.disabled = !may || mode !== "live" || ended || (what !== "trip" && (!legal.includes(what) || (what === "arm" && sheetOpen)));
    button.classList.toggle("next", !button.disabled && NEXT[state] === what);
  }
  at("take").hidden = role !== "standby";
  at("noteform").hidden = role !== "operator" || mode !== "live";
  for (const box of document.querySelectorAll("#items input, #tunables input")) box.disabled = role !== "operator" || mode !== "live";
}
const WRITTEN = "input:not([type=range], [type=checkbox]), textarea";  // a slider that has the focus takes no orders away
addEventListener("keydown", event => {
  if (event.key === "Escape") panes?.setMark(null);
  if (event.ctrlKey || event.altKey || event.metaKey || event.target.closest(WRITTEN)) return;
  if (event.code === "Space" && !event.target.closest("[type=checkbox], select, summary, dialog")) {  // on a button too: Enter presses it
    event.preventDefault();
    if (role === "operator" && !event.repeat) for (const what of ["hold", "resume"]) if (legal.includes(what)) order(what);
  }
  if (event.shiftKey && event.key.toUpperCase() === "T" && !event.repeat && role !== "viewer" && mode === "live") order("trip");
});
addEventListener("keyup", event => { if (event.code === "Space" && event.target.closest("button")) event.preventDefault(); });
at("noteform").onsubmit = async event => {
  event.preventDefault();
  const text = at("note").value;
  if (text.trim() && (await order("note", {text: text.trim(), ...(panes.mark == null ? {} : {at: panes.mark})})).refused) return;
  if (at("note").value === text) at("note").value = "";  // what was not kept stays, and what was typed since
};
/** Asks for new limits in a dialogue that lets the page go on. */
function tighten(rule, [lower, upper]) {
  if (role !== "operator" || mode !== "live") return;
  at("limitsname").textContent = rule.name;
  at("lower").value = lower ?? "";
  at("upper").value = upper ?? "";
  at("limits").showModal();
  at("limitsform").onsubmit = () => {
    const [low, high] = ["lower", "upper"].map(id => at(id).value.trim() === "" ? null : Number(at(id).value));
    if ([low, high].some(v => Number.isNaN(v))) say("A limit must be a number.");
    else order("limit", {rule: rule.name, lower: low, upper: high});
  };
}
at("limitscancel").onclick = () => at("limits").close();

// ---------------------------------------------------------------- what arrives
function hello(message) {
  ({about, mode, role} = message);
  document.title = `${about.study} - hybrid-mor console`;
  at("study").textContent = about.study;
  at("of").textContent = `of ${about.duration} s`;
  at("role").textContent = role;
  const names = about.signals.map(signal => signal.name);
  store = new Store(names);
  const units = Object.fromEntries(about.signals.map(signal => [signal.name, signal.unit]));
  panes?.close();
  panes = new Panes(at("panes"), store, units, save);
  panes.pause(at("pause").getAttribute("aria-pressed") === "true");
  panes.span = +at("window").value;
  panes.load(JSON.parse(localStorage.getItem("layout " + about.study) ?? "null") ?? layout(units));
  rules.set(about.rules, about.commands);
  at("replay").hidden = mode !== "replay";
  at("orders").hidden = mode === "replay";
  at("tuning").hidden = !about.tunables.length;
  at("tunables").replaceChildren(...about.tunables.map(tunable));
  if (mode === "replay") replay();
  say("");
  enable();
  window.hmor = {panes, store, about, wire};  // for tests of the page
}
/** The plots of a study that has none of its own yet: what is tracked, forces, and both over each other. */
function layout(units) {
  const user = about.signals.filter(signal => !signal.ours).map(signal => signal.name);
  const motion = user.filter(name => MOTION.has(units[name])), force = user.filter(name => FORCE.has(units[name]));
  const measured = about.measured.find(name => motion.includes(name)) ?? motion[0], command = about.commands[0]?.name ?? user.find(name => name === "command");
  const tracked = [...new Set(about.tracking ? [about.tracking.target, about.tracking.measured] : [command, measured])].filter(name => user.includes(name));
  const made = [{kind: "time", signals: tracked.length ? tracked : user.slice(0, 3)}];
  if (force.length) made.push({kind: "time", signals: force.slice(0, 2)});
  if (measured && force.length) made.push({kind: "xy", signals: [measured, force[0]]});
  if (command && measured) made.push({kind: "xy", signals: [command, measured]});
  return made;
}
function save() { localStorage.setItem("layout " + about.study, JSON.stringify(panes.layout())); if (mode === "replay") fill(); }
function tunable(one) {
  const input = make("input", {type: "range", min: one.lower, max: one.upper, step: "any", value: one.value}), shown = make("b", {textContent: `${one.value} ${one.unit}`});
  input.onchange = () => { shown.textContent = `${(+input.value).toPrecision(4)} ${one.unit}`; order("tune", {name: one.name, value: +input.value}); };
  return make("label", {}, one.name, input, shown);
}
function showState(name, word) {
  at("state").className = `state ${name}`;
  at("word").textContent = word;
  at("sign").textContent = SIGNS[name] ?? "";
}
function newState(message) {
  last = message;
  legal = message.legal;
  ended = message.ended;
  if (message.state !== state && message.state !== "checked") rest();
  state = message.state;
  showState(state, ended && state !== "tripped" ? "ended" : NAMES[state] ?? state);
  at("time").textContent = `${(Math.max(0, message.test_tick + 1) / about.rate).toFixed(2)} s`;
  document.documentElement.dataset.state = ended ? "ended" : state;
  at("sheet").hidden = !(state === "checked" && sheetKnown && !ended);
  lamps(at("lamps"), message.lamps);
  enable();
}
function frames(message) {
  if (!store.t.length) past(message.first);
  store.add(message);
  for (const {name} of about.commands) {
    const s = store.names.indexOf(name), recent = column => column.slice(-message.buckets);
    if (s >= 0) rules.command(name, Math.min(...recent(store.low[s])), Math.max(...recent(store.high[s])));
  }
}
function newRules(message) {
  rules.update(message.rules);
  rules.drawCommands();
  sheetKnown = Boolean(message.sheet);
  const text = JSON.stringify(message.sheet);
  if (message.sheet && text !== at("sheet").dataset.shown) {
    at("sheet").dataset.shown = text;
    sheet(at("items"), at("sheetcount"), message.sheet, (item, done) => order("tick", {item, done}));
    sheetOpen = open(message.sheet);
    enable();
  }
}
function log(message) {
  events(at("events"), message.events);
  rules.broke(message.events);
  panes.events = message.events.filter(([, who, , broke]) => broke || who === "operator").map(([tick, , , broke]) => [tick / about.rate, broke]);
}
function newRole(message) { role = message.role; at("role").textContent = role; enable(); }
function closed(code) {
  document.documentElement.dataset.state = "offline";
  showState("", code === 4401 ? "no entry" : "no console");
  legal = [];
  enable();
  say(code === 4401 ? "The token is wrong or missing: use the address that hmor console printed."
    : code === 4429 ? "The console serves as many pages as it can: close another one." : "The console does not answer; the test may go on without it.");
}
/** What stands on the page is old: neither a picture nor a state has come for some time. */
function silent(seconds) {
  document.documentElement.dataset.state = "offline";
  showState("", "no news");
  say(`Nothing has come from the console for ${seconds.toFixed(0)} s: this page shows the past, and orders may not arrive.`);
}
function finish(message) {
  if (mode === "live") newState({state, lamps: [], test_tick: -1, ...last, ended: true, legal: []});
  summary(at("summary"), message, async name => {
    try {
      const blob = await (await get("/api/kept/" + name)).blob();
      const link = make("a", {href: URL.createObjectURL(blob), download: {report: "report.html", record: "data.nc", run: "run.json"}[name]});
      link.click();
      setTimeout(() => URL.revokeObjectURL(link.href), 60000);
    } catch (error) { say(String(error.message)); }
  });
}

// ---------------------------------------------------------------- plots and replay
at("pause").onclick = () => { const yes = !panes.paused; panes.pause(yes); at("pause").setAttribute("aria-pressed", String(yes)); at("pause").textContent = yes ? "Go on" : "Pause"; };
at("zoomout").onclick = () => panes.all();
at("window").onchange = () => { panes.span = +at("window").value; panes.all(); };
at("addtime").onclick = () => { panes.add("time", []); save(); };
at("addxy").onclick = () => { panes.add("xy", []); save(); };

async function history(names, from, to, n) {
  const query = new URLSearchParams({signals: names.join(","), from: String(from), to: String(to), n: String(n)});
  return (await get("/api/frames?" + query)).json();
}
const used = () => [...new Set(panes.list.flatMap(pane => pane.signals))];
/** A page that comes later has the last minute from the disk. */
async function past(begin) {
  const names = used(), into = store;
  if (!names.length) return;
  try { into.prepend(names, await history(names, Math.max(0, begin - 60), begin, 3600)); } catch (error) { say(`No history: ${error.message}`); }
}
async function fill() {
  const names = [...new Set([...used(), "monitor.state"])].filter(name => store.names.includes(name));
  if (names.length) store.set(names, await history(names, 0, about.length + 1, 4000));
}
let timer = 0;
async function replay() {
  document.documentElement.dataset.state = "replay";
  at("seek").max = about.length;
  panes.span = about.length + 1;
  lamps(at("lamps"), about.lamps);
  if (about.margins) rules.update(about.margins.map(row => [...row, false]));
  const show = t => {
    panes.until = t; at("seek").value = t; at("time").textContent = `${t.toFixed(2)} s`; panes.all();
    const code = store.high[store.names.indexOf("monitor.state")]?.[panes.part()[1] - 1], name = STATES[code] ?? "idle";
    showState("", "replay");
    at("sign").textContent = "\u21BB";
    at("of").textContent = `of ${about.length.toFixed(2)} s, ${NAMES[name] ?? name}`;
  };
  await fill();
  show(about.length);
  at("seek").oninput = () => show(+at("seek").value);
  at("play").onclick = () => {
    clearInterval(timer);
    if (at("play").textContent === "Stop") { at("play").textContent = "Play"; return; }
    at("play").textContent = "Stop";
    let t = +at("seek").value >= about.length ? 0 : +at("seek").value, before = performance.now();
    timer = setInterval(() => {
      const now = performance.now();
      t = Math.min(about.length, t + (now - before) / 1000 * +at("speed").value);
      before = now;
      show(t);
      if (t >= about.length) at("play").click();
    }, 40);
  };
}
