/** The page in a real browser, at the size of a phone and of a desk, against the real adapter and a played gateway. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { chromium, type Browser, type Page } from 'playwright-core';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { key, memoryState, playGateway, sayWords, startHttp, type PlayedGateway, type Stage, type StartOptions } from '../adapters/http/support.ts';
import { waitFor } from '../support/wait-for.ts';
import { payloads } from './payloads.ts';

const root = join(import.meta.dirname, '../..');
const built = mkdtempSync(join(tmpdir(), 'hermes-page-'));
const phone = { width: 390, height: 844 };
let browser: Browser;

beforeAll(async () => {
  const script = (await import(pathToFileURL(join(root, 'scripts/build.mjs')).href)) as { buildPage(options: { outdir: string }): Promise<void> };
  await script.buildPage({ outdir: built });
  browser = await chromium.launch({
    executablePath: '/usr/bin/chromium',
    args: ['--headless', '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync'],
  });
});
afterAll(async () => {
  await browser?.close();
  rmSync(built, { recursive: true, force: true });
});

interface Opened {
  page: Page;
  url: string;
  gateway: PlayedGateway;
  /** What the page asked for, addresses of other origins included. */
  requested: string[];
  /** Errors of scripts and of the content security policy. */
  complaints: string[];
  says(text: string): Promise<void>;
  shouldSee(text: string): Promise<void>;
}

