// SPDX-License-Identifier: MIT
// Opens pages of `proctor report --html` in a real browser, does what people do there, and prints what was seen as JSON.
// One browser serves all scenes.
//
//	NODE_MODULES=… node browser.mjs '{"hour": "/tmp/hour.html", …}' [SHOTS_DIR]
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

const { chromium } = createRequire(join(process.env.NODE_MODULES, 'x'))('playwright-core');
const files = JSON.parse(process.argv[2]);
const shots = process.argv[3];
const SIZE = { width: 1280, height: 900 };

/** Loads a file and notes all that the page complains about and asks for. */
async function open(tab, { file, color = 'light', scripts = true, policy = true }) {
	const seen = { console: [], requests: [], dialogs: [] };
	await tab.page.goto('about:blank');
	await tab.page.emulateMedia({ colorScheme: color, media: null });
	await tab.page.setViewportSize(SIZE);
	await tab.control.send('Emulation.setScriptExecutionDisabled', { value: !scripts });
	await tab.control.send('Page.setBypassCSP', { enabled: !policy });
	tab.seen = seen;
	await tab.page.goto(pathToFileURL(files[file]).href);
	if (scripts)
		await tab.page.waitForSelector('html.drawn', { state: 'attached' });
	return seen;
}

/** The only tab: a window for each page would cost more than the page. */
async function firstTab(context) {
	const page = context.pages()[0];
	const tab = { page, seen: null, control: await context.newCDPSession(page) };
	page.on('console', (message) => tab.seen?.console.push(`${message.type()}: ${message.text()}`));
	page.on('pageerror', (error) => tab.seen?.console.push(String(error)));
	page.on('request', (request) => tab.seen?.requests.push(request.url()));
	page.on('dialog', (dialog) => {
		tab.seen?.dialogs.push(dialog.message());
		dialog.dismiss();
	});
	return tab;
}

/** Pictures are for people, who ask for them. */
async function shoot(page, name, fullPage = false) {
	if (shots)
		await page.screenshot({ path: join(shots, name), fullPage });
}

const readouts = (page) => page.$$eval('.chart .values', (all) => all.map((one) => one.textContent));
const firstRow = (page) => page.$eval('.processes tbody tr', (row) => [...row.cells].map((cell) => cell.textContent));
const count = (page, selector) => page.locator(selector).count();

/** How many colours a canvas has: one that is empty has one. */
const colorsOf = (page, selector) => page.$eval(selector, (canvas) => {
	const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
	return new Set(new Uint32Array(data.buffer)).size;
});

/** In the page: how light the most frequent colour of each canvas is on white, from 0 to 1. */
function grounds(all) {
	return all.map((canvas) => {
		const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
		const found = new Map();
		new Uint32Array(data.buffer).forEach((pixel) => found.set(pixel, (found.get(pixel) ?? 0) + 1));
		const [most] = [...found].reduce((a, b) => (b[1] > a[1] ? b : a));
		const alpha = (most >>> 24) / 255;
		const sum = (most & 255) + ((most >> 8) & 255) + ((most >> 16) & 255);
		return 1 - alpha * (1 - sum / 765);
	});
}

/** In the page: how it is laid out. */
function layout() {
	return {
		widths: [...document.querySelectorAll('canvas')].map((canvas) => canvas.clientWidth),
		text: getComputedStyle(document.documentElement).getPropertyValue('--text').trim(),
		rows: document.querySelectorAll('.processes tbody tr').length,
		note: document.querySelector('.on-paper').textContent,
	};
}

