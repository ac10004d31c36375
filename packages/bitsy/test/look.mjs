// How pages look, and whether everybody can use them.

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";

const AXE = await readFile(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
export const PHONE = { width: 360, height: 740 };
export const DESKTOP = { width: 1280, height: 900 };
const SHOTS = process.env.BITSY_SCREENSHOTS;

// Fails for each finding of axe-core that is serious or critical, and for content that is wider than a phone.
export async function check(page, what) {
  for (const [kind, viewport] of Object.entries({ phone: PHONE, desktop: DESKTOP })) {
    await page.setViewport(viewport);
    const width = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    assert.ok(width <= 0, `${what} is ${width} px too wide on a ${kind}`);
    if (SHOTS) await page.screenshot({ path: `${SHOTS}/${what}-${kind}.png`, fullPage: true });
  }
  await page.evaluate(AXE);
  const found = await page.evaluate(async () => (await axe.run()).violations
    .filter(({ impact }) => impact === "serious" || impact === "critical")
    .map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(" ")}`));
  assert.deepEqual(found, [], what);
}
