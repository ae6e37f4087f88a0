/** Two daemons with homes of their own and the same tokens: one listens, the other waits for its end, and nothing is answered twice. */
import { expect, onTestFinished, test } from 'vitest';
import { startBarePlatforms } from '../support/bare-platforms.ts';
import { startDaemon } from '../support/daemon.ts';
import { lastUserText, startOpenAiApi } from '../support/openai-api.ts';
import { tempHome } from '../support/temp-home.ts';
import { waitFor } from '../support/wait-for.ts';

test('A13 one listener per token on a machine; the death of the first lets the second in', async () => {
  const { telegram, discord, slack, platforms, isListening } = await startBarePlatforms();
  const model = await startOpenAiApi();
  onTestFinished(() => model.close());
  model.answer((request) => ({ text: `heard ${lastUserText(request)}` }));
  const options = () => ({
    home: tempHome(),
    config: { model: { provider: 'custom', base_url: model.url, name: 'scripted', api_key: 'k' }, platforms },
  });
  let count = 0;
  const everybodyWrites = () => {
    count += 1;
    telegram.tell({ from: { id: 1, is_bot: false, first_name: 'Ann' }, chat: { id: 1, type: 'private' }, text: `text ${count}` });
    discord.tell({ id: String(100 + count), channel_id: '51', channel_type: 1, author: { id: '11', username: 'ann' }, content: `text ${count}`, mentions: [] });
    slack.tell({ event_id: `Ev${count}`, event: { type: 'message', channel: 'D1', channel_type: 'im', user: 'U1', text: `text ${count}`, ts: `1700000000.00000${count}` } });
  };
  const isAnswered = () => [telegram, discord, slack].every(({ sent }) => sent.includes(`heard text ${count}`));

  const first = await startDaemon(options());
  await waitFor('the first to listen', isListening);
  const second = await startDaemon(options());
  await waitFor('the second to see that it is not alone', () => second.output().match(/is degraded: .*listens with the same token/g)?.length === 3);
  expect((await second.api('/healthz')).status).toBe(200);
  everybodyWrites();
  await waitFor('the first to answer', isAnswered);

  await first.kill();
  await waitFor('the second to listen', () => ['telegram', 'discord', 'slack'].every((platform) => second.output().includes(`${platform} is up`)), 60_000);
  everybodyWrites();
  await waitFor('the second to answer', isAnswered);
  for (const { sent } of [telegram, discord, slack]) expect(sent).toEqual(['heard text 1', 'heard text 2']);
  expect(await second.stop()).toBe(0);
});
