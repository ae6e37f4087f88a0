/** Pairing with a real store and a clock of our own; then as people see it, with the built program and the Telegram simulator. */
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import * as fc from 'fast-check';
import { expect, onTestFinished, test } from 'vitest';
import type { Adapter, SendOutcome } from '../../src/contract/adapter.ts';
import type { InboundMessage, OutboundPart } from '../../src/contract/message.ts';
import { createGates } from '../../src/gateway/gates.ts';
import { createPairing, type Pairing, type PairingDeps } from '../../src/gateway/pairing.ts';
import { createLog } from '../../src/lib/log.ts';
import { openStore, type Store } from '../../src/store/store.ts';
import { runProgram, startDaemon } from '../support/daemon.ts';
import { startOpenAiApi } from '../support/openai-api.ts';
import { startTelegramApi, type TelegramApi } from '../support/telegram-api.ts';
import { tempHome } from '../support/temp-home.ts';
import { waitFor } from '../support/wait-for.ts';

const minute = 60_000;
const alphabet = 'ABCDEFGHJKLMNPQRSTUVWXYZ23456789';
const codeIn = (text: string) => /hermes pairing approve \w+ ([A-Z2-9]{8})/.exec(text)?.[1] ?? '';

interface Desk {
  pairing: Pairing;
  store: Store;
  sent: OutboundPart[];
  lines: string[];
  clock: { now: number };
  /** What the next sends come to; then they arrive. */
  outcomes: SendOutcome[];
  /** A stranger writes; resolves with the code that is sent because of it, or '' when nothing is. */
  writes(user: string, extra?: Partial<InboundMessage>): Promise<string>;
  /** The same home after a restart. */
  again(): Promise<Desk>;
}

async function openDesk(options: Partial<PairingDeps> = {}, home = tempHome(), clock = { now: Date.UTC(2026, 0, 1) }): Promise<Desk> {
  const store = openStore({ path: join(home, 'state.db'), process: 'daemon' });
  onTestFinished(() => store.close());
  const sent: OutboundPart[] = [];
  const lines: string[] = [];
  const outcomes: SendOutcome[] = [];
  const chat = (platform: string): Adapter => ({
    platform,
    hint: '',
    start: async () => {},
    stop: async () => {},
    async send(part) {
      sent.push(part);
      return outcomes.shift() ?? { status: 'sent', messageId: '1' };
    },
  });
  const log = createLog({ level: 'debug', redactor: { add() {}, text: (line) => line }, write: (line) => void lines.push(line) });
  const now = () => clock.now;
  const pairing = createPairing({ store: store.pairing, adapterOf: chat, gates: createGates(now), log, now, ...options });
  return {
    pairing, store, sent, lines, clock, outcomes,
    async writes(user, extra) {
      const before = sent.length;
      await pairing.request(message(user, extra));
      return codeIn(sent.slice(before).at(0)?.text ?? '');
    },
    async again() {
      await store.close();
      return openDesk(options, home, clock);
    },
  };
}

function message(user: string, extra: Partial<InboundMessage> = {}): InboundMessage {
  const address = { platform: 'telegram', account: '1', chat: user };
  return { key: `k${user}`, kind: 'message', address, chatType: 'dm', sender: { id: user, name: `Person ${user}`, isBot: false }, text: 'hi', addressed: true, messageId: '1', attachments: [], at: 0, ...extra };
}

const onSlack = (user: string) => ({ address: { platform: 'slack', account: 'B', chat: `D${user}` } });

