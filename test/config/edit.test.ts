/** `config set` on the text of the file. */
import { chmodSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { replaceFile, setKey } from '../../config/edit.ts';
import { tempHome } from '../support/temp-home.ts';
import { load } from './support.ts';

const set = (text: string, key: string, value: string, asText = false) => setKey('config.yaml', text, key, value, asText);

describe('setting a key', () => {
  it('keeps comments, order and everything else', () => {
    const before = '# mine\nagent:\n  # how far it goes\n  max_steps: 25 # enough\n\nplatforms:\n  telegram: {token: ${MY_TOKEN}, allowed_users: [1, "2"]} # the bot\n';
    expect(set(before, 'agent.max_steps', '40')).toBe(before.replace('25', '40'));
    expect(set(before, 'platforms.telegram.allow_all', 'true')).toBe(before.replace('"2"]}', '"2"], allow_all: true}'));
  });

  it('makes sections that are not there, or are empty', () => {
    expect(set('', 'log.level', 'debug')).toBe('log:\n  level: debug\n');
    expect(set('# only this\n', 'log.level', 'debug')).toContain('# only this\n');
    expect(load(set('platforms:\n', 'platforms.http.port', '81')).config.platforms.http.port).toBe(81);
  });

  it('finds keys that are numbers, and items of lists', () => {
    expect(set('chats: {-100: {a: 1}}\n', 'chats.-100.a', '2')).toBe('chats: {-100: {a: 2}}\n');
    expect(set('list:\n  - a\n', 'list.1', 'b')).toBe('list:\n  - a\n  - b\n');
    expect(() => set('list: []\n', 'list.7', 'b')).toThrow(/has 0 items/);
    expect(() => set('log: x\n', 'log.level', 'b')).toThrow(/holds no keys/);
  });

  it('takes values as YAML, or as they are', () => {
    expect(set('', 'a', '[1, {b: ${X}}]')).toBe('a:\n  - 1\n  - b: ${X}\n');
    expect(set('', 'a', '5', true)).toBe('a: "5"\n');
    expect(set('', 'a', '99999999999999999999')).toBe('a: 99999999999999999999\n');
    expect(() => set('', 'a', '[1')).toThrow(/put quotes around it/);
  });

  it('touches no file that is broken', () => {
    expect(() => set('a: [\n', 'b', '1')).toThrow(/config\.yaml:\d+:\d+ - is not valid YAML/);
  });
});

describe('replacing the file', () => {
  it('leaves no other file behind and keeps the mode', () => {
    const path = join(tempHome(), 'config.yaml');
    replaceFile(path, 'a: 1\n');
    expect(statSync(path).mode & 0o777).toBe(0o600);
    chmodSync(path, 0o640);
    replaceFile(path, 'a: 2\n');
    expect(statSync(path).mode & 0o777).toBe(0o640);
    expect(readdirSync(join(path, '..'))).toEqual(['config.yaml']);
    expect(readFileSync(path, 'utf8')).toBe('a: 2\n');
  });

  it('says when that cannot be done', () => {
    const home = tempHome();
    writeFileSync(join(home, 'x'), '');
    expect(() => replaceFile(join(home, 'x', 'config.yaml'), '')).toThrow(/cannot be written/);
  });
});
