// SPDX-License-Identifier: MIT
// What happened when: sheets, phases, marks, anomalies and events, a lane each, above the charts and in their time.
import { duration } from './format.js';
import { color, element, GUTTER, onChange, onPaper, RIGHT, sized, widthFor } from './theme.js';
import { listenToKeys } from './window.js';

const LANE = 20;
const INSET = 3;
const LINES_MAX = 40; // more would hide the curves
const NEAR = 6; // pixels within which a moment is under the pointer

/**
 * @typedef {{from: number, to: ?number, text: string, label: string, color: string, isSpan?: boolean, dash?: number[]}} Moment
 */

/** @returns {{title: string, moments: Moment[]}[]} the lanes of a run that are not empty */
export function lanesOf(run) {
	const phases = run.marks.filter((mark) => mark.to !== undefined);
	const marks = run.marks.filter((mark) => mark.to === undefined);
	const dataOf = ({ data }) => (data && data !== '{}' ? ` ${data}` : '');
	const took = (m) => `${duration(m.from)}, ${m.to === null ? 'not ended' : `took ${duration(m.to - m.from)}`}`;
	const lanes = [
		{
			title: 'Sheets', moments: run.sheets.filter((s) => s.from !== null).map((s) => ({
				from: s.from, to: s.to ?? run.seconds, label: `${s.num} ${s.label}`.trim(), color: s.failed ? 'red' : 'blue', isBar: true,
				text: `sheet ${s.num} ${s.label}: ${s.result}, at ${took(s)}`,
			})),
		},
		{
			title: 'Phases', moments: phases.map((p) => ({
				from: p.from, to: p.to, label: p.name, color: 'purple', isBar: true, text: `phase ${p.name}, at ${took(p)}${dataOf(p)}`,
			})),
		},
		{
			title: 'Marks', moments: marks.map((m) => ({
				from: m.from, to: null, label: m.name, color: 'green', dash: [2, 3], text: `mark ${m.name} at ${duration(m.from)}${dataOf(m)}`,
			})),
		},
		{
			title: 'Anomalies', moments: run.anomalies.filter((a) => a.from !== null).map((a) => ({
				from: a.from, to: a.to ?? run.seconds, label: a.kind.replaceAll('_', ' '), color: 'orange', isBar: true, isSpan: true,
				text: `${a.severity} anomaly at ${duration(Math.max(a.from, 0))}: ${a.text}`,
			})),
		},
		{
			title: 'Events', moments: run.events.filter((e) => e.from !== null).map((e) => ({
				from: e.from, to: null, label: e.what, color: e.bad ? 'red' : 'quiet',
				text: `${duration(Math.max(e.from, 0))}  ${e.what}: ${e.text}${e.count > 1 ? ` (${e.count} times)` : ''}`,
			})),
		},
	];
	return lanes.filter((lane) => lane.moments.length);
}

/** What is drawn across the charts as well; of sheets and phases, which would cover them, a line where each begins. */
export function momentsOf(lanes) {
	return lanes.flatMap((lane) => {
		if (!['Sheets', 'Phases'].includes(lane.title))
			return lane.moments;
		return lane.moments.length > LINES_MAX ? [] : lane.moments.map(({ from, color: name }) => ({ from, color: name }));
	});
}

