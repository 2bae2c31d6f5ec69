// SPDX-License-Identifier: MIT
// The curves of a run, or of two over each other, as uPlot draws them.
import uPlot from 'uplot';
import 'uplot/dist/uPlot.min.css';
import { duration, inUnit } from './format.js';
import { color, CURVES, element, GUTTER, onChange, RIGHT } from './theme.js';
import { listenToKeys } from './window.js';

const HEIGHT = 170;
const EXPAND = 2; // null stays a gap when series of different times are joined, as wide as it is
const BINARY = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512];

/** Steps of 1, 2, 4 … KiB, MiB or GiB, so that ticks are round in the unit that they are shown in. */
function binarySteps() {
	const steps = [];
	for (let unit = 1; unit <= 2 ** 40; unit *= 1024)
		steps.push(...BINARY.map((n) => n * unit));
	return steps;
}

/** Bytes in powers of two, counts in whole numbers. */
function stepsOf(unit) {
	if (unit.startsWith('bytes'))
		return { incrs: binarySteps() };
	return unit ? {} : { incrs: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000] };
}

/** Steps of 1, 2, 5, 10, 15, 30 s, min and h. */
const TIME_STEPS = [
	0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 21600,
	43200, 86400, 172800, 604800,
];

/** 0, 30s, 5m, 1h 30m: of several ticks, so it has no more than they need. */
export function tick(seconds) {
	if (seconds === 0)
		return '0';
	if (seconds < 60)
		return seconds < 1 ? `${Math.round(seconds * 1000)}ms` : `${+seconds.toFixed(2)}s`;
	return duration(seconds).replace(/ 00[ms]$/, '');
}

const fade = (rgb, alpha) => `${rgb}${Math.round(alpha * 255).toString(16).padStart(2, '0')}`;

/** One line of a chart: its times, values and, where it was joined, the least and the most. */
function linesOf(chart, runs) {
	const lines = [];
	runs.forEach((run, nth) => {
		chart.curves.forEach((curve, index) => {
			const found = run.curves[curve.key];
			if (!found)
				return;
			const two = runs.length > 1;
			lines.push({
				times: run.curves.t, values: found.v, low: found.lo, high: found.hi,
				label: two ? `${run.id} ${curve.label}` : curve.label,
				color: CURVES[two ? nth : index], dashed: two && index > 0,
			});
		});
	});
	return lines;
}

/** Where earlier runs of the type were, behind the first curve. */
function bandOf(chart, run) {
	const key = chart.curves[0].key;
	const found = run.band && run.band[key];
	if (!found)
		return null;
	return { times: found.lo.map((_, i) => i * run.band.step), low: found.lo, high: found.hi, runs: run.band.runs };
}

/** Tables of [times, values…] for uPlot.join, the series that belong to them, and the fills between two of them. */
function assemble(chart, runs, lines, band) {
	const tables = [];
	const series = [{}];
	const bands = [];
	const add = (options) => series.push({ points: { show: false }, spanGaps: false, ...options }) - 1;
	const edge = { stroke: 'transparent', width: 0 };

	if (band) {
		const line = { stroke: () => fade(color('quiet'), 0.5), width: 1 }; // a band of one run has no width
		tables.push([band.times, band.high, band.low]);
		bands.push({ series: [add(line), add(line)], fill: () => fade(color('quiet'), 0.22) });
	}
	for (const line of lines) {
		const table = [line.times, line.values];
		line.at = add({
			stroke: () => color(line.color), width: 1.6, dash: line.dashed ? [5, 4] : undefined,
			points: { show: line.times.length < 3, size: 6 },
		});
		if (line.low) {
			table.push(line.high, line.low);
			bands.push({ series: [add(edge), add(edge)], fill: () => fade(color(line.color), 0.25) });
		}
		tables.push(table);
	}
	const limit = chart.unit === 'bytes' && chart.title === 'Memory' ? runs[0].allowed.bytes : chart.unit === 'cores' ? runs[0].allowed.cores : null;
	return { data: uPlot.join(tables, tables.map((table) => table.map(() => EXPAND))), series, bands, limit };
}

/** Up to what was allowed if it came near that, else a little above the most. */
function rangeOf(limit) {
	return (_, low, high) => {
		const most = Math.max(high || 0, 0);
		if (!most)
			return [0, 1];
		return [0, limit && most > limit * 0.5 ? Math.max(most, limit) * 1.05 : most * 1.1];
	};
}

/** Draws within the plot, in pixels of the screen. */
function within(plot, draw) {
	const { ctx, bbox } = plot;
	const scale = devicePixelRatio || 1;

	ctx.save();
	ctx.beginPath();
	ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
	ctx.clip();
	ctx.lineWidth = scale;
	draw(ctx, bbox, scale);
	ctx.restore();
}

/** Behind the curves: lines and spans where something happened. */
function drawMoments(plot, moments, ctx, bbox, scale) {
	for (const moment of moments) {
		const from = plot.valToPos(moment.from, 'x', true);
		const to = plot.valToPos(moment.to ?? moment.from, 'x', true);
		ctx.strokeStyle = ctx.fillStyle = fade(color(moment.color), moment.isSpan ? 0.14 : 0.6);
		if (moment.isSpan && to > from)
			ctx.fillRect(from, bbox.top, Math.max(to - from, scale), bbox.height);
		else
			line(ctx, from, bbox.top, from, bbox.top + bbox.height, moment.dash ?? []);
	}
}

