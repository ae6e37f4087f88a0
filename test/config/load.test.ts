/** What a configuration file means. */
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { ensureApiKey, ensureHome, resolveHome } from '../../config/load.ts';
import { tempHome } from '../support/temp-home.ts';
import { load, problems } from './support.ts';

describe('no file at all', () => {
  it('keys without effect in this version are said when they are set', () => {
    const off = 'platforms: {telegram: {enabled: false}, discord: {enabled: false}, slack: {enabled: false}}\n';
    expect(load(off).notices).toEqual([]);
    expect(load(`${off}budgets: {day_usd: 5, turn_tokens: 1000}\nmcp_servers: {files: {command: x}}\n`).notices).toEqual(['budgets.day_usd is set and has no effect in this version.', 'mcp_servers.files is set and has no effect in this version.']);
  });

  it('is the defaults, with every chat platform off and told how to come on', () => {
    const { config, off, notices } = load(null);
    expect(config.model).toEqual({ provider: 'auto', name: null, base_url: null, api_key: null, context_window: 128_000, fallbacks: [] });
    expect(config.agent).toEqual({ max_steps: 25, turn_timeout_s: 600, disabled_toolsets: [] });
    expect(config.platforms.http).toMatchObject({ host: '127.0.0.1', port: 8642, api_key: null });
    expect(config.plugins.hook_timeout_s).toEqual({ pre: 5, post: 30 });
    expect(config.gateway_access).toEqual({ allowed_users: [], allow_all: false });
    expect(Object.keys(off)).toEqual(['telegram', 'discord', 'slack']);
    expect(notices[0]).toMatch(/^telegram is off: TELEGRAM_BOT_TOKEN is not set; put TELEGRAM_BOT_TOKEN=\.\.\. into \/.*\/\.env$/);
  });

  it('takes tokens from .env all the same', () => {
    const { config, off } = load(null, { dotenv: 'TELEGRAM_BOT_TOKEN=12:abc\nexport SLACK_BOT_TOKEN="xoxb-1" # note\nSLACK_APP_TOKEN=\'xapp-1\'\n' });
    expect(config.platforms.telegram.token).toBe('12:abc');
    expect(Object.keys(off)).toEqual(['discord']);
  });

  it('is what an empty file, a comment and empty sections mean too', () => {
    const nothing = load(null).config;
    for (const text of ['', '# later\n', '\uFEFF', 'platforms:\nagent:\n  max_steps:\n', 'platforms: null\nagent: {disabled_toolsets: null}\n'])
      expect(load(text).config, JSON.stringify(text)).toEqual(nothing);
  });

  it('cannot be changed afterwards', () => {
    const { config } = load(null);
    expect(() => Object.assign(config.agent, { max_steps: 99 })).toThrow(TypeError);
    expect(() => (config.platforms.telegram.allowed_users as string[]).push('1')).toThrow(TypeError);
  });
});

describe('variables', () => {
  it('are filled in, also without quotes inside braces', () => {
    const { config } = load('platforms:\n  telegram: {token: ${MY_TOKEN}, api_root: "http://${HOST}:81"}\n', { env: { MY_TOKEN: ' 12:abc\n', HOST: 'localhost' } });
    expect(config.platforms.telegram).toMatchObject({ token: '12:abc', api_root: 'http://localhost:81' });
  });

  it('give a text that number and true/false keys read strictly', () => {
    const yaml = 'agent: {max_steps: ${STEPS}}\nsessions: {group_sessions_per_user: "${PER_USER}"}\nplatforms: {discord: {streaming: "${LIVE}"}}\n';
    const { config } = load(yaml, { env: { STEPS: '7', PER_USER: 'false', LIVE: 'false' } });
    expect([config.agent.max_steps, config.sessions.group_sessions_per_user, config.platforms.discord.streaming]).toEqual([7, false, 'off']);
    expect(problems(yaml, { env: { STEPS: '0x7', PER_USER: 'no', LIVE: 'on' } })).toEqual([
      'config.yaml:1:9 agent.max_steps must be a number (its value comes from STEPS)',
      'config.yaml:2:12 sessions.group_sessions_per_user must be true or false (its value comes from PER_USER)',
    ]);
  });

  it('cannot bring structure with them', () => {
    const { config } = load('agent: {disabled_toolsets: ["${X}"]}\n', { env: { X: 'a, b]}\nlog: {level: debug}' } });
    expect(config.agent.disabled_toolsets).toEqual(['a, b]}\nlog: {level: debug}']);
  });

  it('of the real environment win over .env, and .env is seen by everybody after', () => {
    const env: Record<string, string | undefined> = { A: 'real' };
    load('model: {name: "${A}-${B}"}\n', { env, dotenv: 'A=file\nB=file\n' });
    expect(env).toEqual({ A: 'real', B: 'file' });
    expect(load('model: {name: "${A}-${B}"}\n', { env }).config.model.name).toBe('real-file');
  });

  it.each([
    ['missing', undefined, 'telegram is off: MY_TOKEN is not set'],
    ['empty', '', 'telegram is off: MY_TOKEN is not set'],
    ['white space', ' \t\n', 'telegram is off: MY_TOKEN is not set'],
    ['cut in two', '12:ab cd', 'telegram is off: the value of platforms.telegram.token contains white space'],
  ])('that hold a token which is %s switch off that platform alone', (_, token, reason) => {
    const { off, notices } = load('platforms: {telegram: {token: "${MY_TOKEN}"}}\n', { env: { MY_TOKEN: token, DISCORD_BOT_TOKEN: 'd' } });
    expect(off.telegram).toContain(reason);
    expect(notices.join('\n')).not.toContain('ab cd');
    expect(off.discord).toBeUndefined();
  });
});