async function openPage(script: (stage: Stage) => void | Promise<void>, { size = phone, login = true, start = {} }: { size?: typeof phone; login?: boolean; start?: StartOptions } = {}): Promise<Opened> {
  const gateway = playGateway(script);
  const { adapter, url } = await startHttp({ gateway, ...start, deps: { pageDir: join(built, 'web'), ...start.deps } });
  const context = await browser.newContext({ viewport: size });
  onTestFinished(() => context.close());
  const page = await context.newPage();
  const requested: string[] = [];
  const complaints: string[] = [];
  page.on('request', (request) => requested.push(request.url()));
  page.on('pageerror', (error) => complaints.push(error.message));
  page.on('console', (message) => message.type() === 'error' && !message.text().startsWith('Failed to load resource') && complaints.push(message.text()));
  page.on('dialog', (dialog) => {
    complaints.push(`dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  await page.goto(login ? adapter.loginLink() : url);
  return {
    page,
    url,
    gateway,
    requested,
    complaints,
    async says(text) {
      await page.getByLabel('Message', { exact: true }).fill(text);
      await page.keyboard.press('Enter');
    },
    shouldSee: (text) => page.getByText(text, { exact: false }).first().waitFor(),
  };
}

test('logs in by the link, sends, sees the words come, on a phone', async () => {
  let goOn: () => void = () => undefined;
  const { page, says, shouldSee, gateway, requested, complaints, url } = await openPage(async (stage) => {
    stage.tell({ type: 'text', delta: 'The first **half**' });
    await new Promise<void>((resolve) => (goOn = resolve));
    stage.tell({ type: 'text', delta: ' and the second.' });
    stage.answer('The first **half** and the second.');
  });
  await page.getByRole('heading', { name: 'What can I do for you?' }).waitFor();
  expect(page.url()).toBe(`${url}/`);
  await says('Tell me');
  await shouldSee('The first half');
  expect(await page.getByText('second').count()).toBe(0);
  expect(await page.getByRole('button', { name: 'Stop' }).isVisible()).toBe(true);
  goOn();
  await shouldSee('The first half and the second.');
  await page.getByRole('button', { name: 'Stop' }).waitFor({ state: 'hidden' });
  expect(await page.locator('.answer strong').textContent()).toBe('half');
  expect(await page.locator('#announcer').textContent()).toContain('and the second.');
  expect(gateway.messages[0]).toMatchObject({ text: 'Tell me', sender: { id: 'page' }, interactive: true });
  expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(phone.width);
  expect(requested.filter((address) => !address.startsWith(url))).toEqual([]);
  expect(complaints).toEqual([]);
});

test('one browser, one session, until a new chat; Shift+Enter is a new line', async () => {
  const { page, says, shouldSee, gateway } = await openPage((stage) => sayWords(stage, `You said ${stage.message.text}`));
  await says('one');
  await shouldSee('You said one');
  await page.getByLabel('Message', { exact: true }).fill('two');
  await page.keyboard.press('Shift+Enter');
  await page.keyboard.type('lines');
  await page.keyboard.press('Enter');
  await shouldSee('You said two');
  await page.getByRole('button', { name: 'New chat' }).click();
  expect(await page.getByText('You said').count()).toBe(0);
  await says('three');
  await shouldSee('You said three');
  const chats = gateway.messages.map(({ address }) => address.chat);
  expect(gateway.messages.map(({ text }) => text)).toEqual(['one', 'two\nlines', 'three']);
  expect([chats[0] === chats[1], chats[1] === chats[2]]).toEqual([true, false]);
});

test('tools and notices show what goes on, and what was said is there after a reload', async () => {
  const { page, says, shouldSee } = await openPage(({ tell, answer }) => {
    tell({ type: 'text', delta: 'Let me see.' });
    tell({ type: 'segment', text: 'Let me see.' });
    tell({ type: 'tool_started', toolCallId: 'c1', name: 'calculate', args: { expression: '2**16' }, emoji: '🧮' });
    tell({ type: 'tool_finished', toolCallId: 'c1', name: 'calculate', status: 'ok', durationMs: 1234 });
    tell({ type: 'notice', text: 'Answered by a fallback.' });
    tell({ type: 'text', delta: 'It is 65536.' });
    answer('It is 65536.');
  });
  await says('2**16?');
  for (const round of ['now', 'after a reload']) {
    await shouldSee('It is 65536.');
    const lines = await page.locator('.answer > *:not(footer):visible').allInnerTexts();
    expect(lines.map((line) => line.replace(/\s+/g, ' ').trim()), round).toEqual(['Let me see.', '🧮 calculate 2**16 done 1.2 s', 'Answered by a fallback.', 'It is 65536.']);
    await page.reload();
  }
});

test('text that turns out void is taken back', async () => {
  const { page, says, shouldSee } = await openPage(({ tell, answer }) => {
    tell({ type: 'text', delta: 'First.' });
    tell({ type: 'segment', text: 'First.' });
    tell({ type: 'text', delta: 'Half an ans' });
    tell({ type: 'retract' });
    tell({ type: 'text', delta: 'Whole, with a secret.' });
    answer('Whole, with [removed].');
  });
  await says('Tell me');
  await shouldSee('Whole, with [removed].');
  await page.getByRole('button', { name: 'Stop' }).waitFor({ state: 'hidden' });
  expect(await page.locator('.answer p:visible').allTextContents()).toEqual(['First.', 'Whole, with [removed].']);
});

test('a page that is loaded again in the middle of a turn gets its answer, and the turn happens once', async () => {
  let goOn: () => void = () => undefined;
  const { page, says, shouldSee, gateway } = await openPage(async (stage) => {
    stage.tell({ type: 'text', delta: 'Slowly ' });
    await new Promise<void>((resolve) => (goOn = resolve));
    stage.tell({ type: 'text', delta: 'done.' });
    stage.answer('Slowly done.');
  });
  await says('Work');
  await shouldSee('Slowly');
  await page.reload();
  await waitFor('the second request', () => gateway.repeats === 1);
  goOn();
  await shouldSee('Slowly done.');
  expect(gateway.messages).toHaveLength(1);
});

test('a gateway that stops and comes back on its port answers the question that was open', async () => {
  const rows = new Map<string, string>();
  const asked: string[] = [];
  let goOn: () => void = () => undefined;
  const gateway = playGateway(async (stage) => {
    asked.push(stage.message.text);
    await new Promise<void>((resolve) => (goOn = resolve));
    sayWords(stage, 'Here again.');
  });
  const first = await startHttp({ gateway, state: memoryState(rows), deps: { pageDir: join(built, 'web') } });
  const context = await browser.newContext({ viewport: phone });
  onTestFinished(() => context.close());
  const page = await context.newPage();
  await page.goto(first.adapter.loginLink());
  await page.getByLabel('Message', { exact: true }).fill('Are you there?');
  await page.keyboard.press('Enter');
  await waitFor('the turn', () => asked.length === 1);
  await first.adapter.stop();
  await page.getByText('No connection').waitFor();
  await startHttp({ gateway, state: memoryState(rows), config: { port: first.port }, deps: { pageDir: join(built, 'web') } });
  await waitFor('the repeat', () => gateway.repeats === 1);
  goOn();
  await page.getByText('Here again.').first().waitFor();
  expect(asked).toEqual(['Are you there?']);
});

test('Stop sends /stop beside the turn, and the turn ends as stopped', async () => {
  const running: Stage[] = [];
  const { page, says, shouldSee, gateway } = await openPage((stage) => {
    if (stage.message.text !== '/stop') return void running.push(stage);
    for (const each of running) each.answer('', { status: 'aborted', code: 'TURN_INTERRUPTED' });
    stage.answer('Stopped.');
  });
  await says('For ever');
  await waitFor('the turn', () => running.length === 1);
  running[0]?.tell({ type: 'text', delta: 'On and on' });
  await shouldSee('On and on');
  await page.getByRole('button', { name: 'Stop' }).click();
  await shouldSee('Stopped.');
  expect(await page.locator('.question').count()).toBe(1);
  const [first, second] = gateway.messages;
  expect([second?.text, second?.address.chat]).toEqual(['/stop', first?.address.chat]);
});

test('a question of the agent is answered by a button, a failure is told', async () => {
  const waiting: Stage[] = [];
  const { page, says, shouldSee } = await openPage((stage) => {
    if (stage.message.text === 'Deploy') {
      waiting.push(stage);
      stage.tell({ type: 'question', text: 'Where to?', choices: ['Test', 'Production'] });
    } else {
      stage.answer('Understood.');
      waiting[0]?.answer('The model could not be reached. (k3x9)', { status: 'failed', code: 'MODEL_UNAVAILABLE' });
    }
  });
  await says('Deploy');
  await page.getByRole('button', { name: 'Production' }).click();
  await shouldSee('Understood.');
  await shouldSee('The model could not be reached. (k3x9)');
});

test('without the cookie there is a form; the key opens it, a wrong one does not; signing out closes it', async () => {
  const { page, shouldSee } = await openPage((stage) => sayWords(stage, 'Hello'), { login: false, size: { width: 1200, height: 800 } });
  await page.getByLabel('Key', { exact: true }).fill('wrong');
  await page.keyboard.press('Enter');
  await shouldSee('That is not the key.');
  await page.getByLabel('Key', { exact: true }).fill(key);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('heading', { name: 'What can I do for you?' }).waitFor();
  await page.getByRole('button', { name: 'Sign out' }).click();
  await page.getByLabel('Key', { exact: true }).waitFor();
  await page.goto(`${page.url()}login?ticket=used-before`);
  await shouldSee('That link was used before');
});

test('payloads in answers, tools, notices and questions stay text', async () => {
  const ways: ((stage: Stage, payload: string) => void)[] = [
    (stage, payload) => stage.tell({ type: 'text', delta: `${payload}\n\n` }),
    ({ tell }, payload) => tell({ type: 'tool_started', toolCallId: payload, name: payload, args: { x: payload }, emoji: payload }),
    ({ tell }, payload) => tell({ type: 'notice', text: payload }),
    ({ tell }, payload) => tell({ type: 'question', text: payload, choices: [payload] }),
  ];
  const { page, says, shouldSee, requested, complaints, url } = await openPage((stage) => {
    for (const payload of payloads) for (const way of ways) way(stage, payload);
    stage.tell({ type: 'text', delta: '\n\nThe end of it.' });
    stage.answer('', { status: 'failed', code: 'TURN_FAILED', text: payloads.join('\n') });
  });
  await page.evaluate(() => {
    // The payloads call this one by one or another of its names.
    Object.assign(window, { alert: () => document.title = 'alerted' });
  });
  await says(payloads.join('\n'));
  await shouldSee('The end of it.');
  const found = await page.evaluate(() => ({
    title: document.title,
    elements: [...new Set([...document.querySelectorAll('#log *')].map((element) => element.localName))],
    attributes: [...new Set([...document.querySelectorAll('#log *')].flatMap((element) => element.getAttributeNames()))],
    links: [...document.querySelectorAll<HTMLAnchorElement>('#log a')].map((link) => link.protocol),
  }));
  const allowedElements = ['a', 'article', 'blockquote', 'br', 'button', 'code', 'del', 'div', 'em', 'figcaption', 'figure', 'footer', 'h3', 'h4', 'hr', 'i', 'li', 'ol', 'p', 'pre', 'span', 'strong', 'table', 'td', 'th', 'tr', 'ul'];
  const allowedAttributes = ['aria-busy', 'aria-hidden', 'aria-label', 'class', 'data-status', 'hidden', 'href', 'rel', 'tabindex', 'target', 'type', 'value'];
  expect(found.elements.filter((name) => !allowedElements.includes(name))).toEqual([]);
  expect(found.attributes.filter((name) => !allowedAttributes.includes(name))).toEqual([]);
  expect(found.links.filter((protocol) => !['http:', 'https:', 'mailto:'].includes(protocol))).toEqual([]);
  expect(found.title).toBe('Hermes');
  expect(requested.filter((address) => !address.startsWith(url))).toEqual([]);
  expect(complaints).toEqual([]);
}, 60_000);
