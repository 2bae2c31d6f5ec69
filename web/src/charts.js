// SPDX-License-Identifier: MIT
// The curves of a run, or of two over each other, as uPlot draws them.
import uPlot from 'uplot';
import 'uplot/dist/uPlot.min.css';
import { duration, inUnit, rangeText, tick, TIME_STEPS } from './format.js';
import { closeSteps, joinSteps, valueAt } from './steps.js';
import { color, CURVES, element, GUTTER, onChange, onPaper, RIGHT, widthFor } from './theme.js';
import { listenToKeys } from './window.js';

const HEIGHT = 170;
const TOP = 12; // room for half a label
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
				times: run.curves.t, values: found.v, low: found.lo, high: found.hi, end: run.seconds,
				label: two ? `${run.letter} ${curve.label}` : curve.label,
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
	return { times: found.lo.map((_, i) => i * run.band.step), low: found.lo, high: found.hi, end: run.seconds, runs: run.band.runs };
}

/** What was allowed, each amount once. */
function limitsOf(chart, runs) {
	const key = chart.title === 'Memory' ? 'bytes' : chart.unit === 'cores' ? 'cores' : null;
	const found = new Map();
	for (const run of key ? runs : []) {
		const value = run.allowed[key];
		if (value !== null)
			found.set(value, [...(found.get(value) ?? []), run.letter]);
	}
	return [...found].map(([value, letters]) => ({ value, whose: found.size > 1 ? `${letters.join(', ')} ` : '' }));
}

/** The values for uPlot on one axis of times, the series that belong to them, and the fills between two of them. */
function assemble(lines, band) {
	const steps = [];
	const series = [{}];
	const bands = [];
	const paths = uPlot.paths.stepped({ align: 1, alignGaps: 1 }); // a value holds until the next one
	const add = (of, values, options) => {
		steps.push(closeSteps(of.times, values, of.end));
		return series.push({ points: { show: false }, spanGaps: false, paths, ...options }) - 1;
	};
	const edge = { stroke: 'transparent', width: 0 };

	if (band) {
		const line = { stroke: () => fade(color('quiet'), 0.5), width: 1 }; // a band of one run has no width
		bands.push({ series: [add(band, band.high, line), add(band, band.low, line)], fill: () => fade(color('quiet'), 0.22) });
	}
	for (const line of lines) {
		if (line.low)
			bands.push({ series: [add(line, line.high, edge), add(line, line.low, edge)], fill: () => fade(color(line.color), 0.25) });
		add(line, line.values, { stroke: () => color(line.color), width: 1.6, dash: line.dashed ? [5, 4] : undefined });
	}
	return { data: joinSteps(steps), series, bands };
}

