/** docs/platforms/slack.md: its manifest makes an app that this adapter can work with, and the lines that it explains are the ones that are said. */
import { readdirSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { scopes, toMissingScopes } from '../../../adapters/slack/scopes.ts';

const page = readFileSync(new URL('../../../docs/platforms/slack.md', import.meta.url), 'utf8');
const folder = new URL('../../../adapters/slack/', import.meta.url);
const code = readdirSync(folder).map((file) => readFileSync(new URL(file, folder), 'utf8')).join('\n').replaceAll("\\'", "'");

interface Manifest {
  features: { bot_user: { display_name: string }; app_home: Record<string, boolean>; slash_commands: { command: string; should_escape: boolean }[]; assistant_view: object };
  oauth_config: { scopes: { bot: string[] } };
  settings: { socket_mode_enabled: boolean; interactivity: { is_enabled: boolean }; event_subscriptions: { bot_events: string[] } };
}

const manifest = parse(/```yaml\n(display_information:[\s\S]*?)```/.exec(page)?.[1] ?? '') as Manifest;

test('the manifest asks for the scopes that the code uses, no more and no fewer', () => {
  expect(manifest.oauth_config.scopes.bot).toEqual(Object.keys(scopes).toSorted());
});

test('the manifest switches on what a direct message, a mention, a button and a command need', () => {
  const { settings, features } = manifest;
  expect(settings).toMatchObject({ socket_mode_enabled: true, interactivity: { is_enabled: true } });
  expect(settings.event_subscriptions.bot_events).toEqual(expect.arrayContaining(['app_mention', 'message.channels', 'message.groups', 'message.im', 'message.mpim']));
  expect(features).toMatchObject({ app_home: { messages_tab_enabled: true, messages_tab_read_only_enabled: false }, slash_commands: [{ command: '/hermes', should_escape: true }] });
});

test('every event needs a scope that the manifest has', () => {
  const needed: Record<string, string> = { app_mention: 'app_mentions:read', 'message.channels': 'channels:history', 'message.groups': 'groups:history', 'message.im': 'im:history', 'message.mpim': 'mpim:history', assistant_thread_started: 'assistant:write' };
  for (const event of manifest.settings.event_subscriptions.bot_events) expect(manifest.oauth_config.scopes.bot).toContain(needed[event]);
});

test('each line of the table is one that the code says', () => {
  const lines = [...page.matchAll(/^\| (`[^|]+) \|/gm)].flatMap(([, cell = '']) => [...cell.matchAll(/`([^`]+)`/g)].map(([, line = '']) => line));
  expect(lines.length).toBeGreaterThan(20);
  const said = code.replaceAll('${code}', 'invalid_auth').replaceAll('${error.retryAfter}', '30');
  // These are the words of Slack and of the line.
  const isOurs = (line: string): boolean => !/^(is_archived|messages_tab_disabled|restricted_action|other side closed|Slack says .*)$/.test(line);
  const pieces = lines.filter(isOurs).flatMap((line) => line.split(/ ?\.\.\. ?|: \.\.\.| \(not_allowed_token_type\)/)).filter((piece) => piece.length > 3);
  expect(pieces.filter((piece) => !said.includes(piece.replace(/^: /, '').replace(/:$/, '')))).toEqual([]);
});

test('missing scopes are named with what is lost, and nothing is claimed where Slack says nothing', () => {
  expect(toMissingScopes(Object.keys(scopes).filter((scope) => scope !== 'files:read'))).toEqual(['files:read (reading files)']);
  expect(toMissingScopes(undefined)).toEqual([]);
  expect(toMissingScopes([])).toEqual([]);
});