describe('platforms', () => {
  it('are off without a word when they are switched off', () => {
    const { off, notices } = load('platforms: {telegram: {enabled: false}, discord: {enabled: false}, slack: {enabled: false}}\n', { env: { TELEGRAM_BOT_TOKEN: 't' } });
    expect(Object.keys(off)).toEqual(['telegram', 'discord', 'slack']);
    expect(notices).toEqual([]);
  });

  it('need what their mode needs', () => {
    const env = { SLACK_BOT_TOKEN: 'b', SLACK_SIGNING_SECRET: 's' };
    expect(load('platforms: {slack: {mode: http}}\n', { env }).off.slack).toBeUndefined();
    expect(load('platforms: {slack: {mode: socket}}\n', { env }).off.slack).toContain('SLACK_APP_TOKEN is not set');
  });

  it('of a plugin get the checks of every chat platform and keep keys of their own', () => {
    const yaml = 'platforms: {matrix: {allowed_users: [1], server: "https://m.example"}}\n';
    expect(load(yaml, { pluginPlatforms: ['matrix'] }).config.platforms.matrix).toMatchObject({ allowed_users: ['1'], server: 'https://m.example', require_mention: true });
    expect(problems('platforms: {matrix: {allowed_users: 1}}\n', { pluginPlatforms: ['matrix'] })).toEqual(['config.yaml:1:22 platforms.matrix.allowed_users must be a list']);
    expect(problems(yaml)).toEqual([expect.stringMatching(/^config\.yaml:1:13 platforms\.matrix is unknown; did you mean \w+\?$/)]);
  });

  it('may be judged after the plugins are known', () => {
    const loaded = load('platforms:\n  matrix: {a: 1}\n  telegarm: {token: x}\n', { pluginPlatforms: 'later' });
    expect(() => loaded.refuseUnknownPlatforms(['matrix'])).toThrow(/config\.yaml:3:3 platforms\.telegarm is unknown; did you mean telegram\?$/);
    expect(() => loaded.refuseUnknownPlatforms(['matrix', 'telegarm'])).not.toThrow();
  });
});

describe('ids', () => {
  it('are texts, exactly, whether written as numbers or texts, however large', () => {
    const { config } = load('platforms:\n  discord: {allowed_users: [1189227436217671720, "99999999999999999999", 5], allowed_roles: [-100]}\n  telegram: {chats: {-1001234: {instructions: hi}}}\n');
    expect(config.platforms.discord.allowed_users).toEqual(['1189227436217671720', '99999999999999999999', '5']);
    expect(config.platforms.discord.allowed_roles).toEqual(['-100']);
    expect(Object.keys(config.platforms.telegram.chats)).toEqual(['-1001234']);
  });

  it('written in another way than the platform shows them are refused, as are names', () => {
    expect(problems('platforms: {telegram: {allowed_users: [1, 2, 3, "@bob", true, "", null, 1.5, "*"]}}\n').map((line) => line.replace(/^\S+ \S+users\.(\d) /, '$1 '))).toEqual([
      '3 is a name, not an id; names can be changed by anyone, so only ids are compared',
      '4 must be text or a number',
      '5 must not be empty',
      '6 must be text or a number',
      '7 must be text or a whole number',
      '8 is not an id; set allow_all: true to let everybody in',
    ]);
    expect(problems('platforms: {telegram: {allowed_users: [1e3, 007, 0x1F]}}\n')).toHaveLength(3);
  });

  it('may be a star beside allow_all alone', () => {
    expect(load('platforms: {telegram: {allowed_users: ["*"], allow_all: true}}\n').config.platforms.telegram).toMatchObject({ allowed_users: [], allow_all: true });
  });
});

