// Looks at a report's page in a real browser: `node page.mjs PAGE.html [FOLDER FOR SCREENSHOTS]`, with playwright-core in NODE_PATH's place beside it.
// Prints one line for each thing that is wrong, and ends with 1 when there is any.
import { createRequire } from "node:module";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";

const [page_file, shots] = process.argv.slice(2);
const require = createRequire(join(process.env.GISTIFY_BROWSER, "package.json"));
const { chromium } = require("playwright-core");
const url = pathToFileURL(resolve(page_file)).href;
const faults = [];
const wrong = (text) => faults.push(text);
const args = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
  "--disable-component-update", "--disable-sync"];
const home = mkdtempSync(join(tmpdir(), "browser-"));

async function open(browser, options, color) {
  const context = await browser.newContext({ ...options, colorScheme: color });
  const page = await context.newPage();
  page.on("console", (message) => wrong(`console: ${message.type()}: ${message.text()}`));
  page.on("pageerror", (error) => wrong(`script: ${error}`));
  page.on("request", (request) => {
    if (request.url() !== url && !request.url().startsWith("data:")) wrong(`it asks for ${request.url()}`);
  });
  await page.goto(url);
  return page;
}

const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args });
const wide = { viewport: { width: 1440, height: 900 } };
const phone = { viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true };

for (const color of ["light", "dark"]) {
  for (const [name, size] of [["wide", wide], ["phone", phone]]) {
    // Without scripts: what is read must not need any.
    const page = await open(browser, { ...size, javaScriptEnabled: false }, color);
    if (shots) await page.screenshot({ path: join(shots, `${name}-${color}.png`) });
    await page.context().close();
  }
}

const page = await open(browser, wide, "light");
const found = await page.evaluate(() => {
  const out = [];
  const ids = new Set();
  for (const element of document.querySelectorAll("[id]")) {
    if (ids.has(element.id)) out.push(`two elements are called ${element.id}`);
    ids.add(element.id);
  }
  for (const link of document.querySelectorAll("a")) {
    const to = link.getAttribute("href") ?? "";
    if (!to.startsWith("#") || !ids.has(decodeURIComponent(to.slice(1)))) out.push(`a link leads nowhere: ${to}`);
  }
  if (document.querySelector("script, iframe, object, embed, form, img, [onload], [onclick]")) out.push("there is something active on it");
  for (const table of document.querySelectorAll("table")) {
    if (!table.closest(".scroll")) out.push("a table is outside of a box that scrolls");
    if (table.querySelectorAll("tbody tr").length === 0) out.push("a table has no rows");
  }
  // Contrast of text with what is behind it, by WCAG 2.1.
  const channel = (c) => { c /= 255; return c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4; };
  const light = ([r, g, b]) => 0.2126 * channel(r) + 0.7152 * channel(g) + 0.0722 * channel(b);
  const parse = (text) => text.match(/[\d.]+/g).map(Number);
  const behind = (element) => {
    for (let e = element; e; e = e.parentElement) {
      const color = parse(getComputedStyle(e).backgroundColor);
      if (color.length === 3 || color[3] > 0) return color;
    }
    return [255, 255, 255];
  };
  const poor = new Set();
  for (const element of document.querySelectorAll("body *")) {
    if (![...element.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim())) continue;
    if (element.closest("svg")) continue;
    const [a, b] = [light(parse(getComputedStyle(element).color)), light(behind(element))];
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (ratio < 4.5) poor.add(`${element.tagName}.${element.className}: contrast ${ratio.toFixed(2)}`);
  }
  return out.concat([...poor]);
});
found.forEach(wrong);

// By keyboard alone: the first link in a task's matrix leads to the task, and Enter opens what is folded.
const summaries = await page.locator("section details > summary").count();
if (summaries === 0) wrong("there is no cell on it");
await page.locator("#matrix ~ .scroll a").first().focus();
await page.keyboard.press("Enter");
const target = await page.evaluate(() => document.querySelector(":target")?.id ?? "");
if (!target.startsWith("t")) wrong(`a task's link leads to "${target}"`);
const first = page.locator("section details").first();
await first.locator("> summary").focus();
await page.keyboard.press("Enter");
if (!(await first.evaluate((e) => e.open))) wrong("Enter does not open a cell");
const reached = new Set();
await page.evaluate(() => document.activeElement?.blur());
for (let i = 0; i < 60; i++) {
  await page.keyboard.press("Tab");
  reached.add(await page.evaluate(() => `${document.activeElement?.tagName} ${document.activeElement?.className}`));
}
if (![...reached].some((e) => e.startsWith("A"))) wrong("Tab reaches no link");
if (![...reached].some((e) => e.includes("scroll"))) wrong("Tab reaches no box that scrolls");
// From a gist's line to the project's.
const line = page.locator("section details[open] a.n").first();
if (await line.count()) {
  await line.click();
  if (!(await page.evaluate(() => document.querySelector(":target")?.classList.contains("l")))) wrong("a line's number does not lead to the project's line");
  if (shots) await page.screenshot({ path: join(shots, "cell.png") });
}
await page.context().close();

const small = await open(browser, phone, "dark");
await small.evaluate(() => document.querySelectorAll("details").forEach((e) => (e.open = true)));
const over = await small.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
if (over > 0) wrong(`on a phone the page is ${over} pixels too wide`);
if (shots) {
  await small.evaluate(() => document.querySelector("section.task")?.scrollIntoView());
  await small.screenshot({ path: join(shots, "cell-phone.png") });
}
await browser.close();
rmSync(home, { recursive: true });
faults.forEach((fault) => console.log(fault));
process.exit(faults.length ? 1 : 0);
