/** `hermes sessions ...` of the built program, over a home in which somebody has talked. */
import { expect, onTestFinished, test } from 'vitest';
import { runProgram } from '../support/daemon.ts';
import { lastUserText, startOpenAiApi } from '../support/openai-api.ts';
import { tempHome } from '../support/temp-home.ts';
import { openStore } from '../../src/store/store.ts';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { stringify } from 'yaml';

async function openHome() {
  const home = tempHome();
  const model = await startOpenAiApi();
  onTestFinished(() => model.close());
  model.answer((request) => ({ text: `heard: ${lastUserText(request)}` }));
  writeFileSync(join(home, 'config.yaml'), stringify({ model: { provider: 'custom', base_url: model.url, name: 'scripted', api_key: 'k' } }));
  const hermes = (...args: string[]) => runProgram(args, { home });
  const ids = async () => (JSON.parse((await hermes('sessions', 'list', '--json')).stdout) as { id: string }[]).map(({ id }) => id);
  return { home, hermes, ids };
}

test('a session is shown, found, exported, renamed and deleted; what is unknown is said', async () => {
  const { home, hermes, ids } = await openHome();
  await hermes('chat', '-q', 'the weather in Lisbon');
  await hermes('chat', '-q', 'a poem about rain');
  const [poem = '', lisbon = ''] = await ids();
  expect((await hermes('sessions', 'show', lisbon)).stdout).toMatch(/^the weather in Lisbon \(cli, 1 turns, [^]*user\nthe weather in Lisbon\n[^]*assistant\nheard: the weather in Lisbon\n$/);
  const found = (await hermes('sessions', 'search', 'lisbon heard')).stdout.trim().split('\n');
  expect(found).toHaveLength(1);
  expect(found[0]).toContain(lisbon);
  expect(JSON.parse((await hermes('sessions', 'export', poem)).stdout)).toMatchObject({ id: poem, turns: 1, entries: [{ role: 'user', text: 'a poem about rain' }, { role: 'assistant', text: 'heard: a poem about rain' }] });
  expect((await hermes('sessions', 'rename', poem, 'Rain\nand more')).stdout).toBe(`${poem} is called Rain and more\n`);
  expect((await hermes('sessions', 'list')).stdout).toContain('Rain and more');

  expect((await hermes('sessions', 'delete', lisbon)).stdout).toBe(`${lisbon} is deleted\n`);
  expect(await ids()).toEqual([poem]);
  expect((await hermes('sessions', 'search', 'lisbon')).stdout).toBe('Nothing holds these words.\n');
  for (const args of [['show', lisbon], ['export', lisbon], ['rename', lisbon, 'x'], ['delete', lisbon]]) {
    const { code, stderr, stdout } = await hermes('sessions', ...args);
    expect([code, stdout]).toEqual([1, '']);
    expect(stderr).toContain(`There is no session ${lisbon}`);
  }

  // A session in which a turn runs, elsewhere, stays.
  const store = openStore({ path: join(home, 'state.db'), process: 'daemon' });
  await store.transcript.beginTurn({ turnId: 't1', sessionId: poem, model: 'm', context: '', entry: { role: 'user', turnId: 't1', text: 'hi' }, inboxIds: [], now: Date.now() });
  await store.close();
  expect((await hermes('sessions', 'delete', poem)).stderr).toContain(`A turn runs in ${poem}`);
  expect(await ids()).toEqual([poem]);
});

test('prune takes what was not used for so many days, and nothing else', async () => {
  const { home, hermes, ids } = await openHome();
  await hermes('chat', '-q', 'today');
  const store = openStore({ path: join(home, 'state.db'), process: 'cli:1' });
  const address = { platform: 'cli', account: 'local', chat: 'c' };
  const { session } = await store.sessions.open({ key: 'old', owner: 'o', address, now: Date.now() - 91 * 24 * 3600_000, settings: {}, isOver: () => null });
  await store.close();
  expect(await ids()).toContain(session.id);
  expect((await hermes('sessions', 'prune')).code).toBe(2);
  expect((await hermes('sessions', 'prune', '--days', '90')).stdout).toBe('1 sessions deleted\n');
  expect(await ids()).toHaveLength(1);
  expect(await ids()).not.toContain(session.id);
});
