/** `hermes config` and the switches of plugins, on a real file with the real loader. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { createTerminal } from './support.ts';

function withFile(text: string, given: Parameters<typeof createTerminal>[0] = {}) {
  const terminal = createTerminal(given);
  const path = join(terminal.home, 'config.yaml');
  if (text) writeFileSync(path, text);
  return { ...terminal, path, file: () => readFileSync(path, 'utf8') };
}

describe('hermes config', () => {
  it('tells the path', async () => {
    const { hermes, path } = withFile('');
    expect(await hermes('config path')).toMatchObject({ code: 0, out: `${path}\n` });
    expect((await hermes('config path --home /else')).out).toBe('/else/config.yaml\n');
  });

  it('shows everything but secrets', async () => {
    const env = { TELEGRAM_BOT_TOKEN: '12:abc' };
    const { hermes } = withFile('model: {api_key: very-secret}\nmcp_servers: {m: {command: x, env: {K: hush-hush}}}\n', { env });
    for (const line of ['config show', 'config show --json']) {
      const { out } = await hermes(line);
      for (const secret of ['12:abc', 'very-secret', 'hush-hush']) expect(out).not.toContain(secret);
      expect(parse(out)).toMatchObject({ model: { api_key: '[hidden]', provider: 'auto' }, platforms: { telegram: { token: '[hidden]' }, discord: { token: '' } } });
    }
    expect((await hermes('config get model.api_key')).out).toBe('[hidden]\n');
  });

  it('gets one value, and names the nearest key of one that does not exist', async () => {
    const { hermes } = withFile('agent: {disabled_toolsets: [web]}\n');
    expect((await hermes('config get agent.max_steps')).out).toBe('25\n');
    expect((await hermes('config get agent.disabled_toolsets')).out).toBe('- web\n');
    expect((await hermes('config get model.name')).out).toBe('null\n');
    expect((await hermes('config get platforms.telegram.tool_progress')).out).toBe('null\n');
    expect(await hermes('config get agent.max_stesp')).toMatchObject({ code: 1, err: 'agent.max_stesp is unknown; did you mean agent.max_steps?\n' });
  });

  it('checks: valid with its notices, or every problem and 78', async () => {
    const good = withFile('agent: {max_steps: 3}\n', { warnings: ['agent.disabled_toolsets: unknown toolset wbe'] });
    expect(await good.hermes('config check')).toMatchObject({ code: 0, out: `${good.path} is valid\n`, err: expect.stringMatching(/^agent\.disabled_toolsets: unknown toolset wbe\ntelegram is off: /) });
    const bad = withFile('agnet: 1\nlog: {level: 5}\n');
    for (const line of ['config check', 'config show', 'config get log.level', 'config set cron.enabled false'])
      expect(await bad.hermes(line)).toMatchObject({ code: 78, out: '', err: `${bad.path}:1:1 agnet is unknown; did you mean agent?\n${bad.path}:2:7 log.level must be debug, info, warn, error or silent\n` });
  });

  it('sets a value and keeps the rest, or refuses and writes nothing', async () => {
    const { hermes, file } = withFile('# hello\nagent:\n  max_steps: 25 # enough\n');
    expect(await hermes('config set agent.max_steps 40')).toMatchObject({ code: 0 });
    await hermes(['config', 'set', 'model.name', '5']);
    await hermes(['config', 'set', 'platforms.telegram.instructions', 'Answer: briefly']);
    await hermes(['config', 'set', 'platforms.telegram.allowed_users', '[123, 99999999999999999999]']);
    expect(file()).toBe('# hello\nagent:\n  max_steps: 40 # enough\nmodel:\n  name: "5"\nplatforms:\n  telegram:\n    instructions: "Answer: briefly"\n    allowed_users:\n      - 123\n      - 99999999999999999999\n');
    const before = file();
    for (const [line, reason] of [
      ['config set agent.max_steps many', 'agent.max_steps must be a number'],
      ['config set agent.max_stesp 4', 'agent.max_stesp is unknown; did you mean max_steps?'],
      ['config set platforms.telegram.allowed_users @bob', 'must be a list'],
      ['config set __proto__.x 1', 'cannot be a key'],
    ] as const)
      expect(await hermes(line)).toMatchObject({ code: 78, err: expect.stringContaining(reason) });
    expect(file()).toBe(before);
  });

  it('sets in a home without a file, and can mend a broken value', async () => {
    const fresh = withFile('');
    await fresh.hermes('config set log.level debug');
    expect(fresh.file()).toBe('log:\n  level: debug\n');
    const broken = withFile('log: {level: loud}\n');
    expect((await broken.hermes('config set log.level warn')).code).toBe(0);
    expect(broken.file()).toBe('log: {level: warn}\n');
  });
});

describe('plugins', () => {
  const plugins = ['a', 'b'].map((name) => ({ name, version: '1.0.0', description: '', state: 'loaded' as const, reason: null, tools: [], hooks: [], commands: [], skills: [], dir: '/' }));

  it('are switched off and on again', async () => {
    const { hermes, file } = withFile('', { plugins });
    expect(await hermes('plugins disable a')).toMatchObject({ code: 0, out: 'a is disabled; it takes effect at the next start\n' });
    await hermes('plugins disable a');
    expect(parse(file())).toEqual({ plugins: { disabled: ['a'] } });
    await hermes('plugins enable a');
    expect(parse(file())).toEqual({ plugins: { disabled: [] } });
  });

  it('are added to the list of the only ones, where there is one', async () => {
    const { hermes, file } = withFile('plugins: {enabled: [a]} # few\n', { plugins });
    await hermes('plugins enable b');
    expect(parse(file())).toEqual({ plugins: { enabled: ['a', 'b'] } });
    expect(file()).toContain('# few');
  });

  it('that are not there change nothing', async () => {
    const { hermes, path } = withFile('', { plugins });
    expect(await hermes('plugins disable c')).toMatchObject({ code: 1, err: expect.stringContaining('There is no plugin c') });
    expect(existsSync(path)).toBe(false);
  });
});
