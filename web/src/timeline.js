// SPDX-License-Identifier: MIT
// Every process of a run as a bar, coloured by its outcome. Bars that do not overlap share a row, so that thousands
// fit; only those in the window are drawn.
import { bytes, duration, inWords, marked, tick, ticksBetween } from './format.js';
import { color, element, GUTTER, isOnPaper, onChange, onPaper, RIGHT, sized, widthFor } from './theme.js';
import { listenToKeys } from './window.js';

const HEIGHT = 420; // the rows share it …
const ROW_MIN = 3; // … down to this, then it grows
const ROW_MAX = 18;
const CANVAS_MAX = 12000;
const AXIS = 22;
const TICK_SPACE = 70;
const PAPER_MAX = 800; // what fits on a page
const LABEL_ROW = 12; // rows from this height on have names

export const OUTCOMES = {
	ok: { color: 'blue', words: 'exit 0' },
	failed: { color: 'orange', words: 'failed' },
	signal: { color: 'red', words: 'died of a signal' },
	passed: { color: 'quiet', words: 'ended as the command that they ran' },
	lives: { color: 'green', words: 'still running' },
	left: { color: 'purple', words: 'left behind' },
	unknown: { color: 'pale', words: 'end not known' },
};

/** The first row whose last bar has ended. @returns {{rows: number, bars: object[]}} */
export function pack(processes, seconds) {
	const ends = [];
	const bars = processes
		.filter((p) => p.from !== null)
		.map((process) => ({ process, from: process.from, to: Math.max(process.to ?? seconds, process.from) }))
		.sort((a, b) => a.from - b.from);
	for (const bar of bars) {
		let row = ends.findIndex((end) => end <= bar.from);
		if (row < 0)
			row = ends.push(0) - 1;
		ends[row] = bar.to + seconds * 1e-4;
		bar.row = row;
	}
	return { rows: ends.length, bars };
}

/** In a line what is known of a process. */
export function describe(p) {
	const peak = marked(bytes(p.peak), p.peakQuality);
	const cpu = marked(duration(p.cpu), p.cpuQuality);
	const lived = p.to === null || p.from === null ? '' : ` · lived ${duration(p.to - p.from)}`;
	return `${p.pid} ${p.name} · ${p.ended || OUTCOMES[p.outcome].words}${lived} · CPU ${cpu} (${inWords(p.cpuQuality)})` +
		` · peak ${peak} (${inWords(p.peakQuality)}) · ${p.command}`;
}

export class Timeline {
	constructor(to, run, shown, onPick) {
		this.shown = shown;
		this.onPick = onPick;
		this.selected = null;
		Object.assign(this, pack(run.processes, run.seconds));
		this.figure = element('figure', 'timeline');
		this.scroller = element('div', 'scroller');
		this.canvas = element('canvas');
		this.readout = element('p', 'readout quiet', 'Point at a bar to read it, click to find it in the table. [ and ] go from process to process.');
		this.canvas.setAttribute('role', 'img');
		this.canvas.setAttribute('aria-label', `${this.bars.length} processes over time, coloured by outcome`);
		this.scroller.append(this.canvas);
		this.line = element('div', 'cursor');
		this.line.hidden = true;
		this.scroller.append(this.line);
		this.axis = element('canvas', 'axis');
		this.axis.setAttribute('aria-hidden', 'true');
		this.figure.append(this.#legend(run), this.scroller, this.axis, this.readout);
		to.append(this.figure);
		this.#listen(to);
	}

	#legend({ processes, letter }) {
		const legend = element('figcaption');
		legend.append(element('strong', '', `${letter} Every process`.trim()));
		for (const [outcome, { color: name, words }] of Object.entries(OUTCOMES)) {
			const n = processes.filter((p) => p.outcome === outcome).length;
			if (!n)
				continue;
			const entry = element('span', '', `${n.toLocaleString('en-US')} ${words}`);
			entry.prepend(element('i', `swatch ${name}`));
			legend.append(entry);
		}
		return legend;
	}