const scenes = {
	async look(page) {
		await shoot(page, 'light.png', true);
		return {
			title: await page.title(), verdict: await page.textContent('.verdict'), head: await page.textContent('h1'),
			captions: await page.$$eval('.chart figcaption', (all) => all.map((one) => one.textContent)),
			colors: [await colorsOf(page, '.chart canvas'), await colorsOf(page, '.lanes canvas'), await colorsOf(page, '.timeline canvas')],
			legend: await page.textContent('.timeline figcaption'),
			pictures: await count(page, '.static'), gauges: await page.$$eval('.gauge', (all) => all.map((one) => one.innerText)),
			titles: await page.$$eval('h2', (all) => all.map((one) => one.firstChild.textContent)),
		};
	},
	async dark(page) {
		await shoot(page, 'dark.png');
		return { ground: await page.$eval('body', (body) => getComputedStyle(body).backgroundColor) };
	},
	async zoom(page) {
		await page.locator('.chart .u-over').first().scrollIntoViewIfNeeded();
		const box = await page.locator('.chart .u-over').first().boundingBox();
		const y = box.y + 50;
		await page.mouse.move(box.x + box.width * 0.25, y);
		const pointed = await readouts(page);
		const whole = await page.textContent('.chart .allowed');
		await page.mouse.down();
		await page.mouse.move(box.x + box.width * 0.5, y, { steps: 4 });
		await page.mouse.up();
		const hasReset = await page.isVisible('.reset');
		await page.mouse.move(box.x + 1, y);
		const left = await readouts(page);
		const allowed = [whole, await page.textContent('.chart .allowed')];
		await page.click('.reset');
		await page.mouse.move(box.x + 1, y);
		return { pointed, hasReset, left, allowed, after: await readouts(page), isWhole: !(await page.isVisible('.reset')) };
	},
	async keyboard(page) {
		await page.mouse.move(1, 1);
		for (let i = 0; i < 30 && !(await page.evaluate(() => document.activeElement.className === 'plot')); i++)
			await page.keyboard.press('Tab');
		const focused = await page.evaluate(() => document.activeElement.getAttribute('aria-label'));
		for (let i = 0; i < 10; i++)
			await page.keyboard.press('ArrowRight');
		const moved = await readouts(page);
		await page.keyboard.press('+');
		const isZoomed = await page.isVisible('.reset');
		await page.keyboard.press('0');
		const isWhole = !(await page.isVisible('.reset'));
		await page.locator('.lanes canvas').focus();
		await page.keyboard.press(']');
		await page.keyboard.press(']');
		const moment = [await page.textContent('.lanes .readout'), (await readouts(page))[0]];
		await page.locator('.timeline .scroller canvas').focus();
		await page.keyboard.press(']');
		return { moment, focused, moved, isZoomed, isWhole, process: await page.textContent('.timeline .readout'), row: await firstRow(page) };
	},
	async tables(page) {
		await page.locator('.filter input').first().fill('');
		const byCpu = await firstRow(page);
		const head = page.locator('.processes th', { hasText: 'peak' });
		await head.locator('button').click();
		const down = [await firstRow(page), await head.getAttribute('aria-sort')];
		await head.locator('button').click();
		const up = [await firstRow(page), await head.getAttribute('aria-sort')];
		await page.locator('.filter input').first().fill('SIGSEGV');
		const found = await page.$$eval('.processes tbody tr', (rows) => rows.map((row) => row.textContent));
		const status = await page.textContent('.filter [role=status]');
		await page.locator('.filter input').first().fill('');
		await page.click('.more');
		const sheets = page.locator('table.sorts', { hasText: 'prepare' });
		await sheets.locator('th button', { hasText: 'cpu' }).first().click();
		return {
			byCpu, down, up, found, status, rows: await count(page, '.processes tbody tr'),
			sheets: await sheets.locator('tbody tr td:first-child').allTextContents(),
		};
	},
	async hostile(page) {
		await page.waitForTimeout(100);
		return {
			pwned: await page.evaluate(() => window.pwned ?? null),
			foreign: await page.$$eval('img, iframe, object, embed, a, svg script, form', (all) => all.map((one) => one.outerHTML)),
			scripts: await count(page, 'script'), text: await page.innerText('main'), title: await page.title(),
		};
	},
	async hostileWithoutPolicy(page) {
		await page.waitForTimeout(100);
		return { pwned: await page.evaluate(() => window.pwned ?? null) };
	},
	async policy(page) {
		await page.evaluate(() => {
			const script = document.createElement('script');
			script.textContent = 'window.pwned = 1';
			document.body.append(script);
			fetch('https://proctor.invalid/x').catch(() => {});
		});
		await page.waitForTimeout(100);
		return { pwned: await page.evaluate(() => window.pwned ?? null) };
	},
	async quiet(page) {
		await shoot(page, 'scripts-off.png');
		return { text: await page.locator('main').innerText(), pictures: await page.locator('.static svg').count() };
	},
	async paper(page) {
		await page.setViewportSize({ width: 1900, height: 900 });
		await page.waitForFunction(() => document.querySelector('.chart canvas').clientWidth > 1000);
		const screen = await page.evaluate(layout);
		await page.evaluate(`addEventListener('beforeprint', () => { window.printed = (${layout})(); })`);
		const pdf = await page.pdf({ format: 'A4' });
		const printed = await page.evaluate(() => window.printed);
		await page.waitForFunction(() => document.querySelector('.chart canvas').clientWidth > 1000);
		const screenAgain = await page.evaluate(layout);
		await page.emulateMedia({ media: 'print' });
		if (shots)
			writeFileSync(join(shots, 'paper.pdf'), pdf);
		return {
			screen, printed, screenAgain,
			hasButtons: await page.locator('.processes th button').first().isVisible(),
			head: await page.$eval('.processes th', (th) => getComputedStyle(th, '::before').content),
			bytes: pdf.length, hasFilter: await page.locator('.filter').first().isVisible(),
			ground: await page.$eval('body', (body) => getComputedStyle(body).backgroundColor),
		};
	},
	async narrow(page) {
		await page.setViewportSize({ width: 390, height: 800 });
		const fits = () => document.documentElement.scrollWidth <= innerWidth;
		await page.waitForFunction(fits, null, { timeout: 20000 }).catch(() => {}); // charts are drawn again after the window has changed
		await shoot(page, 'narrow.png');
		return {
			overflow: await page.evaluate(() => document.documentElement.scrollWidth - innerWidth),
			commandWidth: await page.$eval('.processes td.command', (cell) => cell.clientWidth),
		};
	},
	async failed(page) {
		await shoot(page, 'failed.png', true);
		return { text: await page.innerText('main'), ground: await page.$$eval('.chart canvas', grounds) };
	},
	async diff(page) {
		await shoot(page, 'diff.png', true);
		const tables = await page.$$eval('thead', (all) => all.map((one) => [...one.querySelectorAll('th')].map((th) => th.textContent)));
		return {
			text: await page.innerText('main'), captions: await page.$$eval('.chart figcaption', (all) => all.map((one) => one.textContent)),
			tables, heads: tables.flat(),
		};
	},
};

