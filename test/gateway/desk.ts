/**
 * A conversation with the whole house in this process: the real core over a real store, a scripted model behind its HTTP API, and one
 * platform that is a function. What people see is what the platform was sent.
 *
 *   const desk = await openDesk();
 *   const ann = desk.person('ann');
 *   await ann.says('hello');
 *   await ann.shouldSee('answer to hello');
 */
import { join } from 'node:path';
import { writeFileSync } from 'node:fs';
import { onTestFinished } from 'vitest';
import { stringify } from 'yaml';
import type { Receipt, TurnObserver } from '../../src/contract/adapter.ts';
import type { InboundMessage } from '../../src/contract/message.ts';
import type { Tool } from '../../src/contract/tool.ts';
import type { TurnOutcome } from '../../src/contract/turn.ts';
import { assertHistory, groupTurns } from '../../src/agent/history.ts';
import { findAssets } from '../../src/main/assets.ts';
import { createCore, type Core } from '../../src/main/core.ts';
import { openHome } from '../../src/main/open-home.ts';
import clarify from '../../src/tools/builtin/clarify.ts';
import { said } from '../store/support.ts';
import { lastUserText, startOpenAiApi, type OpenAiApi } from '../support/openai-api.ts';
import { tempHome } from '../support/temp-home.ts';
import { waitFor } from '../support/wait-for.ts';
import { createScriptedAdapter, type ScriptedAdapter } from './scripted-adapter.ts';

/** The scripted platform stands in for this one, whose configuration it has. */
export const platform = 'telegram';

export interface DeskOptions {
  config?: Record<string, unknown>;
  /** Settings of the platform. */
  settings?: Record<string, unknown>;
  tools?: Omit<Tool, 'toolset'>[];
  home?: string;
  model?: OpenAiApi;
  adapter?: ScriptedAdapter;
  /** Does things with the house before it opens: hooks, rows that a former process left. */
  before?: (core: Core) => Promise<void> | void;
}

export interface Person {
  /** Hands a message to the gateway; resolves with its receipt. */
  says(text: string, given?: Partial<InboundMessage>): Promise<Receipt>;
  /** The same, and follows it to its end, as a caller over HTTP does. */
  asks(text: string, given?: Partial<InboundMessage>): Promise<TurnOutcome>;
  /** Waits until the chat shows this text, alone or within a message. */
  shouldSee(text: string | RegExp, ms?: number): Promise<void>;
  seen(): string[];
  message(text: string, given?: Partial<InboundMessage>): InboundMessage;
}

export interface Desk {
  core: Core;
  home: string;
  model: OpenAiApi;
  adapter: ScriptedAdapter;
  person(id: string, given?: Partial<InboundMessage>): Person;
  /** Texts that the model was asked with, the newest user message of each request. */
  asked(): string[];
  /** Every stored history satisfies the grammar. */
  checkHistories(): void;
  /** Ends in an orderly way and opens again over the same home, model and platform. */
  restart(): Promise<Desk>;
}

export async function openDesk(options: DeskOptions = {}): Promise<Desk> {
  const home = options.home ?? tempHome();
  const model = options.model ?? (await startOpenAiApi());
  if (!options.model) {
    onTestFinished(() => model.close());
    model.answer((request) => ({ text: `answer to ${lastUserText(request)}` }));
  }
  const adapter = options.adapter ?? createScriptedAdapter({ platform });
  const config = {
    platform_toolsets: { [platform]: ['desk', 'clarify'] },
    ...options.config,
    model: { provider: 'custom', base_url: model.url, name: 'scripted', api_key: 'key', ...(options.config?.['model'] as Record<string, unknown> | undefined) },
    platforms: { [platform]: { token: '7000001:AAtoken-of-a-bot-that-is-not-there', allowed_users: ['ann', 'bob', 'eve'], require_mention: false, ...options.settings } },
  };
  writeFileSync(join(home, 'config.yaml'), stringify(config));
  const opened = openHome(home, {}, { logLevel: 'silent', makeKey: false });
  const core = createCore({ ...opened, assets: findAssets(import.meta.url), process: 'daemon', trusted: ['http'], pluginDirs: [], workspace: home });
  core.adapters.set(platform, adapter);
  core.registry.register(clarify, 'desk');
  for (const tool of options.tools ?? []) core.registry.register({ ...tool, toolset: 'desk' }, 'desk');
  await options.before?.(core);
  await core.gateway.open();
  let isOpen = true;
  const close = async () => {
    if (!isOpen) return;
    isOpen = false;
    await core.gateway.close(100);
    await core.close();
  };
  onTestFinished(close);

  return {
    core,
    home,
    model,
    adapter,
    person: (id, given = {}) => toPerson(core, adapter, id, given),
    asked: () => model.requests.map(lastUserText),
    checkHistories() {
      for (const { id } of core.store.sessions.list({ limit: 1000 })) for (const turn of groupTurns(core.store.transcript.history(id, 0, Number.MAX_SAFE_INTEGER))) assertHistory(turn);
    },
    async restart() {
      await close();
      return openDesk({ ...options, home, model, adapter });
    },
  };
}

function toPerson(core: Core, adapter: ScriptedAdapter, id: string, given: Partial<InboundMessage>): Person {
  const message = (text: string, more: Partial<InboundMessage> = {}) =>
    said(text, { address: { platform, account: 'bot', chat: id }, sender: { id, name: id, isBot: false }, ...given, ...more });
  const chat = (given.address ?? message('').address).chat;
  const receive = (what: InboundMessage, observer?: TurnObserver) => core.gateway.receive(what, observer);
  return {
    message,
    says: (text, more) => receive(message(text, more)),
    asks: (text, more) => new Promise((resolve, reject) => void receive(message(text, more), { onEvent() {}, onDone: resolve }).catch(reject)),
    async shouldSee(text, ms) {
      const matches = (each: string) => (typeof text === 'string' ? each.includes(text) : text.test(each));
      await waitFor(`${String(text)} in chat ${chat}`, () => adapter.texts(chat).some(matches), ms).catch((error: unknown) => {
        throw new Error(`${String(error)}; seen: ${JSON.stringify(adapter.texts(chat))}`);
      });
    },
    seen: () => adapter.texts(chat),
  };
}

/** A tool of the desk: no arguments, and what it does is `run`. */
export function deskTool(name: string, run: Tool['handler'], given: Partial<Tool> = {}): Omit<Tool, 'toolset'> {
  return { name, schema: { name, description: `Does ${name}.`, parameters: { type: 'object', properties: {} } }, handler: run, ...given };
}

/** A gate that is shut until `open` is called. */
export function createBarrier(): { passed: Promise<void>; open(): void } {
  let open = () => {};
  const passed = new Promise<void>((resolve) => (open = resolve));
  return { passed, open: () => open() };
}
