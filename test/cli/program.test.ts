/** Command lines, as typed. */
import type { Command } from 'commander';
import { describe, expect, it } from 'vitest';
import { HermesError } from '../../src/contract/errors.ts';
import type { PluginFacts } from '../../src/contract/plugin.ts';
import { createTerminal } from './support.ts';

const calculator: PluginFacts = { name: 'calculator', version: '1.0.0', description: 'Sums', state: 'loaded', reason: null, tools: ['calculate', 'unit_convert'], hooks: ['post_tool_call'], commands: ['sum'], skills: ['maths'], dir: '/p/calculator' };
const weather: PluginFacts = { ...calculator, name: 'weather', state: 'disabled', reason: 'missing: WEATHER_API_KEY', tools: [], hooks: [], commands: [], skills: [] };

describe('chat', () => {
  it('is what hermes alone does', async () => {
    const terminal = createTerminal();
    for (const line of ['', 'chat']) {
      expect((await terminal.hermes(line)).code).toBe(0);
      expect(terminal.asked).toEqual([{ chat: { home: terminal.home, logLevel: undefined, continue: false, pluginDirs: [], json: false } }]);
    }
  });

  it('takes one question with everything that belongs to it, and hands the exit code on', async () => {
    const terminal = createTerminal({ exitCode: 1 });
    const { code } = await terminal.hermes(['chat', '-q', 'hello there', '--toolsets', 'web, core', '--model', 'm', '--resume', 'ID', '--plugin', 'a', '--plugin', 'b', '--json', '--home', '/h', '--log-level', 'debug']);
    expect(code).toBe(1);
    expect(terminal.asked).toEqual([{ chat: { home: '/h', logLevel: 'debug', query: 'hello there', toolsets: ['web', 'core'], model: 'm', resume: 'ID', continue: false, pluginDirs: ['a', 'b'], json: true } }]);
    await terminal.hermes(['-q', 'hi', '-c']);
    expect(terminal.asked).toMatchObject([{ chat: { query: 'hi', continue: true } }]);
  });

  it.each(['chat -q', 'chat --json', 'chat --resume X --continue', 'chat --toolsets ,', 'chat extra', 'chat --colour', '--log-level loud chat'])('refuses: %s', async (line) => {
    const terminal = createTerminal();
    const { code, out, err } = await terminal.hermes(line);
    expect([code, out, terminal.asked]).toEqual([2, '', []]);
    expect(err).not.toBe('');
  });
});

describe('the daemon', () => {
  it.each(['gateway', 'gateway run', 'start'])('is run by: hermes %s', async (line) => {
    const terminal = createTerminal({ exitCode: 75 });
    expect((await terminal.hermes(`--home /h ${line} --plugin x`)).code).toBe(75);
    expect(terminal.asked).toEqual([{ daemon: { home: '/h', logLevel: undefined, pluginDirs: ['x'] } }]);
  });

  it('is asked for what only it can do', async () => {
    const terminal = createTerminal({ daemon: (_, path) => (path === '/readyz' ? { ready: true, adapters: { telegram: 'up' } } : undefined) });
    expect(await terminal.hermes('status')).toMatchObject({ code: 0, out: 'ready: true\nadapters:\n  telegram: up\n' });
    const calls = async (line: string | string[]) => {
      const { code } = await terminal.hermes(line);
      return [code, ...terminal.asked];
    };
    expect(await calls(['send', '--to', 'telegram:-100:7', 'the text'])).toEqual([0, { call: 'POST /api/send', body: { to: 'telegram:-100:7', text: 'the text' } }]);
    expect(await calls('send --to nowhere text')).toEqual([2]);
    expect(await calls('send text')).toEqual([2]);
    expect(await calls('outbox retry 17')).toEqual([0, { call: 'POST /api/outbox/17/retry', body: undefined }]);
    expect(await calls('outbox drop 17')).toEqual([0, { call: 'POST /api/outbox/17/drop', body: undefined }]);
    expect(await calls('outbox drop ../x')).toEqual([2]);
    expect(await calls('pairing list')).toEqual([0, { call: 'GET /api/pairing', body: undefined }]);
    expect(await calls('pairing approve telegram ABCD2345')).toEqual([0, { call: 'POST /api/pairing/approve', body: { platform: 'telegram', code: 'ABCD2345' } }]);
    expect(await calls('pairing revoke telegram 5')).toEqual([0, { call: 'POST /api/pairing/revoke', body: { platform: 'telegram', user: '5' } }]);
  });

  it('that does not run is a failure which says so', async () => {
    const terminal = createTerminal({
      daemon: () => {
        throw new HermesError('ADAPTER_OFF', 'No daemon runs here; start one with hermes start');
      },
    });
    expect(await terminal.hermes('status')).toMatchObject({ code: 1, out: '', err: 'No daemon runs here; start one with hermes start\n' });
  });
});

