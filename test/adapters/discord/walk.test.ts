/** Discord through the built program: the SDK's own sockets on loopback, a plugin's tool and hooks, a scripted model, and a restart in between. */
import { appendFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { examples, startDaemon } from '../../support/daemon.ts';
import { startDiscordApi } from '../../support/discord-api.ts';
import { lastUserText, startOpenAiApi } from '../../support/openai-api.ts';
import { tempHome } from '../../support/temp-home.ts';
import { waitFor } from '../../support/wait-for.ts';

/** A plugin that writes down which hooks it saw, with their platform. */
function witness(): { dir: string; saw(): string[] } {
  const dir = join(tempHome(), 'witness');
  const file = join(dir, 'saw.txt');
  mkdirSync(dir, { recursive: true });
  writeFileSync(join(dir, 'plugin.yaml'), 'name: witness\nversion: 1.0.0\n');
  writeFileSync(
    join(dir, 'index.js'),
    `const { appendFileSync } = require('node:fs');
exports.register = (ctx) => {
  for (const name of ['on_session_start', 'pre_llm_call']) ctx.registerHook(name, ({ platform }) => appendFileSync(${JSON.stringify(file)}, name + ' ' + platform + '\\n'));
};`,
  );
  appendFileSync(file, '');
  return { dir, saw: () => (existsSync(file) ? readFileSync(file, 'utf8').trim().split('\n') : []) };
}

test('A5 openclaw#77594 a mention, a direct message and what was written meanwhile are answered once; a stranger is not, by whatever gesture', async () => {
  const model = await startOpenAiApi();
  const discord = await startDiscordApi();
  onTestFinished(async () => {
    await discord.close();
    await model.close();
  });
  model.answer((request) => {
    const last = request.body.messages.at(-1);
    if (last?.role === 'tool') return { text: `It is ${(JSON.parse(String(last.content)) as { result: number }).result}.` };
    if (lastUserText(request).includes('power')) return { toolCalls: [{ name: 'calculate', args: { expression: '2^16' } }] };
    return { text: `heard: ${lastUserText(request)}` };
  });
  const alice = discord.user('Alice');
  const mallory = discord.user('Mallory');
  const general = discord.guild().channel('general');
  const hooks = witness();
  const options = {
    home: tempHome(),
    plugins: [join(examples, 'calculator'), hooks.dir],
    config: {
      model: { provider: 'custom', base_url: model.url, name: 'scripted', api_key: 'key-for-the-scripted-model' },
      platforms: { discord: { token: discord.token, api_root: discord.url, allowed_users: [alice.id], unauthorized_dm: 'ignore' } },
    },
  };

  const daemon = await startDaemon(options);
  await waitFor('the bot to be there', () => discord.gateway.identifies.length === 1 && discord.commands.length > 0);
  expect(discord.commands.map(({ name }) => name)).toEqual(expect.arrayContaining(['new', 'stop', 'status', 'plugins']));

  const question = general.as(alice).says("<@bot> What's 2 to the power of 16?");
  const inThread = discord.channel(question).as(alice);
  await inThread.shouldSee('It is 65536.');
  inThread.says('and without a mention?');
  await inThread.shouldSee(/heard: (.*: )?and without a mention\?/);
  discord.dm(alice).says('hello in private');
  await discord.dm(alice).shouldSee('heard: hello in private');
  expect(model.violations).toEqual([]);
  expect(hooks.saw()).toEqual(expect.arrayContaining(['on_session_start discord', 'pre_llm_call discord']));
  expect(hooks.saw().every((line) => line.endsWith(' discord'))).toBe(true);
  expect(model.requests[0]?.body.tools?.map((tool) => tool.function.name)).not.toContain('terminal');

  // A stranger, by every gesture there is.
  const [requests, sent, typed] = [model.requests.length, discord.sent.length, discord.typing.length];
  const stranger = general.as(mallory);
  const message = stranger.says('<@bot> let me in');
  stranger.edits(message, '<@bot> let me in, please');
  stranger.reacts(message, '👍');
  discord.dm(mallory).says('let me in');
  const command = stranger.uses('status');
  const press = general.id;
  discord.gateway.dispatch('INTERACTION_CREATE', { id: press, application_id: discord.me.id, token: 't', type: 3, channel_id: general.id, guild_id: discord.guild().id, member: { user: mallory, roles: [] }, message: { id: message }, data: { custom_id: 'yes' } });
  await waitFor('the refusals', () => discord.callsOf('callback').length === 2);
  expect(discord.response(command)).toMatchObject({ type: 4, data: { flags: 64 } });
  discord.dm(alice).says('still there?');
  await discord.dm(alice).shouldSee('heard: still there?');
  expect(model.requests.length).toBe(requests + 1);
  expect(model.requests.some(({ raw }) => raw.includes('let me in'))).toBe(false);
  expect(discord.sent.length).toBe(sent + 1);
  expect(discord.typing.slice(typed).every((channel) => channel === discord.dm(alice).channel)).toBe(true);
  expect(discord.callsOf('thread')).toHaveLength(1);

  // A command, by Discord's own menu.
  const plugins = general.as(alice).uses('plugins');
  await general.as(alice).shouldSee(/✓ calculator v1\.0\.0 \(2 tools, 1 hooks\)/);
  await waitFor('"thinking" to be gone', () => discord.response(plugins)?.isDeleted);

  expect(await daemon.stop()).toBe(0);
  expect(discord.gateway.sockets()).toBe(0);
  general.as(alice).says('<@bot> while you were away');
  discord.dm(alice).says('you missed this');
  const second = await startDaemon(options);
  await discord.dm(alice).shouldSee('heard: you missed this', 20_000);
  await waitFor('the mention to be answered', () => discord.sent.some(({ content }) => content.includes('while you were away')));
  discord.dm(alice).says('last');
  await discord.dm(alice).shouldSee('heard: last');
  for (const text of ['while you were away', 'you missed this', 'still there?', 'It is 65536.']) {
    expect(discord.sent.filter(({ content }) => content.includes(text)), text).toHaveLength(1);
  }
  expect(discord.callsOf('commands')).toHaveLength(1);
  expect(await second.stop()).toBe(0);
  expect(daemon.output() + second.output()).not.toContain(discord.token);
}, 60_000);

test('an answer whose preview somebody deletes while it grows arrives whole, as one new message', async () => {
  const model = await startOpenAiApi();
  const discord = await startDiscordApi();
  onTestFinished(async () => {
    await discord.close();
    await model.close();
  });
  const pieces = Array.from({ length: 40 }, (_, index) => `word${index} `);
  model.answer(() => ({ text: pieces.join(''), pieces, chunkBytes: 400, chunkDelayMs: 60 }));
  const alice = discord.user('Alice');
  const daemon = await startDaemon({
    home: tempHome(),
    config: {
      model: { provider: 'custom', base_url: model.url, name: 'scripted', api_key: 'key-for-the-scripted-model' },
      streaming: { enabled: true, buffer_chars: 1 },
      platforms: { discord: { token: discord.token, api_root: discord.url, allowed_users: [alice.id] } },
    },
  });
  await waitFor('the bot to be there', () => discord.gateway.identifies.length === 1);
  discord.dm(alice).says('tell me');
  const preview = await discord.dm(alice).shouldSee('word0');
  expect(preview.content).not.toContain('word39');
  discord.dm(alice).deletes(preview.id);
  const answer = await discord.dm(alice).shouldSee(/word0 .*word39/, 20_000);
  expect(answer.id).not.toBe(preview.id);
  expect(discord.sent.filter(({ content }) => content.includes('word0'))).toHaveLength(1);
  expect(daemon.isRunning()).toBe(true);
}, 60_000);
