// SPDX-License-Identifier: MIT
// Curves in steps: a value holds until the next one of its curve, null is a gap, and a curve ends with its run.

const AFTER = 1e-6; // seconds; a gap begins just after what it ends

/** @returns {{times: number[], values: (?number)[]}} with a point where each stretch of values ends */
export function closeSteps(times, values, end) {
	const closed = { times: [], values: [] };
	let last = null;
	const add = (time, value) => {
		closed.times.push(time);
		closed.values.push(value);
	};
	times.forEach((time, i) => {
		const value = values[i];
		if (value === null && last !== null)
			add(time, last);
		add(value === null ? time + AFTER : time, value);
		last = value;
	});
	add(Math.max(end, times.at(-1)), last);
	add(Math.max(end, times.at(-1)) + AFTER, null);
	return closed;
}

/** Several of them on one axis: [times, values, values, …]. */
export function joinSteps(all) {
	const times = [...new Set(all.flatMap((steps) => steps.times))].sort((a, b) => a - b);
	const resample = (steps) => {
		let next = 0;
		return times.map((time) => {
			while (next < steps.times.length && steps.times[next] <= time)
				next++;
			return next ? steps.values[next - 1] : null;
		});
	};
	return [times, ...all.map(resample)];
}

/** What holds at that time; null: in a gap, and outside the run. */
export function valueAt({ times, end }, values, at) {
	let low = 0;
	let high = times.length;
	while (low < high) {
		const middle = (low + high) >> 1;
		if (times[middle] <= at)
			low = middle + 1;
		else
			high = middle;
	}
	return low && at <= end ? values[low - 1] : null;
}
