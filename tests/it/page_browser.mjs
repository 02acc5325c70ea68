// What the cases of the page share: the browser, ways to use the page, and checks of its look.

import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { join } from "node:path";

export const [url, name] = process.argv.slice(2);

/** The browser that `HAFT_CHROMIUM` names, or the first that there is. */
export function browserPath() {
  const folders = (process.env.PATH ?? "").split(":");
  const names = ["chromium", "chromium-browser", "google-chrome"];
  const places = names.flatMap((one) => folders.map((folder) => join(folder, one)));
  const found = process.env.HAFT_CHROMIUM ?? places.find((place) => existsSync(place));
  assert.ok(found, "no Chromium: `apt-get install chromium`, or name one with HAFT_CHROMIUM");
  return found;
}

export async function open(page, tool) {
  await page.goto(`${url}/#/tools/${tool}`);
  await page.locator(`article.tool h1`).waitFor();
  await page.waitForFunction((name) => document.title.startsWith(name), tool);
}

export async function names(page) {
  return page.locator("#side .name").allInnerTexts();
}

/** The newest call, once it has ended like this. */
export async function ended(page, state) {
  const run = page.locator(".run").first();
  await page.locator(`.run:first-child[data-state=${state}]`).waitFor();
  return run;
}

export async function focusIs(page, label) {
  await page.waitForFunction(
    ([source, flags, exact]) => {
      const element = document.activeElement;
      const text = (element?.getAttribute("aria-label") ?? element?.textContent ?? "").trim();
      return exact === null ? new RegExp(source, flags).test(text) : text === exact;
    },
    label instanceof RegExp ? [label.source, label.flags, null] : ["", "", label],
  );
}

export async function luminance(page) {
  return page.evaluate(() => {
    const [red, green, blue] = getComputedStyle(document.body)
      .backgroundColor.match(/[\d.]+/g)
      .map(Number);
    return (0.2126 * red + 0.7152 * green + 0.0722 * blue) / 255;
  });
}

/** Every text that is seen has a contrast of 4.5 to what is behind it. */
export async function readable(page, where) {
  const dim = await page.evaluate(() => {
    const parse = (colour) => {
      const [red, green, blue, alpha = 1] = colour.match(/[\d.]+/g).map(Number);
      return { red, green, blue, alpha };
    };
    const over = (front, back) => ({
      red: front.red * front.alpha + back.red * (1 - front.alpha),
      green: front.green * front.alpha + back.green * (1 - front.alpha),
      blue: front.blue * front.alpha + back.blue * (1 - front.alpha),
      alpha: 1,
    });
    const light = ({ red, green, blue }) => {
      const part = (value) => {
        const share = value / 255;
        return share <= 0.03928 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
      };
      return 0.2126 * part(red) + 0.7152 * part(green) + 0.0722 * part(blue);
    };
    const behind = (element) => {
      const stack = [];
      for (let at = element; at; at = at.parentElement) {
        stack.push(parse(getComputedStyle(at).backgroundColor));
      }
      return stack.reverse().reduce((back, front) => over(front, back), parse("rgb(255,255,255)"));
    };
    const found = [];
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) {
      const element = walker.currentNode.parentElement;
      if (!walker.currentNode.textContent.trim() || !element.checkVisibility()) continue;
      if (element.closest(".unseen, .skip, :disabled, noscript, option")) continue;
      const back = behind(element);
      const style = getComputedStyle(element);
      const colour = parse(style.color);
      const front = over({ ...colour, alpha: colour.alpha * Number(style.opacity) }, back);
      const [one, other] = [light(front), light(back)].sort((a, b) => b - a);
      const contrast = (one + 0.05) / (other + 0.05);
      if (contrast < 4.5) found.push(`${walker.currentNode.textContent.trim()}: ${contrast}`);
    }
    return found;
  });
  assert.deepEqual(dim, [], where);
}