/** Up to what was allowed if it came near that, else a little above the most. */
function rangeOf(limits) {
	return (_, low, high) => {
		const most = Math.max(high || 0, 0);
		const near = limits.map(({ value }) => value).filter((value) => most > value * 0.5);
		return [0, most ? Math.max(most * 1.1, ...near.map((value) => value * 1.05)) : 1];
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

/** Behind the curves: spans, those that overlap as pale as one, and lines where something happened. */
function drawMoments(plot, moments, ctx, bbox, scale) {
	const isSpan = (moment) => moment.isSpan && moment.to > moment.from;
	const x = (seconds) => plot.valToPos(seconds, 'x', true);
	for (const name of new Set(moments.filter(isSpan).map((moment) => moment.color))) {
		ctx.fillStyle = fade(color(name), 0.14);
		ctx.beginPath();
		for (const { from, to } of moments.filter((moment) => isSpan(moment) && moment.color === name))
			ctx.rect(x(from), bbox.top, Math.max(x(to) - x(from), scale), bbox.height);
		ctx.fill();
	}
	for (const moment of moments.filter((one) => !isSpan(one))) {
		ctx.strokeStyle = fade(color(moment.color), 0.6);
		line(ctx, x(moment.from), bbox.top, x(moment.from), bbox.top + bbox.height, moment.dash ?? []);
	}
}

/** In front of them: what was allowed. */
function drawLimits(plot, limits, ctx, bbox, scale) {
	ctx.strokeStyle = color('red');
	for (const { value } of limits) {
		const at = plot.valToPos(value, 'y', true);
		line(ctx, bbox.left, at, bbox.left + bbox.width, at, [6 * scale, 4 * scale]);
	}
}

function line(ctx, x1, y1, x2, y2, dash) {
	ctx.setLineDash(dash);
	ctx.beginPath();
	ctx.moveTo(x1, y1);
	ctx.lineTo(x2, y2);
	ctx.stroke();
}

/** What the curves have at the cursor, of what was joined from the least to the most; or the most of all. */
function readout(chart, lines, shown, to) {
	const at = shown.cursor;
	to.replaceChildren(element('span', 'quiet', at === null ? 'most' : `at ${duration(at)}`));
	for (const line of lines) {
		const entry = element('span', '', `${line.label} ${at === null ? inUnit(most(line), chart.unit) : valueText(line, at, chart.unit)}`);
		entry.prepend(element('i', `swatch ${line.color}${line.dashed ? ' dashed' : ''}`));
		to.append(entry);
	}
}

function most(line) {
	return (line.high ?? line.values).reduce((a, b) => (b !== null && (a === null || b > a) ? b : a), null);
}

function valueText(line, at, unit) {
	return rangeText(valueAt(line, line.low ?? line.values, at), valueAt(line, line.high ?? line.values, at), unit);
}

/** "allowed 8 GiB", with its line or, where that is above the chart, without. */
function showLimits(plot, limits, unit, to) {
	to.replaceChildren(...limits.map(({ value, whose }) => {
		const isAbove = value > plot.scales.y.max;
		return legendOf(isAbove ? '' : 'limit', `${whose}allowed ${inUnit(value, unit)}${isAbove ? ', above this chart' : ''}`);
	}));
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

/** Drags show what was dragged over, all charts follow the cursor. */
function cursorHooks(shown) {
	return {
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
	};
}

/** Title, values at the cursor, and what else is drawn. */
function captionOf(chart, band) {
	const caption = element('figcaption');
	const values = element('span', 'values');
	const allowed = element('span', 'allowed');
	caption.append(element('strong', '', chart.title), values);
	if (band)
		caption.append(legendOf('band', `${band.runs} earlier run${band.runs === 1 ? '' : 's'}`));
	caption.append(allowed);
	return { caption, values, allowed };
}

/**
 * One chart in a figure of its own; without a plot where all is 0.
 * @param {object} chart title, unit and curves
 */
function addChart(to, chart, runs, shown, moments) {
	const lines = linesOf(chart, runs);
	if (!lines.length)
		return;
	const band = runs.length === 1 ? bandOf(chart, runs[0]) : null;
	const isEmpty = lines.every((line) => !most(line)) && !(band && band.high.some((value) => value));
	const { caption, values, allowed } = captionOf(chart, isEmpty ? null : band);
	const figure = element('figure', 'chart');
	figure.append(caption);
	to.append(figure);
	shown.listen(() => readout(chart, lines, shown, values));
	readout(chart, lines, shown, values);
	if (!isEmpty)
		addPlot(to, figure, allowed, { chart, lines, band, moments, limits: limitsOf(chart, runs) }, shown);
}

function addPlot(to, figure, allowed, { chart, lines, band, moments, limits }, shown) {
	const { data, series, bands } = assemble(lines, band);
	const place = element('div', 'plot');
	figure.append(place);
	const plot = new uPlot({
		width: widthFor(to), height: HEIGHT, series, bands, axes: axes(chart), legend: { show: false },
		padding: [TOP, RIGHT, 0, 0],
		scales: { x: { time: false, min: shown.min, max: shown.max }, y: { range: rangeOf(limits) } },
		cursor: { y: false, drag: { x: true, y: false, setScale: false }, points: { show: false } },
		hooks: {
			drawClear: [(u) => within(u, drawMoments.bind(null, u, moments))],
			draw: [(u) => {
				within(u, drawLimits.bind(null, u, limits));
				showLimits(u, limits, chart.unit, allowed);
			}],
			...cursorHooks(shown),
		},
	}, data, place);
	place.setAttribute('role', 'img');
	place.setAttribute('aria-label', `${chart.title} over time; arrow keys move the cursor, + and - zoom, 0 shows all`);
	place.addEventListener('dblclick', () => shown.reset());
	listenToKeys(place, shown);
	shown.listen((what) => {
		plot.isFollowing = true;
		if (what === 'range')
			plot.setScale('x', { min: shown.min, max: shown.max });
		else
			plot.setCursor({ left: shown.cursor === null ? -10 : plot.valToPos(shown.cursor, 'x'), top: 0 }, false);
		plot.isFollowing = false;
	});
	const resize = () => plot.width !== widthFor(to) && plot.setSize({ width: widthFor(to), height: HEIGHT });
	new ResizeObserver(resize).observe(to);
	onPaper(resize);
	onChange(() => plot.redraw(false));
}

function legendOf(kind, text) {
	const entry = element('span', 'quiet', text);
	if (kind)
		entry.prepend(element('i', `swatch ${kind}`));
	return entry;
}

export function addCharts(to, data, shown, moments) {
	for (const chart of data.charts)
		addChart(to, chart, data.runs, shown, moments);
}
