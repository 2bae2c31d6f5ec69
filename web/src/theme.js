// SPDX-License-Identifier: MIT
// Colours for canvases, which style sheets do not reach: read from the variables of page.css, light, dark or printed.

/** Okabe and Ito's palette, which colour-blind people can tell apart; page.css has both shades. */
export function color(name) {
	return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}

export const CURVES = ['blue', 'orange', 'green', 'purple'];

/** Calls it whenever the colours change: another scheme. */
export function onChange(redraw) {
	matchMedia('(prefers-color-scheme: dark)').addEventListener('change', redraw);
}

const PAPER_WIDTH = 680; // pixels of A4 and Letter within the margins of page.css
const PAPER = 'paper'; // on the root: colours are those for paper, whatever the screen has
const layouts = [];

function setPaper(isPaper) {
	if (isPaper === isOnPaper())
		return;
	document.documentElement.classList.toggle(PAPER, isPaper);
	layouts.forEach((lay) => lay());
}

export const isOnPaper = () => document.documentElement.classList.contains(PAPER);

/** Calls it when the page is laid out for paper, and for the screen again. */
export function onPaper(lay) {
	layouts.push(lay);
}

addEventListener('beforeprint', () => setPaper(true));
addEventListener('afterprint', () => setPaper(false));
matchMedia('print').addEventListener('change', ({ matches }) => setPaper(matches));

/** How wide to draw in there. */
export function widthFor(place) {
	return isOnPaper() ? PAPER_WIDTH : Math.max(place.clientWidth, 280);
}

/** A canvas for crisp lines; returns its context, cleared, in CSS pixels. */
export function sized(canvas, width, height) {
	const scale = devicePixelRatio || 1;
	canvas.width = Math.round(width * scale);
	canvas.height = Math.round(height * scale);
	canvas.style.width = `${width}px`;
	canvas.style.height = `${height}px`;
	const context = canvas.getContext('2d');
	context.setTransform(scale, 0, 0, scale, 0, 0);
	return context;
}

/** @returns {HTMLElement} with text, never markup */
export function element(tag, className = '', text = '') {
	const made = document.createElement(tag);
	if (className)
		made.className = className;
	made.textContent = text;
	return made;
}

/** Left of every chart, so that they share their time axis. */
export const GUTTER = 84;
export const RIGHT = 22;
