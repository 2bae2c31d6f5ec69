// SPDX-License-Identifier: MIT
// Colours for canvases, which style sheets do not reach: read from the variables of page.css, light, dark or printed.

/** Okabe and Ito's palette, which colour-blind people can tell apart; page.css has both shades. */
export function color(name) {
	return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}

export const CURVES = ['blue', 'orange', 'green', 'purple'];

/** Calls it whenever the colours change: another scheme, or paper. */
export function onChange(redraw) {
	matchMedia('(prefers-color-scheme: dark)').addEventListener('change', redraw);
	matchMedia('print').addEventListener('change', redraw);
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
export const RIGHT = 14;