export class Lanes {
	constructor(to, lanes, shown) {
		this.lanes = lanes;
		this.shown = shown;
		this.figure = element('figure', 'lanes');
		this.canvas = element('canvas');
		this.selected = -1;
		this.readout = element('p', 'readout quiet', 'Point at a mark to read it, or go from one to the next with [ and ]. Drag in a chart to zoom, double-click to see all.');
		this.readout.setAttribute('role', 'status');
		this.canvas.setAttribute('role', 'img');
		this.canvas.setAttribute('aria-label', `${lanes.map((lane) => `${lane.moments.length} ${lane.title.toLowerCase()}`).join(', ')}; [ and ] go from one to the next`);
		this.figure.append(this.canvas, this.readout);
		to.append(this.figure);
		this.canvas.addEventListener('pointermove', (event) => this.#point(event));
		this.canvas.addEventListener('keydown', (event) => {
			if (event.key === '[' || event.key === ']')
				this.#step(event.key === ']' ? 1 : -1);
		});
		listenToKeys(this.canvas, shown);
		shown.listen(() => this.draw());
		new ResizeObserver(() => this.draw()).observe(to);
		onChange(() => this.draw());
		onPaper(() => this.draw());
	}

	/** In the order of time, whatever their lanes; the cursor goes there, too. */
	#step(by) {
		const all = this.lanes.flatMap((lane) => lane.moments).sort((a, b) => a.from - b.from);
		this.selected = (this.selected + by + (this.selected < 0 && by < 0 ? 1 : 0) + all.length) % all.length;
		this.readout.textContent = all[this.selected].text;
		this.shown.point(Math.min(Math.max(all[this.selected].from, this.shown.min), this.shown.max));
	}

	#x(seconds) {
		const { min, max } = this.shown;
		return GUTTER + ((seconds - min) / (max - min)) * (this.width - GUTTER - RIGHT);
	}

	draw() {
		this.width = widthFor(this.figure);
		const ctx = sized(this.canvas, this.width, this.lanes.length * LANE);
		ctx.font = '12px system-ui, sans-serif';
		ctx.textBaseline = 'middle';
		this.lanes.forEach((lane, i) => this.#drawLane(ctx, lane, i * LANE));
		if (this.shown.cursor !== null) {
			ctx.fillStyle = color('quiet');
			ctx.fillRect(this.#x(this.shown.cursor), 0, 1, this.lanes.length * LANE);
		}
	}

	#drawLane(ctx, lane, top) {
		ctx.fillStyle = color('quiet');
		ctx.textAlign = 'right';
		ctx.fillText(lane.title, GUTTER - 8, top + LANE / 2);
		ctx.save();
		ctx.beginPath();
		ctx.rect(GUTTER, top, this.width - GUTTER - RIGHT, LANE);
		ctx.clip();
		ctx.textAlign = 'left';
		let free = -Infinity; // labels do not overlap
		lane.moments.forEach((moment, i) => {
			const next = lane.moments[i + 1] ? this.#x(lane.moments[i + 1].from) : this.width;
			const from = this.#x(moment.from);
			const to = moment.isBar ? Math.max(this.#x(moment.to), from + 2) : from + 2;
			ctx.fillStyle = color(moment.color);
			ctx.globalAlpha = moment.isBar ? 0.75 : 1;
			ctx.fillRect(from, top + INSET, to - from, LANE - 2 * INSET);
			ctx.globalAlpha = 1;
			free = this.#label(ctx, moment, from, moment.isBar ? to : next, top, free);
		});
		ctx.restore();
	}

	/** Within a bar that has room for it, or between a mark and the next. */
	#label(ctx, moment, from, end, top, free) {
		const begin = Math.max(from, GUTTER) + (moment.isBar ? 4 : 6);
		const width = ctx.measureText(moment.label).width;
		if (begin + width >= end || begin <= free)
			return free;
		ctx.fillStyle = color(moment.isBar ? 'on-bar' : 'text');
		ctx.fillText(moment.label, begin, top + LANE / 2 + 1);
		return begin + width + 8;
	}

	#point(event) {
		const lane = this.lanes[Math.floor(event.offsetY / LANE)];
		const found = lane?.moments.filter((moment) => {
			const from = this.#x(moment.from);
			const to = moment.isBar ? Math.max(this.#x(moment.to), from) : from;
			return event.offsetX >= from - NEAR && event.offsetX <= to + NEAR;
		});
		if (found?.length)
			this.readout.textContent = found.slice(0, 3).map((moment) => moment.text).join('  ·  ');
	}
}