/** In front of them: what was allowed. */
function drawLimit(plot, limit, ctx, bbox, scale) {
	const at = plot.valToPos(limit, 'y', true);
	ctx.strokeStyle = color('red');
	line(ctx, bbox.left, at, bbox.left + bbox.width, at, [6 * scale, 4 * scale]);
}

function line(ctx, x1, y1, x2, y2, dash) {
	ctx.setLineDash(dash);
	ctx.beginPath();
	ctx.moveTo(x1, y1);
	ctx.lineTo(x2, y2);
	ctx.stroke();
}

/** What the curves have at the cursor, or the most. */
function readout(plot, chart, lines, shown, to) {
	to.replaceChildren();
	const at = shown.cursor;
	to.append(element('span', 'quiet', at === null ? 'most' : `at ${duration(at)}`));
	for (const line of lines) {
		const value = at === null ? most(line) : nearest(line, at);
		const entry = element('span', '', `${line.label} ${inUnit(value, chart.unit)}`);
		const swatch = element('i', `swatch ${line.color}${line.dashed ? ' dashed' : ''}`);
		entry.prepend(swatch);
		to.append(entry);
	}
}

function most(line) {
	return (line.high ?? line.values).reduce((a, b) => (b !== null && (a === null || b > a) ? b : a), null);
}

/** The sample at or before that time; null in a gap. */
function nearest(line, at) {
	let low = 0;
	let high = line.times.length;
	while (low < high) {
		const middle = (low + high) >> 1;
		if (line.times[middle] <= at)
			low = middle + 1;
		else
			high = middle;
	}
	return low ? line.values[low - 1] : null;
}

function axes(chart) {
	const common = { stroke: () => color('quiet'), grid: { stroke: () => color('grid'), width: 1 }, ticks: { show: false }, font: '12px system-ui, sans-serif' };
	return [
		{ ...common, incrs: TIME_STEPS, values: (_, ticks) => ticks.map(tick), space: 70, size: 28 },
		{
			...common, size: GUTTER, space: 30,
			...stepsOf(chart.unit),
			values: (_, ticks) => ticks.map((value) => inUnit(value, chart.unit)),
		},
	];
}

/**
 * One chart in a figure of its own.
 * @param {object} chart title, unit and curves
 */
function addChart(to, chart, runs, shown, moments) {
	const lines = linesOf(chart, runs);
	const band = runs.length === 1 ? bandOf(chart, runs[0]) : null;
	if (!lines.length)
		return;
	const figure = element('figure', 'chart');
	const caption = element('figcaption');
	const values = element('span', 'values');
	const place = element('div', 'plot');
	const { data, series, bands, limit } = assemble(chart, runs, lines, band);
	caption.append(element('strong', '', chart.title), values);
	if (band)
		caption.append(legendOf('band', `${band.runs} earlier run${band.runs === 1 ? '' : 's'}`));
	if (limit)
		caption.append(legendOf('limit', `allowed ${inUnit(limit, chart.unit)}`));
	figure.append(caption, place);
	to.append(figure);

	const width = () => Math.max(to.clientWidth, 280);
	const plot = new uPlot({
		width: width(), height: HEIGHT, series, bands, axes: axes(chart), legend: { show: false },
		padding: [8, RIGHT, 0, 0],
		scales: { x: { time: false, min: shown.min, max: shown.max }, y: { range: rangeOf(limit) } },
		cursor: { y: false, drag: { x: true, y: false, setScale: false }, points: { show: false } },
		hooks: {
			drawClear: [(u) => within(u, drawMoments.bind(null, u, moments))],
			draw: [(u) => limit && within(u, drawLimit.bind(null, u, limit))],
			setSelect: [(u) => {
				if (u.select.width > 3)
					shown.show(u.posToVal(u.select.left, 'x'), u.posToVal(u.select.left + u.select.width, 'x'));
				u.setSelect({ left: 0, width: 0, top: 0, height: 0 }, false);
			}],
			setCursor: [(u) => {
				if (u.isFollowing)
					return;
				const { left } = u.cursor;
				shown.point(left === null || left < 0 ? null : u.posToVal(left, 'x'));
			}],
		},
	}, data, place);
	place.setAttribute('role', 'img');
	place.setAttribute('aria-label', `${chart.title} over time; arrow keys move the cursor, + and - zoom, 0 shows all`);
	place.addEventListener('dblclick', () => shown.reset());
	listenToKeys(place, shown);
	const update = (what) => {
		plot.isFollowing = true;
		if (what === 'range')
			plot.setScale('x', { min: shown.min, max: shown.max });
		else
			plot.setCursor({ left: shown.cursor === null ? -10 : plot.valToPos(shown.cursor, 'x'), top: 0 }, false);
		plot.isFollowing = false;
		readout(plot, chart, lines, shown, values);
	};
	shown.listen(update);
	update('cursor');
	new ResizeObserver(() => plot.setSize({ width: width(), height: HEIGHT })).observe(to);
	onChange(() => plot.redraw(false));
}

function legendOf(kind, text) {
	const entry = element('span', 'quiet', text);
	entry.prepend(element('i', `swatch ${kind}`));
	return entry;
}

export function addCharts(to, data, shown, moments) {
	for (const chart of data.charts)
		addChart(to, chart, data.runs, shown, moments);
}
