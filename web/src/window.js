// SPDX-License-Identifier: MIT
// The stretch of time that is shown, and where the cursor is: shared by all charts, lanes and timelines.

const LEAST = 1e-3; // of the whole

export class TimeWindow {
	constructor(seconds) {
		this.seconds = seconds;
		this.min = 0;
		this.max = seconds;
		this.cursor = null;
		this.listeners = [];
	}

	/** @param {(what: 'range'|'cursor') => void} listener */
	listen(listener) {
		this.listeners.push(listener);
	}

	emit(what) {
		for (const listener of this.listeners)
			listener(what);
	}

	show(min, max) {
		const length = Math.min(Math.max(max - min, this.seconds * LEAST), this.seconds);
		min = Math.min(Math.max(min, 0), this.seconds - length);
		if (min === this.min && min + length === this.max)
			return;
		this.min = min;
		this.max = min + length;
		this.emit('range');
	}

	reset() {
		this.show(0, this.seconds);
	}

	/** Around the cursor, or the middle. */
	zoom(factor) {
		const at = this.cursor ?? (this.min + this.max) / 2;
		this.show(at - (at - this.min) * factor, at + (this.max - at) * factor);
	}

	pan(share) {
		const by = (this.max - this.min) * share;
		this.show(this.min + by, this.max + by);
	}

	point(at) {
		if (at === this.cursor)
			return;
		this.cursor = at;
		this.emit('cursor');
	}

	/** By a share of what is shown. */
	step(share) {
		const at = (this.cursor ?? this.min) + (this.max - this.min) * share;
		this.point(Math.min(Math.max(at, this.min), this.max));
	}

	get isWhole() {
		return this.min === 0 && this.max === this.seconds;
	}
}

const KEYS = {
	ArrowLeft: (w, far) => (far ? w.pan(-0.25) : w.step(-0.01)),
	ArrowRight: (w, far) => (far ? w.pan(0.25) : w.step(0.01)),
	'+': (w) => w.zoom(0.5),
	'=': (w) => w.zoom(0.5),
	'-': (w) => w.zoom(2),
	Home: (w) => w.point(w.min),
	End: (w) => w.point(w.max),
	0: (w) => w.reset(),
	Escape: (w) => w.reset(),
};

/** Arrows move the cursor, with Shift the window; + and - zoom, 0 and Escape show all. */
export function listenToKeys(element, shown) {
	element.tabIndex = 0;
	element.addEventListener('keydown', (event) => {
		const act = KEYS[event.key];
		if (!act || event.ctrlKey || event.metaKey || event.altKey)
			return;
		act(shown, event.shiftKey);
		event.preventDefault();
	});
}
