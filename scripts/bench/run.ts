/**
 * `npm run bench`: the built daemon beside the least program that does the same, in one run on one machine. Only the ratios mean
 * something elsewhere. docs/performance.md says what each figure is and which flags there are.
 */
import { cpus, loadavg } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { measureGrowth, measureSoak } from './measure-age.ts';
import { measureStart } from './measure-start.ts';
import { measureTurns } from './measure-turns.ts';
import { toTable, type Row } from './report.ts';
import { openWorkshop, type Workshop } from './workshop.ts';

const { values } = parseArgs({
  options: {
    program: { type: 'string', default: join(import.meta.dirname, '..', '..', 'dist', 'hermes.js') },
    only: { type: 'string' },
    quick: { type: 'boolean', default: false },
    big: { type: 'boolean', default: false },
    long: { type: 'boolean', default: false },
  },
});

const chapters: { name: string; title: string; run(shop: Workshop): Promise<Row[]> }[] = [
  { name: 'start', title: 'Start', run: measureStart },
  { name: 'turns', title: 'Turns', run: (shop) => measureTurns(shop, { sustained: values.quick ? 500 : 2000 }) },
  ...(values.big || values.only === 'growth'
    ? [{ name: 'growth', title: 'Age: 100,000 sessions and 1,000,000 entries', run: (shop: Workshop) => measureGrowth(shop, { sessions: 100_000, entriesEach: 10, endedRows: 50_000 }) }]
    : [{ name: 'growth', title: 'Age: 10,000 sessions and 100,000 entries', run: (shop: Workshop) => measureGrowth(shop, { sessions: 10_000, entriesEach: 10, endedRows: 20_000 }) }]),
  ...(values.long || values.only === 'soak' ? [{ name: 'soak', title: '10,000 turns', run: (shop: Workshop) => measureSoak(shop, 10_000) }] : []),
];

const print = (text: string) => void process.stdout.write(`${text}\n`);
const load = () => loadavg().map((value) => value.toFixed(1)).join(' ');

print(`Node ${process.version}, ${cpus().length} x ${cpus()[0]?.model.trim() ?? 'unknown'}, load ${load()}, ${new Date().toISOString().slice(0, 16)}`);
const shop = await openWorkshop(values.program);
try {
  for (const { name, title, run } of chapters) {
    if (values.only !== undefined && values.only !== name) continue;
    const from = performance.now();
    const rows = await run(shop);
    print(`\n### ${title} (${Math.round((performance.now() - from) / 1000)} s, load ${load()})\n\n${toTable(rows)}`);
  }
} catch (thrown) {
  process.exitCode = 1;
  print(`\n${thrown instanceof Error ? thrown.message : String(thrown)}. The programs said last:\n${shop.complaints()}`);
} finally {
  await shop.close();
}
