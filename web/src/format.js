// SPDX-License-Identifier: MIT
// Numbers as people read them, as src/view/format.c does.

const UNITS = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'];

/** 6.1 GiB */
export function bytes(value) {
	if (value === null || value === undefined)
		return '-';
	let unit = 0;
	for (; Math.abs(value) >= 999.5 && unit < UNITS.length - 1; unit++)
		value /= 1024;
	return `${digits(value)} ${UNITS[unit]}`;
}

/** Three digits that matter, none behind the point from 100 on. */
function digits(value) {
	if (Number.isInteger(value) || Math.abs(value) >= 100)
		return String(Math.round(value));
	return value.toFixed(Math.abs(value) < 1 ? 2 : 1);
}

/** 412 ms, 1.4s, 12m 41s, 3h 05m */
export function duration(seconds) {
	if (seconds === null || seconds === undefined)
		return '-';
	const two = (n) => String(n).padStart(2, '0');
	if (seconds < 1)
		return `${digits(seconds * 1000)}ms`;
	if (seconds < 10)
		return `${seconds.toFixed(1)}s`;
	const whole = Math.round(seconds);
	const [d, h, m, s] = [Math.floor(whole / 86400), Math.floor(whole / 3600) % 24, Math.floor(whole / 60) % 60, whole % 60];
	if (d)
		return `${d}d ${h}h`;
	if (h)
		return `${h}h ${two(m)}m`;
	return m ? `${m}m ${two(s)}s` : `${s}s`;
}

/** Steps of 1, 2, 5, 10, 15, 30 s, min and h. */
export const TIME_STEPS = [
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

/** Round times, at most so many. */
export function ticksBetween(min, max, most) {
	const step = TIME_STEPS.find((s) => (max - min) / s <= most) ?? TIME_STEPS.at(-1);
	const ticks = [];
	for (let n = Math.ceil(min / step); n * step <= max; n++)
		ticks.push(n * step);
	return ticks;
}

export const count = (n) => n.toLocaleString('en-US');

/** A value of a chart in its unit. */
export function inUnit(value, unit) {
	if (value === null || value === undefined)
		return '-';
	if (unit === 'bytes')
		return bytes(value);
	if (unit === 'bytes/s')
		return `${bytes(value)}/s`;
	const text = Math.abs(value) >= 100 || Number.isInteger(value) ? count(Math.round(value)) : value.toFixed(value >= 10 ? 1 : 2);
	return unit ? `${text} ${unit === 'cores' && text === '1' ? 'core' : unit}` : text;
}

/** "1.1 – 1.3 GiB", or one value where both are shown alike. */
export function rangeText(low, high, unit) {
	const [a, b] = [inUnit(low, unit), inUnit(high, unit)];
	if (a === b)
		return a;
	const [number, ...words] = a.split(' ');
	return `${words.join(' ') === b.split(' ').slice(1).join(' ') ? number : a} – ${b}`;
}

const MARKS = { exact: '', sampled: '~', at_least: '≥', at_most: '≤', missing: '' };

/** The mark of its quality before a figure. */
export const marked = (text, quality) => (text === '-' ? text : MARKS[quality] + text);
export const inWords = (quality) => quality.replace('_', ' ');

const SIZES = { B: 1, KiB: 2 ** 10, MiB: 2 ** 20, GiB: 2 ** 30, TiB: 2 ** 40, PiB: 2 ** 50 };
const SECONDS = { ms: 1e-3, us: 1e-6, ns: 1e-9, s: 1, m: 60, h: 3600, d: 86400 };

/** What a cell of a table is worth, to sort by; null: it is text, or not known. */
export function worth(text) {
	const plain = text.replace(/^[~≥≤+<]\s*/, '').replaceAll(',', '');
	const size = /^(-?[\d.]+) ([KMGTP]?i?B)(\/s)?$/.exec(plain);
	if (size)
		return Number(size[1]) * SIZES[size[2]];
	if (/^-?[\d.]+( %| cores)?$/.test(plain))
		return Number.parseFloat(plain);
	if (!/^([\d.]+(ms|us|ns|[smhd])\s*)+$/.test(plain))
		return null;
	let total = 0;
	for (const [, amount, unit] of plain.matchAll(/([\d.]+)(ms|us|ns|[smhd])/g))
		total += Number(amount) * SECONDS[unit];
	return total;
}
