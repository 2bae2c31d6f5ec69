// SPDX-License-Identifier: MIT
// The page is complete without this: scripts add the charts, the timeline of processes, and order in the tables.
import './page.css';
import { addCharts } from './charts.js';
import { duration } from './format.js';
import { Lanes, lanesOf, momentsOf } from './lanes.js';
import { load } from './model.js';
import { enhanceAll, ProcessTable } from './tables.js';
import { CURVES, element } from './theme.js';
import { Timeline } from './timeline.js';
import { TimeWindow } from './window.js';

/** "A train.py-7f3a" in the colour of its curves. */
function headOf(runs, i) {
	const head = element('h3', '', `${runs[i].letter} ${runs[i].id}`);
	head.prepend(element('i', `swatch ${CURVES[i]}`));
	return head;
}

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
			place.append(headOf(data.runs, i));
		new Lanes(place, list, shown).draw();
	});
	addCharts(place, data, shown, data.runs.length === 1 ? momentsOf(lanes[0]) : []);
	place.querySelectorAll('.static').forEach((picture) => picture.remove());
}

const COSTLY = 'Most costly processes';

/** In place of the list of the most costly ones, which is there for pages without scripts, and its text and table. */
function placeOfTable() {
	const costly = [...document.querySelectorAll('main > h2')].find((head) => head.textContent === COSTLY);
	if (!costly)
		return document.getElementById('processes');
	const place = element('section');
	costly.before(place);
	while (place.nextElementSibling === costly || place.nextElementSibling?.matches('p, div'))
		place.nextElementSibling.remove();
	return place;
}

/** Every process as a bar below the charts, and in a table. */
function drawProcesses(charts, data, shown) {
	const runs = data.runs.filter((run) => run.processes.length);
	const place = placeOfTable();
	const tables = new Map();
	for (const run of runs) {
		new Timeline(charts, run, shown, (process) => tables.get(run).filter(String(process.pid))).draw();
		if (run.leftOut)
			charts.append(element('p', 'line', `${run.leftOut.toLocaleString('en-US')} more processes are not in this page; see: proctor export`));
	}
	place.append(element('h2', '', 'Processes'));
	for (const run of runs) {
		if (data.runs.length > 1)
			place.append(headOf(data.runs, data.runs.indexOf(run)));
		tables.set(run, new ProcessTable(place, run));
	}
}

const data = load(document.getElementById('data').textContent);
const shown = new TimeWindow(data.seconds);
const charts = document.getElementById('charts');

if (charts)
	drawOverTime(charts, data, shown);
if (charts && data.runs.some((run) => run.processes.length))
	drawProcesses(charts, data, shown);
enhanceAll();
document.documentElement.classList.add('drawn');