test('a stranger gets a code, and is in once it is approved, after a restart too', async () => {
  const desk = await openDesk();
  const code = await desk.writes('7');
  expect(code).toMatch(/^[A-HJ-NP-Z2-9]{8}$/);
  expect(desk.sent).toEqual([expect.objectContaining({ address: { platform: 'telegram', account: '1', chat: '7' } })]);
  expect(desk.pairing.isPaired('telegram', '7')).toBe(false);
  expect(desk.pairing.list()).toEqual({ pending: [{ platform: 'telegram', user: '7', name: 'Person 7', expires: '2026-01-01T00:10:00.000Z' }], paired: [], locked: [] });

  expect(await desk.pairing.approve('telegram', ` ${code.toLowerCase()} `)).toEqual({ status: 'approved', platform: 'telegram', user: '7', name: 'Person 7' });
  expect(desk.pairing.isPaired('telegram', '7')).toBe(true);
  expect(desk.pairing.isPaired('slack', '7')).toBe(false);
  const later = await desk.again();
  expect(later.pairing.isPaired('telegram', '7')).toBe(true);
  expect(later.pairing.list()).toEqual({ pending: [], paired: [{ platform: 'telegram', user: '7', name: 'Person 7', since: '2026-01-01T00:00:00.000Z' }], locked: [] });
});

test('a code works once, for its own platform, for ten minutes', async () => {
  const { writes, pairing, clock } = await openDesk();
  const first = await writes('1');
  expect(await pairing.approve('slack', first)).toMatchObject({ status: 'wrong', left: 4 });
  expect(await pairing.approve('telegram', first)).toMatchObject({ status: 'approved' });
  expect(await pairing.approve('telegram', first)).toMatchObject({ status: 'wrong', left: 4 });
  const second = await writes('2');
  clock.now += 10 * minute;
  expect(await pairing.approve('telegram', second)).toMatchObject({ status: 'wrong', left: 3 });
});

test('the same person gets no second code within ten minutes: written again, delivered again, or after a restart', async () => {
  const desk = await openDesk();
  await Promise.all(['7', '7', '7'].map((user) => desk.writes(user)));
  expect(desk.sent).toHaveLength(1);
  const later = await desk.again();
  later.clock.now += 10 * minute - 1;
  expect(await later.writes('7')).toBe('');
  later.clock.now += 1;
  expect(await later.writes('7')).not.toBe('');
});

test('three codes are good at once on a platform, however many ask together; a used one makes room', async () => {
  const { writes, pairing, sent, clock } = await openDesk();
  await Promise.all(Array.from({ length: 50 }, (_, index) => writes(String(index))));
  expect(sent).toHaveLength(3);
  expect(await writes('99')).toBe('');
  expect(await writes('99', onSlack('99'))).not.toBe('');
  await pairing.approve('telegram', codeIn(sent[0]?.text ?? ''));
  expect(await writes('99')).not.toBe('');
  expect(await writes('100')).toBe('');
  clock.now += 10 * minute;
  expect(await writes('100')).not.toBe('');
});

test('ten thousand guesses at once: five are looked at, then even the right code waits an hour', async () => {
  const { writes, pairing, clock, again } = await openDesk();
  const code = await writes('7');
  const guesses = Array.from({ length: 10_000 }, (_, index) => alphabet.charAt(index % 32) + alphabet.charAt((index >> 5) % 32) + alphabet.charAt(index >> 10) + 'AAAAA');
  const answers = await Promise.all(guesses.map((guess) => pairing.approve('telegram', guess === code ? 'AAAAAAAA' : guess)));
  const count = (status: string) => answers.filter((answer) => answer.status === status).length;
  expect([count('wrong'), count('locked'), count('approved')]).toEqual([5, 9995, 0]);

  expect(await pairing.approve('telegram', code)).toEqual({ status: 'locked', until: clock.now + 60 * minute });
  expect(pairing.isPaired('telegram', '7')).toBe(false);
  const later = await again();
  expect(await later.pairing.approve('telegram', code)).toMatchObject({ status: 'locked' });
  expect(later.pairing.list().locked).toEqual([{ platform: 'telegram', until: '2026-01-01T01:00:00.000Z' }]);

  later.clock.now += 55 * minute;
  const fresh = await later.writes('8');
  later.clock.now += 5 * minute - 1;
  expect(await later.pairing.approve('telegram', fresh)).toMatchObject({ status: 'locked' });
  later.clock.now += 1;
  expect(await later.pairing.approve('telegram', fresh)).toMatchObject({ status: 'approved', user: '8' });
});

