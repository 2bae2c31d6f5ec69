// SPDX-License-Identifier: MIT
// Tables that sort and filter: those that are in the page already, and that of all processes, which is made here.
import { bytes, count, duration, inWords, marked, worth } from './format.js';
import { element, isOnPaper, onPaper } from './theme.js';
import { OUTCOMES } from './timeline.js';

const PAGE_ROWS = 25;
const MORE_ROWS = 500;
const PAPER_ROWS = 200; // about five pages
const FILTER_FROM = 12; // rows: fewer are read at a glance

/** What is not known comes last, up or down. */
function compare(a, b, down) {
	if (a === null || b === null || a === '' || b === '')
		return (a === null || a === '') - (b === null || b === '');
	const order = typeof a === 'number' && typeof b === 'number' ? a - b : String(a).localeCompare(String(b), 'en', { numeric: true });
	return down ? -order : order;
}

/** A button in the head of a column; `onSort(down)` when it is pressed. */
function sortButton(head, label, onSort) {
	const button = element('button', '', label);
	button.type = 'button';
	head.replaceChildren(button);
	head.dataset.label = label;
	button.addEventListener('click', () => {
		const down = head.getAttribute('aria-sort') !== 'descending';
		for (const other of head.parentElement.children)
			other.removeAttribute('aria-sort');
		head.setAttribute('aria-sort', down ? 'descending' : 'ascending');
		onSort(down);
	});
}

function filterField(label, onInput) {
	const box = element('label', 'filter', `${label} `);
	const input = element('input');
	input.type = 'search';
	input.placeholder = 'filter';
	input.addEventListener('input', () => onInput(input.value));
	box.append(input);
	return { box, input };
}

/** One that the page was written with. */
function enhance(table) {
	const body = table.tBodies[0];
	const valueOf = (row, column) => {
		const text = row.cells[column].textContent;
		return text === '-' ? null : worth(text) ?? text;
	};
	[...table.tHead.rows[0].cells].forEach((head, column) => {
		sortButton(head, head.textContent, (down) => {
			body.append(...[...body.rows].sort((a, b) => compare(valueOf(a, column), valueOf(b, column), down)));
		});
	});
	if (body.rows.length < FILTER_FROM)
		return;
	const { box } = filterField('', (text) => {
		for (const row of body.rows)
			row.hidden = !row.textContent.toLowerCase().includes(text.toLowerCase());
	});
	table.parentElement.before(box);
}

export function enhanceAll() {
	document.querySelectorAll('table.sorts').forEach(enhance);
}

/** Columns of the table of processes: head, what to sort by, the text, and the quality of the figure. */
const COLUMNS = [
	{ head: 'pid', value: (p) => p.pid, right: true },
	{ head: 'name', value: (p) => p.name },
	{ head: 'started', value: (p) => p.from, text: (p) => (p.from === null ? '-' : `+${duration(Math.max(p.from, 0))}`), right: true },
	{ head: 'lived', value: lived, text: (p) => duration(lived(p)), right: true },
	{ head: 'cpu', value: (p) => p.cpu, text: (p) => marked(duration(p.cpu), p.cpuQuality), quality: (p) => p.cpuQuality, right: true },
	{ head: 'peak', value: (p) => p.peak, text: (p) => marked(bytes(p.peak), p.peakQuality), quality: (p) => p.peakQuality, right: true },
	{ head: 'read', value: (p) => p.read, text: (p) => marked(bytes(p.read), p.ioQuality), quality: (p) => p.ioQuality, right: true },
	{ head: 'written', value: (p) => p.written, text: (p) => marked(bytes(p.written), p.ioQuality), quality: (p) => p.ioQuality, right: true },
	{ head: 'sheet', value: (p) => p.sheet || null, text: (p) => String(p.sheet || ''), right: true },
	{ head: 'ended', value: (p) => p.ended || OUTCOMES[p.outcome].words, className: (p) => ({ signal: 'bad', failed: 'warn' })[p.outcome] ?? '' },
	{ head: 'command', value: (p) => p.command, className: () => 'command' },
];

function lived(p) {
	return p.from === null || p.to === null ? null : p.to - p.from;
}

export class ProcessTable {
	constructor(to, run) {
		this.all = run.processes;
		this.columns = COLUMNS.filter(({ value }) => this.all.some((p) => value(p) !== null));
		this.limit = PAGE_ROWS;
		this.order = null;
		this.text = '';
		const { box, input } = filterField('All processes', (text) => this.filter(text));
		this.input = input;
		this.status = element('span', 'quiet');
		this.status.setAttribute('role', 'status');
		box.append(this.status);
		const wide = element('div', 'wide');
		this.table = element('table', 'processes');
		this.body = element('tbody');
		this.more = element('button', 'more', 'show more');
		this.more.type = 'button';
		this.more.addEventListener('click', () => {
			this.limit += MORE_ROWS;
			this.show();
		});
		this.#head();
		this.table.append(this.body);
		wide.append(this.table);
		this.printed = element('p', 'line on-paper');
		to.append(box, this.printed, wide, this.more);
		const first = Math.max(this.columns.findIndex(({ head }) => head === 'cpu'), 0);
		this.table.tHead.rows[0].cells[first].setAttribute('aria-sort', 'descending');
		this.#sort(first, true);
		onPaper(() => this.show());
	}

	#head() {
		const row = element('tr');
		this.columns.forEach((column, i) => {
			const head = element('th', column.right ? 'right' : '');
			row.append(head);
			sortButton(head, column.head, (down) => this.#sort(i, down));
		});
		const thead = element('thead');
		thead.append(row);
		this.table.append(thead);
	}

	#sort(index, down) {
		const { head, value } = this.columns[index];
		this.by = head;
		this.order = (a, b) => compare(value(a), value(b), down);
		this.show();
	}

	filter(text) {
		this.text = this.input.value = text;
		this.limit = PAGE_ROWS;
		this.show();
	}

	/** A pid alone means that process. */
	#matches(p) {
		const text = this.text.toLowerCase();
		if (/^\d+$/.test(text))
			return String(p.pid) === text || p.command.includes(text);
		return [p.name, p.command, p.ended, OUTCOMES[p.outcome].words].some((part) => part.toLowerCase().includes(text));
	}

	show() {
		const found = this.all.filter((p) => this.#matches(p)).sort(this.order);
		const rows = Math.min(found.length, isOnPaper() ? Math.max(this.limit, PAPER_ROWS) : this.limit);
		this.body.replaceChildren(...found.slice(0, rows).map((p) => this.#row(p)));
		this.status.textContent = ` ${count(rows)} of ${count(found.length)} shown`;
		this.printed.textContent = `${count(rows)} of ${count(this.all.length)} processes, by ${this.by}${rows < this.all.length ? '; the rest is in the page itself' : ''}`;
		this.more.hidden = found.length <= this.limit;
	}

	#row(p) {
		const row = element('tr');
		for (const { value, text, right, quality, className } of this.columns) {
			const shown = text ? text(p) : String(value(p) ?? '-');
			const cell = element('td', [right ? 'right' : '', className?.(p) ?? '', shown === '-' ? 'quiet' : ''].join(' ').trim(), shown);
			if (quality)
				cell.title = inWords(quality(p));
			row.append(cell);
		}
		return row;
	}
}
