/** The whole program against platforms that know only the essentials: what is not needed is not leaned on. */
import { expect, onTestFinished, test } from 'vitest';
import { startBarePlatforms } from './support/bare-platforms.ts';
import { startDaemon } from './support/daemon.ts';
import { lastUserText, startOpenAiApi } from './support/openai-api.ts';
import { tempHome } from './support/temp-home.ts';
import { waitFor } from './support/wait-for.ts';

test('every platform answers once, before and after a death, though most of its methods do not exist', async () => {
  const { telegram, discord, slack, platforms, isListening } = await startBarePlatforms();
  const model = await startOpenAiApi();
  onTestFinished(() => model.close());
  model.answer((request) => ({ text: `heard ${lastUserText(request)}` }));
  const options = {
    home: tempHome(),
    config: { model: { provider: 'custom', base_url: model.url, name: 'scripted', api_key: 'k' }, platforms },
  };
  const ann = { id: '11', username: 'ann' };
  const mention = (id: string, text: string, author = ann) => ({ id, channel_id: '52', guild_id: '70', author, content: `<@999> ${text}`, mentions: [{ id: '999', username: 'bot' }] });
  const direct = (id: string, text: string) => ({ id, channel_id: '51', author: ann, content: text, mentions: [] });

  const daemon = await startDaemon(options);
  await waitFor('every platform to be connected', isListening);
  telegram.tell({ from: { id: 1, is_bot: false, first_name: 'Ann' }, chat: { id: 1, type: 'private' }, text: 'one' });
  telegram.tell({ from: { id: 2, is_bot: false, first_name: 'Eve' }, chat: { id: 2, type: 'private' }, text: 'let me in' });
  discord.tell({ ...direct('101', 'two'), channel_type: 1 });
  discord.tell(mention('102', 'three'));
  discord.tell(mention('103', 'let me in', { id: '66', username: 'eve' }));
  slack.tell({ event_id: 'Ev1', event: { type: 'message', channel: 'D1', channel_type: 'im', user: 'U1', text: 'four', ts: '1700000000.000001' } });
  slack.tell({ event_id: 'Ev2', event: { type: 'app_mention', channel: 'C1', user: 'U1', text: '<@UBOT> five', ts: '1700000000.000002' } });
  await waitFor('the answers', () => telegram.sent.length > 0 && discord.sent.length >= 2 && slack.sent.length >= 2);
  await waitFor('their end to be written down', async () => (await (await daemon.api('/api/outbox')).text()) === '[]');
  await daemon.kill();

  const now = new Date().toISOString();
  discord.history.set('51', [direct('101', 'two'), { ...direct('105', 'six'), timestamp: now }]);
  const { guild_id: _, ...missed } = mention('106', 'seven');
  discord.history.set('52', [{ ...missed, timestamp: now }]);
  telegram.tell({ from: { id: 1, is_bot: false, first_name: 'Ann' }, chat: { id: 1, type: 'private' }, text: 'eight' });
  const next = await startDaemon(options);
  await waitFor('what was missed', () => discord.sent.length >= 4 && telegram.sent.some((text) => text.includes('eight')));
  expect(await next.stop()).toBe(0);

  const said = [...telegram.sent, ...discord.sent, ...slack.sent].flatMap((text) => /^heard (?:\S+: )?(\w+)$/.exec(text)?.[1] ?? []);
  expect(said.toSorted()).toEqual(['one', 'two', 'three', 'four', 'five', 'six', 'seven', 'eight'].toSorted());
  expect(model.requests).toHaveLength(8);
  expect(slack.acks).toHaveLength(6);
});

test('an answer that grows arrives whole where messages cannot be edited', async () => {
  const { telegram, discord, slack, platforms, isListening } = await startBarePlatforms();
  const model = await startOpenAiApi();
  onTestFinished(() => model.close());
  const story = 'Once upon a time there was a house on a hill, and nobody lived in it. '.repeat(6).trim();
  model.answer(() => ({ text: story, chunkBytes: 700, chunkDelayMs: 150 }));
  const daemon = await startDaemon({ home: tempHome(), config: { model: { provider: 'custom', base_url: model.url, name: 'scripted', api_key: 'k' }, platforms } });
  await waitFor('every platform to be connected', isListening);
  telegram.tell({ from: { id: 1, is_bot: false, first_name: 'Ann' }, chat: { id: 1, type: 'private' }, text: 'a story' });
  discord.tell({ id: '101', channel_id: '51', channel_type: 1, author: { id: '11', username: 'ann' }, content: 'a story', mentions: [] });
  slack.tell({ event_id: 'Ev1', event: { type: 'message', channel: 'D1', channel_type: 'im', user: 'U1', text: 'a story', ts: '1700000000.000001' } });
  const apis = [telegram, discord, slack];
  await waitFor('the stories', () => apis.every(({ sent }) => sent.includes(story)));
  await waitFor('the outbox to be empty', async () => (await (await daemon.api('/api/outbox')).text()) === '[]');
  for (const { sent } of apis) expect(sent.filter((text) => text === story)).toHaveLength(1);
  expect(await daemon.stop()).toBe(0);
});