	#listen(to) {
		this.canvas.addEventListener('pointermove', (event) => {
			const bar = this.#find(event);
			if (bar)
				this.readout.textContent = describe(bar.process);
			this.shown.point(this.#seconds(event.offsetX));
		});
		this.canvas.addEventListener('click', (event) => this.#select(this.#find(event)));
		this.canvas.addEventListener('dblclick', () => this.shown.reset());
		this.canvas.addEventListener('keydown', (event) => {
			if (event.key === '[' || event.key === ']')
				this.#step(event.key === ']' ? 1 : -1);
		});
		listenToKeys(this.canvas, this.shown);
		this.shown.listen((what) => (what === 'range' ? this.draw() : this.#drawCursor()));
		new ResizeObserver(() => this.draw()).observe(to);
		onChange(() => this.draw());
		onPaper(() => this.draw());
	}

	#layOut() {
		const rows = Math.max(this.rows, 1);
		this.rowHeight = Math.min(Math.max(HEIGHT / rows, ROW_MIN), ROW_MAX, (isOnPaper() ? PAPER_MAX : CANVAS_MAX) / rows);
		this.height = Math.ceil(this.rows * this.rowHeight);
		this.width = widthFor(this.scroller);
	}

	#x(seconds) {
		const { min, max } = this.shown;
		return GUTTER + ((seconds - min) / (max - min)) * (this.width - GUTTER - RIGHT);
	}

	#seconds(x) {
		const { min, max } = this.shown;
		return Math.min(Math.max(min + ((x - GUTTER) / (this.width - GUTTER - RIGHT)) * (max - min), min), max);
	}

	#drawCursor() {
		const { cursor } = this.shown;
		this.line.hidden = cursor === null;
		this.line.style.left = `${this.#x(cursor ?? 0)}px`;
		this.line.style.height = `${this.height}px`;
	}

	#drawAxis() {
		const ctx = sized(this.axis, this.width, AXIS);
		ctx.font = '12px system-ui, sans-serif';
		ctx.fillStyle = color('quiet');
		ctx.textAlign = 'center';
		ctx.textBaseline = 'top';
		for (const at of ticksBetween(this.shown.min, this.shown.max, (this.width - GUTTER - RIGHT) / TICK_SPACE))
			ctx.fillText(tick(at), Math.min(this.#x(at), this.width - RIGHT), 4);
	}

	draw() {
		this.#layOut();
		this.#drawAxis();
		this.#drawCursor();
		const ctx = sized(this.canvas, this.width, this.height);
		const colors = Object.fromEntries(Object.entries(OUTCOMES).map(([key, { color: name }]) => [key, color(name)]));
		const gap = this.rowHeight > 5 ? 1 : 0;

		ctx.font = '11px system-ui, sans-serif';
		ctx.textBaseline = 'middle';
		ctx.beginPath();
		ctx.rect(GUTTER, 0, this.width - GUTTER - RIGHT, this.height);
		ctx.clip();
		for (const bar of this.bars) {
			if (bar.to < this.shown.min || bar.from > this.shown.max)
				continue;
			this.#drawBar(ctx, bar, colors[bar.process.outcome], gap);
		}
	}

	#drawBar(ctx, bar, fill, gap) {
		const from = Math.max(this.#x(bar.from), GUTTER);
		const width = Math.max(this.#x(bar.to) - from, 1);
		const top = bar.row * this.rowHeight;

		ctx.fillStyle = fill;
		ctx.fillRect(from, top, width, this.rowHeight - gap);
		if (bar === this.selected) {
			ctx.strokeStyle = color('text');
			ctx.lineWidth = 2;
			ctx.strokeRect(from - 1, top, width + 2, this.rowHeight - gap);
		}
		if (this.rowHeight >= LABEL_ROW && width > ctx.measureText(bar.process.name).width + 8) {
			ctx.fillStyle = color('on-bar');
			ctx.fillText(bar.process.name, from + 4, top + this.rowHeight / 2);
		}
	}

	#find(event) {
		const row = Math.floor(event.offsetY / this.rowHeight);
		const at = this.#seconds(event.offsetX);
		const slack = ((this.shown.max - this.shown.min) / this.width) * 2;
		return this.bars.find((bar) => bar.row === row && bar.from - slack <= at && at <= bar.to + slack);
	}

	#select(bar) {
		this.selected = bar ?? null;
		if (bar) {
			this.readout.textContent = describe(bar.process);
			this.onPick(bar.process);
		}
		this.draw();
	}

	#step(by) {
		const at = this.bars.indexOf(this.selected) + by;
		this.#select(this.bars[(at + this.bars.length) % this.bars.length]);
	}
}