describe('looking at a home', () => {
  it('lists plugins in the exact lines', async () => {
    const terminal = createTerminal({ plugins: [calculator, weather] });
    const { code, out, opened } = await terminal.hermes('plugins list');
    expect(out).toBe('Plugins (2):\n  ✓ calculator v1.0.0 (2 tools, 1 hooks)\n  ✗ weather v1.0.0 - disabled (missing: WEATHER_API_KEY)\n');
    expect([code, opened]).toEqual([0, 0]);
    expect((await terminal.hermes('plugins list --plugin ./x')).code).toBe(0);
    expect(terminal.asked).toEqual([{ inspect: ['./x'] }]);
  });

  it('tells one plugin, and the nearest name of one that is not there', async () => {
    const terminal = createTerminal({ plugins: [calculator] });
    expect((await terminal.hermes('plugins info calculator')).out).toBe('calculator v1.0.0\nSums\nstate: loaded\ntools: calculate, unit_convert\nhooks: post_tool_call\ncommands: /sum\nskills: maths\nfolder: /p/calculator\n');
    expect(await terminal.hermes('plugins info calculatr')).toMatchObject({ code: 1, err: expect.stringContaining('did you mean calculator?'), opened: 0 });
  });

  it('lists tools with the reason of each absent one', async () => {
    const tools = [
      { name: 'calculate', toolset: 'calculator', description: 'Computes.\nMore.', absent: null },
      { name: 'terminal', toolset: 'terminal', description: 'Runs.', absent: 'not on telegram' },
    ];
    const terminal = createTerminal({ tools, warnings: ['unknown toolset x'] });
    expect(await terminal.hermes('tools list --platform telegram')).toMatchObject({ out: 'calculator\n  ✓ calculate  Computes.\nterminal\n  ✗ terminal   - not on telegram\n', err: 'unknown toolset x\n' });
    expect(terminal.asked).toContainEqual({ tools: 'telegram' });
    expect(JSON.parse((await terminal.hermes('tools list --json')).out)).toEqual(tools);
    expect(terminal.asked).toContainEqual({ tools: 'cli' });
  });

  it('lists sessions and the outbox, and nothing of a chat can command the terminal', async () => {
    const terminal = createTerminal({
      sessions: [{ id: '20260101_000000_abcdefgh', title: 'a \u001b]0;owned\u0007\u202E title', platform: 'telegram', startedAt: 0, lastActiveAt: 60_000, turns: 3 }],
      outbox: [{ id: 7, state: 'dead', address: 'telegram:1', text: 'long\ntext \u009b31m', attempts: 5, error: 'blocked', createdAt: 0 }],
    });
    const sessions = await terminal.hermes('sessions list --limit 5');
    expect(sessions.out).toContain('20260101_000000_abcdefgh  1970-01-01 00:01  telegram  3      a \\u001b]0;owned\\u0007\\u202e title\n');
    const outbox = await terminal.hermes('outbox list');
    expect(outbox.out).toContain('7   dead   1970-01-01 00:00  telegram:1  5      blocked  long text \\u009b31m\n');
    expect((await terminal.hermes('sessions list --limit 0')).code).toBe(2);
    expect((await createTerminal().hermes('sessions list')).out).toBe('No sessions yet.\n');
  });
});