test('guesses on one platform leave the others open, one after another they are counted too, and a right one clears the count', async () => {
  const { writes, pairing } = await openDesk();
  const code = await writes('7', onSlack('7'));
  const left = [];
  for (let guess = 0; guess < 6; guess += 1) left.push(await pairing.approve('telegram', 'AAAAAAAA'));
  expect(left.map((answer) => (answer.status === 'wrong' ? answer.left : answer.status))).toEqual([4, 3, 2, 1, 0, 'locked']);
  for (let guess = 0; guess < 4; guess += 1) await pairing.approve('slack', 'AAAAAAAA');
  expect(await pairing.approve('slack', code)).toMatchObject({ status: 'approved' });
  expect(await pairing.approve('slack', code)).toMatchObject({ status: 'wrong', left: 4 });
});

test('who is taken out is out at once and asks again like a stranger', async () => {
  const desk = await openDesk();
  await desk.pairing.approve('telegram', await desk.writes('7'));
  const revoking = desk.pairing.revoke('telegram', '7');
  expect(desk.pairing.isPaired('telegram', '7')).toBe(false);
  expect(await revoking).toBe(true);
  expect(await desk.pairing.revoke('telegram', '7')).toBe(false);
  expect((await desk.again()).pairing.isPaired('telegram', '7')).toBe(false);
});

test('only a message asks; a press, a reaction, an edit does not', async () => {
  const { writes, sent } = await openDesk();
  for (const kind of ['edit', 'button', 'reaction', 'join'] as const) await writes('7', { kind });
  expect(sent).toEqual([]);
});

test.each<[SendOutcome, boolean]>([
  [{ status: 'transient', error: 'HTTP 502' }, true],
  [{ status: 'rate_limited', retryAfterMs: 1000, scope: 'chat' }, true],
  [{ status: 'unknown', error: 'reset' }, false],
  [{ status: 'permanent', error: 'blocked', targetGone: true }, false],
])('a code whose sending came to %o may be asked for again: %s', async (outcome, mayAsk) => {
  const { writes, outcomes, sent, store, clock } = await openDesk();
  outcomes.push(outcome);
  await writes('7');
  // A write of ours stands behind the one that takes the request back.
  await store.state('gateway').set('x', '1');
  await store.state('gateway').set('x', '2');
  clock.now += 2000;
  await writes('7');
  expect(sent).toHaveLength(mayAsk ? 2 : 1);
});

test('no code is found in the home folder or the log', async () => {
  const home = tempHome();
  const { writes, pairing, outcomes, lines, sent } = await openDesk({}, home);
  const code = await writes('1');
  outcomes.push({ status: 'permanent', error: 'refused' });
  await writes('2');
  await pairing.approve('telegram', code);
  await pairing.approve('telegram', 'WRNGCDE2');
  const codes = [...sent.map(({ text }) => codeIn(text)), 'WRNGCDE2'];
  const kept = [lines.join(''), ...readdirSync(home).map((name) => readFileSync(join(home, name), 'latin1'))].join('');
  expect(kept).toContain('Person 1');
  for (const each of codes) expect(kept).not.toContain(each);
});

test('an error that quotes the text does not bring the code into the log', async () => {
  const { pairing, lines } = await openDesk({
    adapterOf: (platform) => ({ platform, hint: '', start: async () => {}, stop: async () => {}, send: async ({ text }) => ({ status: 'permanent', error: `cannot send: ${text}` }) }),
  });
  await pairing.request(message('7'));
  const line = await waitFor('the refusal in the log', () => lines.find((each) => each.includes('cannot send')));
  expect(line).toContain('[code]');
  expect(codeIn(line)).toBe('');
});

test('a store that cannot be written lets nobody in and stops nothing', async () => {
  const { pairing, writes, store, sent, lines } = await openDesk();
  const code = await writes('7');
  await store.close();
  await expect(pairing.approve('telegram', code)).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' });
  expect(pairing.isPaired('telegram', '7')).toBe(false);
  expect(sent).toHaveLength(1);
  expect(lines.join('')).not.toContain(code);
});