describe('variables of the upstream system', () => {
  it('add to the lists', () => {
    const env = { TELEGRAM_ALLOWED_USERS: '11, 22', SLACK_ALLOWED_USERS: 'U1', GATEWAY_ALLOWED_USERS: '33', GATEWAY_ALLOW_ALL_USERS: 'true' };
    const { config } = load('platforms: {telegram: {allowed_users: [5]}}\n', { env });
    expect(config.platforms.telegram.allowed_users).toEqual(['5', '11', '22']);
    expect(config.platforms.slack.allowed_users).toEqual(['U1']);
    expect(config.gateway_access).toEqual({ allowed_users: ['33'], allow_all: true });
  });

  it('are checked like the file, and named', () => {
    expect(problems(null, { env: { TELEGRAM_ALLOWED_USERS: '1,@bob', GATEWAY_ALLOW_ALL_USERS: 'perhaps', HERMES_HTTP_PORT: '70000' } })).toEqual([
      'environment:1:1 TELEGRAM_ALLOWED_USERS is a name, not an id; names can be changed by anyone, so only ids are compared',
      'environment:1:1 HERMES_HTTP_PORT must be at most 65535',
      'environment:1:1 GATEWAY_ALLOW_ALL_USERS must be true or false',
    ]);
    expect(problems(null, { dotenv: '# mine\nHERMES_HTTP_PORT=http\n' })).toEqual(['.env:2:1 HERMES_HTTP_PORT must be a number']);
  });

  it('set where the page listens, whatever the file says', () => {
    const env = { HERMES_HTTP_HOST: '0.0.0.0', HERMES_HTTP_PORT: '0', HERMES_API_KEY: 'k' };
    expect(load('platforms: {http: {host: 127.0.0.1, port: 1}}\n', { env }).config.platforms.http).toMatchObject({ host: '0.0.0.0', port: 0, api_key: 'k' });
  });
});

describe('secrets', () => {
  it('are collected from keys, from headers and from the environment', () => {
    const yaml = 'model: {api_key: model-secret}\nmcp_servers: {m: {url: "http://x", headers: {Authorization: Bearer abc}}}\naudio: {transcription: {base_url: "http://a", model: m, api_key: voice-secret}}\nplatforms: {matrix: {access_token: matrix-secret}}\n';
    const { secrets } = load(yaml, { pluginPlatforms: ['matrix'], env: { OPENAI_API_KEY: 'openai-secret', TELEGRAM_BOT_TOKEN: 'tg', PATH: '/bin', KEYBOARD: 'us' } });
    expect(secrets.sort()).toEqual(['Bearer abc', 'matrix-secret', 'model-secret', 'openai-secret', 'tg', 'voice-secret']);
  });
});

describe('the home folder', () => {
  it('is the option, else HERMES_HOME, else ~/.hermes', () => {
    expect(resolveHome('/a', { HERMES_HOME: '/b' })).toBe('/a');
    expect(resolveHome(undefined, { HERMES_HOME: '/b/../c' })).toBe('/c');
    expect(resolveHome(undefined, {})).toMatch(/^\/.*\/\.hermes$/);
    expect(resolveHome('~/x', {})).not.toContain('~');
  });

  it('is made for its owner alone', () => {
    const home = join(tempHome(), 'deep', 'home');
    ensureHome(home);
    for (const folder of ['', 'plugins', 'skills', 'tools', 'memories', 'logs', 'cache']) expect(statSync(join(home, folder)).mode & 0o777).toBe(0o700);
    writeFileSync(join(home, 'file'), '');
    expect(() => ensureHome(join(home, 'file', 'x'))).toThrow(/choose another folder with --home/);
  });

  it('gets a key at the first start and keeps it', () => {
    const home = tempHome();
    writeFileSync(join(home, '.env'), 'A=1', { mode: 0o644 });
    const env: Record<string, string | undefined> = {};
    const key = ensureApiKey(home, env);
    expect(Buffer.from(key, 'base64url')).toHaveLength(32);
    expect(env.HERMES_API_KEY).toBe(key);
    expect(readFileSync(join(home, '.env'), 'utf8')).toBe(`A=1\nHERMES_API_KEY=${key}\n`);
    expect(statSync(join(home, '.env')).mode & 0o777).toBe(0o600);
    expect(ensureApiKey(home, {})).toBe(key);
    expect(ensureApiKey(tempHome(), { HERMES_API_KEY: 'mine' })).toBe('mine');
    expect(load(null, { home }).config.platforms.http.api_key).toBe(key);
  });
});