/** Scenes that follow each other on one page; what each was told is listed with it. */
const groups = [
	{ file: 'hour', names: ['look', 'zoom', 'keyboard', 'tables', 'policy'] },
	{ file: 'hour', color: 'dark', names: ['dark', 'narrow', 'paper'] },
	{ file: 'hour', scripts: false, names: ['quiet'] },
	{ file: 'hostile', names: ['hostile'] },
	{ file: 'hostile', policy: false, names: ['hostileWithoutPolicy'] },
	{ file: 'failed', names: ['failed'] },
	{ file: 'diff', names: ['diff'] },
];

async function play(tab, group) {
	const results = {};
	const seen = await open(tab, group);
	for (const name of group.names) {
		try {
			results[name] = { ...(await scenes[name](tab.page)), ...structuredClone(seen) };
		} catch (error) {
			results[name] = { ...structuredClone(seen), error: String(error) };
		}
	}
	return results;
}

const profile = mkdtempSync(join(tmpdir(), 'browser-'));
const context = await chromium.launchPersistentContext(profile, {
	executablePath: '/usr/bin/chromium',
	viewport: SIZE,
	args: ['--headless', '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking',
		'--disable-component-update', '--disable-sync', '--disable-dev-shm-usage'],
});
try {
	const tab = await firstTab(context);
	const results = {};
	for (const group of groups)
		Object.assign(results, await play(tab, group));
	console.log(JSON.stringify(results));
} finally {
	await context.close();
	rmSync(profile, { recursive: true, force: true });
}
