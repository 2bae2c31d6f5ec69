// SPDX-License-Identifier: MIT
// The page is complete without this: scripts add the charts, the timeline of processes, and order in the tables.
import './page.css';
import { addCharts } from './charts.js';
import { duration } from './format.js';
import { Lanes, lanesOf, momentsOf } from './lanes.js';
import { load } from './model.js';
import { enhanceAll, ProcessTable } from './tables.js';
import { element } from './theme.js';
import { Timeline } from './timeline.js';
import { TimeWindow } from './window.js';

function drawOverTime(place, data, shown) {
	const lanes = data.runs.map(lanesOf);
	const reset = element('button', 'reset', 'show all');
	reset.type = 'button';
	reset.hidden = true;
	reset.addEventListener('click', () => shown.reset());
	shown.listen(() => { reset.hidden = shown.isWhole; });
	const intervals = [...new Set(data.runs.map((run) => run.interval).filter((interval) => interval > 0))];
	if (intervals.length)
		place.querySelector('h2').append(element('span', 'aside', `sampled every ${intervals.map(duration).join(' and ')}`));
	place.querySelector('h2').append(reset);
	lanes.forEach((list, i) => {
		if (!list.length)
			return;
		if (data.runs.length > 1)
			place.append(element('h3', '', data.runs[i].id));
		new Lanes(place, list, shown).draw();
	});
	addCharts(place, data, shown, data.runs.length === 1 ? momentsOf(lanes[0]) : []);
	place.querySelectorAll('.static').forEach((picture) => picture.remove());
}

function drawProcesses(place, data, shown) {
	place.append(element('h2', '', 'Processes'));
	for (const run of data.runs) {
		if (!run.processes.length)
			continue;
		if (data.runs.length > 1)
			place.append(element('h3', '', run.id));
		let table = null;
		new Timeline(place, run, shown, (process) => table.filter(String(process.pid))).draw();
		if (run.leftOut)
			place.append(element('p', 'line', `${run.leftOut.toLocaleString('en-US')} more processes are not in this page; see: proctor export`));
		table = new ProcessTable(place, run);
	}
}

const data = load(document.getElementById('data').textContent);
const shown = new TimeWindow(data.seconds);
const charts = document.getElementById('charts');

if (charts)
	drawOverTime(charts, data, shown);
if (charts && data.runs.some((run) => run.processes.length))
	drawProcesses(document.getElementById('processes'), data, shown);
enhanceAll();
document.documentElement.classList.add('drawn');
