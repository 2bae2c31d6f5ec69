// SPDX-License-Identifier: MIT
// Makes the template of the page: installs what package-lock.json names, bundles src/ and puts it all into one file of
// HTML, in which proctor fills in title, body and data. Without a network nothing is made, and the build goes on.
//
//	node build.mjs SOURCE_DIR WORK_DIR OUTPUT auto|enabled build|test
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { copyFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join, resolve } from 'node:path';

const [source, work, output, mode, purpose] = process.argv.slice(2).map((word, i) => (i < 3 ? resolve(word) : word));
const FILES = ['package.json', 'package-lock.json', '.npmrc'];

/** What was installed last, to install nothing twice. */
function stamp() {
	const hash = createHash('sha256').update(purpose);
	for (const file of FILES)
		hash.update(readFileSync(join(source, file)));
	return hash.digest('hex');
}

function install() {
	const done = join(work, 'installed');
	if (existsSync(done) && readFileSync(done, 'utf8') === stamp())
		return;
	mkdirSync(work, { recursive: true });
	for (const file of FILES)
		copyFileSync(join(source, file), join(work, file));
	const words = ['ci', '--loglevel=error', ...(purpose === 'test' ? [] : ['--omit=dev'])];
	execFileSync('npm', words, { cwd: work, stdio: ['ignore', 'pipe', 'pipe'] });
	writeFileSync(done, stamp());
}

async function bundle() {
	const esbuild = createRequire(join(work, 'package.json'))('esbuild');
	const result = await esbuild.build({
		entryPoints: [join(source, 'src/main.js')],
		nodePaths: [join(work, 'node_modules')],
		outdir: work,
		bundle: true,
		minify: true,
		write: false,
		charset: 'utf8',
		format: 'iife',
		legalComments: 'none',
		target: ['chrome100', 'firefox100', 'safari15'],
	});
	const part = (suffix) => result.outputFiles.find((file) => file.path.endsWith(suffix)).text.trim();
	return { script: part('.js'), style: part('.css') };
}

const hashOf = (text) => `'sha256-${createHash('sha256').update(text).digest('base64')}'`;

/** Only our own script and style run: the browser compares their hashes. The licence of what is bundled goes along. */
function template({ script, style }) {
	const licence = readFileSync(join(work, 'node_modules/uplot/LICENSE'), 'utf8').trim();
	if (/<\/script|<!--/i.test(script) || /<\/style/i.test(style) || licence.includes('--'))
		throw new Error('the bundle would end its own element');
	const policy = [
		"default-src 'none'", `script-src ${hashOf(script)}`, `style-src ${hashOf(style)}`,
		"base-uri 'none'", "form-action 'none'",
	].join('; ');
	return `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="referrer" content="no-referrer">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>@PAGE_TITLE@</title>
<style>${style}</style>
<!--
This page contains uPlot:

${licence}
-->
</head>
<body>
<main>
@PAGE_BODY@</main>
<script type="application/json" id="data">@PAGE_DATA@</script>
<script>${script}</script>
</body>
</html>
`;
}

try {
	install();
	writeFileSync(output, template(await bundle()));
} catch (error) {
	const reason = String(error.stderr || error.message).trim().split('\n')[0];
	if (mode === 'enabled') {
		console.error(`error: the page of 'report --html' was not built: ${reason}`);
		process.exit(1);
	}
	console.log(`WARNING: building without 'report --html': npm failed (${reason}). To try again: rm ${output}`);
	writeFileSync(output, '');
}
