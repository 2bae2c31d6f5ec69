// SPDX-License-Identifier: MIT
// The data of the page, as src/view/page_json.c writes it, made ready to draw.

/**
 * @typedef {{pid: number, ppid: number, sheet: number, name: string, command: string, from: ?number, to: ?number,
 *   outcome: string, ended: string, cpu: ?number, peak: ?number, read: ?number, written: ?number,
 *   cpuQuality: string, peakQuality: string, ioQuality: string}} Process
 */

/** Rows become objects, numbers of texts and of qualities the words that they stand for. */
function processesOf(table, qualities) {
	return table.rows.map((row) => {
		const p = Object.fromEntries(table.keys.map((key, i) => [key, row[i]]));
		p.name = table.texts[p.name];
		p.command = table.texts[p.command] || p.name;
		if (p.outcome === 'passed')
			p.ended += ', as its command';
		for (const key of ['cpuQuality', 'peakQuality', 'ioQuality'])
			p[key] = qualities[p[key]];
		return p;
	});
}

export function load(text) {
	const data = JSON.parse(text);
	for (const [i, run] of data.runs.entries()) {
		run.letter = data.runs.length > 1 ? 'AB'[i] : '';
		run.leftOut = run.processes.leftOut;
		run.processes = processesOf(run.processes, data.qualities);
	}
	data.seconds = Math.max(...data.runs.map((run) => run.seconds), 0.001);
	return data;
}