test('every symbol of a code is as likely as another', async () => {
  await fc.assert(
    fc.asyncProperty(fc.uint8Array({ minLength: 8, maxLength: 8 }), async (bytes) => {
      const { writes } = await openDesk({ random: (count) => (count === 8 ? bytes : new Uint8Array(count)) });
      expect(await writes('7')).toBe(Array.from(bytes, (byte) => alphabet[byte & 31]).join(''));
    }),
    { numRuns: 10 },
  );
});

/** Calls that the person in this chat could notice. */
const callsFor = (api: TelegramApi, chat: number) => api.calls.filter(({ method, params }) => method !== 'getUpdates' && String(params['chat_id']) === String(chat));

test('on Telegram: a stranger is told a code, let in by the operator, answered, and taken out again', async () => {
  await using model = await startOpenAiApi();
  model.answer(() => ({ text: 'Welcome!' }));
  const telegram = await startTelegramApi();
  onTestFinished(() => telegram.close());
  const group = telegram.group(-100, { title: 'The group' });
  const home = tempHome();
  const platforms = { telegram: { token: telegram.token, api_root: telegram.url, allowed_users: [1] } };
  const daemon = await startDaemon({ home, config: { model: { provider: 'custom', base_url: model.url, name: 'scripted', api_key: 'key-for-the-scripted-model' }, platforms } });
  const pairing = (...args: string[]) => runProgram(['pairing', ...args], { home });
  const seven = telegram.dm(7);

  seven.says('Let me in');
  const code = codeIn((await seven.shouldSee('hermes pairing approve telegram')).text);
  expect(code).toHaveLength(8);
  telegram.push({ ...telegram.lastPushed() });
  seven.says('Hello?');
  seven.sends({ photo: [{ file_id: 'p', file_unique_id: 'p', width: 1, height: 1 }] });
  telegram.dm(1).says('wait for me');
  await telegram.dm(1).shouldSee('Welcome!');
  expect(callsFor(telegram, 7).map(({ method }) => method)).toEqual(['sendMessage']);
  expect(model.requests.some(({ raw }) => raw.includes('Let me in'))).toBe(false);
  const sessions = (await (await daemon.api('/api/sessions')).json()) as unknown[];
  expect(sessions).toHaveLength(1);

  expect((await pairing('list')).stdout).toMatch(/pending:\n {2}- platform: telegram\n {4}user: "7"/);
  const wrong = await pairing('approve', 'telegram', 'AAAAAAAA');
  expect(wrong).toMatchObject({ code: 1, stdout: '', stderr: expect.stringContaining('4 more wrong codes') as string });
  const elsewhere = await daemon.api('/api/pairing/approve', { method: 'POST', body: JSON.stringify({ platform: 'matrix', code }) });
  expect([elsewhere.status, await elsewhere.text()]).toEqual([404, expect.stringContaining('there is: telegram')]);
  expect((await daemon.api('/api/pairing/approve', { method: 'POST', body: JSON.stringify({ platform: 'telegram' }) })).status).toBe(400);
  expect((await fetch(`${daemon.url}/api/pairing/approve`, { method: 'POST', body: '{}' })).status).toBe(401);
  expect(await pairing('approve', 'telegram', code)).toMatchObject({ code: 0, stdout: expect.stringContaining('user: "7"') as string });

  seven.says('Am I in?');
  await seven.shouldSee('Welcome!');
  const turns = model.requests.length;
  group.as(7).says(`@${telegram.me.username} and here?`);
  telegram.dm(1).says('in the group?');
  await telegram.dm(1).shouldSee('Welcome!');
  expect(model.requests).toHaveLength(turns + 1);
  expect(callsFor(telegram, -100)).toEqual([]);

  expect(await pairing('revoke', 'telegram', '7')).toMatchObject({ code: 0 });
  const before = callsFor(telegram, 7).length;
  seven.says('Still in?');
  telegram.dm(1).says('is 7 out?');
  await telegram.dm(1).shouldSee('Welcome!');
  expect(callsFor(telegram, 7)).toHaveLength(before);

  expect(await daemon.stop()).toBe(0);
  expect(daemon.output()).not.toContain(code);
});
