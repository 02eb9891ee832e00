// The desk: what arrives over the wire goes to lamps, tables and panes; what the operator presses goes back.

import {Wire, get} from "/wire.js";
import {Panes, Store} from "/plots.js";
import {Rules, events, lamps, make, sheet, summary} from "/rows.js";

const at = id => document.getElementById(id);
const SIGNS = {idle: "\u25CB", checked: "\u25D0", armed: "\u25B3", running: "\u25B6", holding: "\u2016", ramping: "\u25BC", tripped: "\u25A0"};
const FORCE = new Set(["N", "kN", "Nm", "N m"]);
let about = null, role = "viewer", mode = "live", state = "idle", legal = [], panes = null, store = null, last = {}, sheetOpen = false, ended = false;
const rules = new Rules(at("rules"), at("acknowledge"), tighten);

// ---------------------------------------------------------------- looks
const stored = localStorage.getItem("theme");
const theme = name => { document.documentElement.dataset.theme = name; panes?.all(); };
theme(stored ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light"));
at("theme").onclick = () => { const next = document.documentElement.dataset.theme === "dark" ? "light" : "dark"; localStorage.setItem("theme", next); theme(next); };
let clearing;
function say(words) {
  at("message").textContent = words;
  at("message").hidden = !words;
  clearTimeout(clearing);
  if (words) clearing = setTimeout(() => say(""), 8000);
}

// ---------------------------------------------------------------- orders
const wire = new Wire({hello, state: newState, frames, rules: newRules, log, role: newRole, summary: finish, closed});
async function order(what, more) {
  const answer = await wire.order(what, more);
  if (answer.refused) say(`Refused: ${answer.why}.`);
  return answer;
}
let armed = 0;
for (const button of at("orders").querySelectorAll("button"))
  button.onclick = () => {
    const what = button.dataset.do;
    if (what === "arm" && Date.now() - armed > 4000) {  // two steps: the second press within four seconds arms
      armed = Date.now();
      button.textContent = "Press again to arm";
      button.classList.add("sure");
      setTimeout(rest, 4100);
      return;
    }
    rest();
    order(what);
  };
function rest() { armed = 0; at("arm").textContent = "Arm"; at("arm").classList.remove("sure"); }
function enable() {
  for (const button of at("orders").querySelectorAll("button")) {
    const what = button.dataset.do;
    button.disabled = what === "trip" ? role !== "operator" || mode !== "live" : role !== "operator" || !legal.includes(what) || (what === "arm" && sheetOpen);
  }
  at("take").hidden = role !== "standby";
  at("noteform").hidden = role !== "operator" || mode !== "live";
}
addEventListener("keydown", event => {
  if (event.target.closest("input, select, textarea, summary")) return;
  if (event.code === "Space") {
    event.preventDefault();
    if (legal.includes("hold") && role === "operator") order("hold");
    else if (legal.includes("resume") && role === "operator") order("resume");
  }
  if (event.key === "T" && role === "operator") order("trip");
});
at("take").onclick = async () => {
  const answer = await wire.order("take");
  if (answer.ask && confirm(answer.ask)) order("take", {sure: true});
};
at("noteform").onsubmit = event => {
  event.preventDefault();
  if (at("note").value.trim()) order("note", {text: at("note").value.trim()});
  at("note").value = "";
};
function tighten(rule, [lower, upper]) {
  if (role !== "operator" || mode !== "live") return;
  const text = prompt(`New limits of ${rule.name} (lower, upper); wider only before the start:`, `${lower ?? ""}, ${upper ?? ""}`);
  if (text === null) return;
  const [low, high] = text.split(",").map(part => part.trim() === "" ? null : Number(part));
  if ([low, high].some(v => Number.isNaN(v))) say("A limit must be a number.");
  else order("limit", {rule: rule.name, lower: low, upper: high ?? null});
}

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
  panes = new Panes(at("panes"), store, units, save);
  at("panes").replaceChildren();
  panes.load(JSON.parse(localStorage.getItem("layout " + about.study) ?? "null") ?? layout(names, units));
  rules.set(about.rules);
  at("replay").hidden = mode !== "replay";
  at("orders").hidden = mode === "replay";
  at("tuning").hidden = !about.tunables.length;
  at("tunables").replaceChildren(...about.tunables.map(tunable));
  if (mode === "replay") replay();
  say("");
  enable();
  window.hmor = {panes, store, about};  // for tests of the page
}
function layout(names, units) {
  const user = names.filter(name => !/^(host|monitor|rig)\.|\./.test(name));
  const motion = user.filter(name => ["m", "mm", "rad"].includes(units[name])), force = user.filter(name => FORCE.has(units[name]));
  const measured = about.measured.find(name => motion.includes(name)) ?? motion[0], panesOf = [{kind: "time", signals: (motion.length ? motion : user).slice(0, 4)}];
  if (force.length) panesOf.push({kind: "time", signals: force.slice(0, 3)});
  if (measured && force.length) panesOf.push({kind: "xy", signals: [measured, force[0]]});
  if (about.commands.length && measured) panesOf.push({kind: "xy", signals: [about.commands[0].name, measured]});
  return panesOf;
}
function save() { localStorage.setItem("layout " + about.study, JSON.stringify(panes.layout())); if (mode === "replay") fill(); }
function tunable(one) {
  const input = make("input", {type: "range", min: one.lower, max: one.upper, step: "any", value: one.value}), shown = make("b", {textContent: `${one.value} ${one.unit}`});
  input.onchange = () => { shown.textContent = `${(+input.value).toPrecision(4)} ${one.unit}`; order("tune", {name: one.name, value: +input.value}); };
  return make("label", {}, one.name, input, shown);
}
function newState(message) {
  last = message;
  legal = message.legal;
  ended = message.ended;
  if (message.state !== state && message.state !== "checked") rest();
  state = message.state;
  at("state").className = `state ${state}`;
  at("word").textContent = ended ? "ended" : state;
  at("sign").textContent = SIGNS[state] ?? "";
  at("time").textContent = `${(Math.max(0, message.test_tick + 1) / about.rate).toFixed(2)} s`;
  document.documentElement.dataset.state = ended ? "ended" : state;
  at("sheet").hidden = !(state === "checked" && sheetKnown);
  showLamps();
  enable();
}
let sheetKnown = false, newest = {};
function showLamps() {
  const value = name => newest[name], entries = [];
  const age = value("rig.age"), lost = value("rig.lost_recently");
  if (age !== undefined) entries.push(age > 20 || value("rig.status") < 0 ? ["bad", `rig silent for ${Math.round(age)} ticks`] : [lost > 1 ? "warn" : "good", "rig answers"]);
  entries.push(last.lost > 0 ? ["bad", `${last.lost} frames not recorded`] : [ended ? "off" : "good", ended ? "record closed" : "recording"]);
  entries.push([last.missed > 0 ? "warn" : "good", `${last.missed} missed` + (last.wake_us ? `, wake p99 ${last.wake_us.toFixed(0)} \u00b5s` : "")]);
  const warning = store?.names.find(name => /(^|\.)(SW|stability)/.test(name) && Number.isFinite(newest[name]));
  if (warning) entries.push(newest[warning] >= 1 ? ["bad", "loop gains energy"] : newest[warning] > 0.5 ? ["warn", "stability"] : ["good", "stability"]);
  const domain = store?.names.filter(name => /outside|\.domain/.test(name)) ?? [];
  if (domain.length) entries.push(domain.some(name => newest[name] > 0) ? ["bad", "model outside its domain"] : ["good", "model in its domain"]);
  if (store && Object.values(newest).some(v => v !== v)) entries.push(["bad", "a signal is no number"]);
  lamps(at("lamps"), entries);
}
function frames(message) {
  store.add(message);
  const end = 2 * (message.buckets - 1) * message.signals;
  store.names.forEach((name, s) => { newest[name] = message.values[end + 2 * s + 1]; });
}
function newRules(message) {
  rules.update(message.rules);
  sheetKnown = Boolean(message.sheet);
  const open = message.sheet?.some(item => !(item.result === "good" || (item.result === "tick" && item.done))) ?? false;
  if (open !== sheetOpen) { sheetOpen = open; enable(); }
  const text = JSON.stringify(message.sheet);
  if (message.sheet && text !== at("sheet").dataset.shown) {
    at("sheet").dataset.shown = text;
    sheet(at("items"), message.sheet, (item, done) => order("tick", {item, done}));
  }
}
function log(message) {
  events(at("events"), message.events);
  const first = message.events.map(([, , words]) => /rule '(.*)' \((hold|ramp|trip)\)/.exec(words)).find(Boolean);
  if (first) rules.broke(first[1]);
}
function newRole(message) { role = message.role; at("role").textContent = role; enable(); }
function closed(code) {
  document.documentElement.dataset.state = "offline";
  at("word").textContent = code === 4401 ? "no entry" : "no console";
  at("state").className = "state";
  legal = [];
  enable();
  say(code === 4401 ? "The token is wrong or missing: use the address that hmor console printed." : "The console does not answer; the test may go on without it.");
}
function finish(message) {
  if (mode === "live") { legal = []; ended = true; newState({...last, ended: true, state: last.state ?? "idle", legal: []}); }
  summary(at("summary"), message, async name => {
    try {
      const blob = await (await get("/api/kept/" + name)).blob();
      const link = make("a", {href: URL.createObjectURL(blob), download: {report: "report.html", record: "data.nc", run: "run.json"}[name]});
      link.click();
    } catch (error) { say(String(error.message)); }
  });
}

// ---------------------------------------------------------------- plots and replay
at("pause").onclick = () => { const yes = !panes.paused; panes.pause(yes); at("pause").setAttribute("aria-pressed", String(yes)); at("pause").textContent = yes ? "Go on" : "Pause"; };
at("zoomout").onclick = () => panes.all();
at("window").onchange = () => { panes.span = +at("window").value; panes.all(); };
at("addtime").onclick = () => { panes.add("time", []); save(); };
at("addxy").onclick = () => { panes.add("xy", []); save(); };

async function fill() {
  const used = [...new Set(panes.list.flatMap(pane => pane.signals))];
  if (!used.length) return;
  const query = new URLSearchParams({signals: used.join(","), from: "0", to: String(about.length + 1), n: "4000"});
  store.set(used, await (await get("/api/frames?" + query)).json());
}
let timer = 0;
async function replay() {
  at("word").textContent = "replay";
  at("sign").textContent = "\u21BB";
  document.documentElement.dataset.state = "replay";
  at("seek").max = about.length;
  panes.span = about.length + 1;
  const show = t => { panes.until = t; at("seek").value = t; at("time").textContent = `${t.toFixed(2)} s`; panes.all(); };
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