describe('plugins\' commands', () => {
  const plugin = (handled: unknown[], name = 'sums') => ({
    name,
    help: 'does sums',
    plugin: 'calculator',
    setupFn(command: unknown) {
      const top = command as Command;
      top.command('add <first> [rest...]').description('adds').option('--round', 'round it').option('--deep-level <n>', 'depth');
    },
    handlerFn: (args: Record<string, unknown>) => {
      handled.push(args);
      return args.first === 'fail' ? 3 : undefined;
    },
  });

  it('run like our own, with sub-commands, options and exit codes', async () => {
    const handled: unknown[] = [];
    const terminal = createTerminal({ pluginCommands: () => [plugin(handled)] });
    expect((await terminal.hermes('sums add 1 2 3 --round --deep-level 4 --home /h')).code).toBe(0);
    expect(handled).toMatchObject([{ subcommand: 'add', first: '1', rest: ['2', '3'], round: true, deepLevel: '4' }]);
    expect(terminal.asked).toEqual([{ pluginCommands: '/h' }]);
    expect((await terminal.hermes('sums add fail')).code).toBe(3);
    expect((await terminal.hermes('sums add')).code).toBe(2);
    expect((await terminal.hermes('sums add --help')).out).toContain('--deep-level <n>');
    expect((await terminal.hermes('sums')).code).toBe(0);
    expect(handled.at(-1)).not.toHaveProperty('subcommand');
  });

  it('are loaded for an unknown name and for help alone, and never take the place of our own', async () => {
    const handled: unknown[] = [];
    const terminal = createTerminal({ pluginCommands: () => [plugin(handled), plugin(handled, 'status')] });
    await terminal.hermes('status');
    expect(terminal.asked).toEqual([{ call: 'GET /readyz', body: undefined }]);
    expect(await terminal.hermes('--help')).toMatchObject({ code: 0, out: expect.stringMatching(/sums +does sums/) });
    expect(await terminal.hermes('sum')).toMatchObject({ code: 2, err: expect.stringContaining('did you mean hermes sums?') });
    expect(handled).toEqual([]);
  });

  it('that are broken are named, and the help is there all the same', async () => {
    const broken = { name: 'bad', help: 'bad', plugin: 'p', setupFn: () => { throw new Error('no setup'); }, handlerFn: () => { throw new Error('no luck'); } };
    const { setupFn: _, ...failing } = broken;
    expect(await createTerminal({ pluginCommands: () => [failing] }).hermes('bad')).toMatchObject({ code: 1, err: 'plugin p: no luck\n' });
    expect(await createTerminal({ pluginCommands: () => [broken] }).hermes('--help')).toMatchObject({ code: 0, err: expect.stringContaining('no setup') });
    const down = createTerminal({ pluginCommands: () => { throw new HermesError('CONFIG_INVALID', 'config.yaml:1:1 x y'); } });
    expect(await down.hermes('--help')).toMatchObject({ code: 0, out: expect.stringContaining('gateway'), err: expect.stringContaining('not shown') });
    expect((await down.hermes('mystery')).code).toBe(78);
  });
});

describe('help', () => {
  const commands = ['chat', 'gateway', 'gateway run', 'start', 'config', 'config path', 'config show', 'config get', 'config set', 'config check', 'tools', 'tools list', 'plugins', 'plugins list', 'plugins info', 'plugins enable', 'plugins disable', 'sessions', 'sessions list', 'sessions show', 'sessions search', 'sessions export', 'sessions rename', 'sessions delete', 'sessions prune', 'skills', 'skills list', 'skills show', 'memory', 'memory show', 'memory edit', 'outbox', 'outbox list', 'outbox retry', 'outbox drop', 'status', 'send', 'pairing', 'pairing list', 'pairing approve', 'pairing revoke', 'doctor'];

  it.each(['', ...commands])('of hermes %s has an example and the global options', async (command) => {
    const { code, out, err } = await createTerminal().hermes(`${command} --help`);
    expect([code, err]).toEqual([0, '']);
    expect(out).toMatch(/\nExamples?:\n {2}\$ hermes/);
    expect(out).toContain('--home <dir>');
  });

  it('and version end well; a group without a command, and an unknown one, are usage errors', async () => {
    const terminal = createTerminal();
    expect(await terminal.hermes('--version')).toMatchObject({ code: 0, out: '1.2.3\n' });
    expect(await terminal.hermes('config')).toMatchObject({ code: 2, out: '' });
    expect((await terminal.hermes('config shwo')).code).toBe(2);
    expect(await terminal.hermes('gatway run')).toMatchObject({ code: 2, err: expect.stringContaining('did you mean hermes gateway?') });
  });
});
