/** A simulator with an adapter in front of it, and what the adapter handed over. */
import { onTestFinished } from 'vitest';
import { createDiscordAdapter, type DiscordSettings, type DiscordTiming } from '../../../adapters/discord/index.ts';
import type { Adapter, Receipt } from '../../../src/contract/adapter.ts';
import type { Address, InboundMessage } from '../../../src/contract/message.ts';
import { createTestContext, type TestContext } from '../../support/adapter-contract-context.ts';
import { startDiscordApi, type Channel, type Conversation, type DiscordApi, type DiscordApiOptions } from '../../support/discord-api.ts';
import { waitFor } from '../../support/wait-for.ts';
import { quick } from './quick.ts';

export interface Scene {
  api: DiscordApi;
  adapter: Adapter;
  context: TestContext;
  received: InboundMessage[];
  /** Alice's direct chat, and her place in #general. */
  dm: Conversation;
  alice: Conversation;
  general: Channel;
  /** Starts the adapter; `answer` stands in for the gateway. */
  start(answer?: (message: InboundMessage) => Promise<Receipt>): Promise<void>;
  /** Another adapter over the same state, as after a restart of the program. */
  restart(answer?: (message: InboundMessage) => Promise<Receipt>): Promise<void>;
  hears(text: string): Promise<InboundMessage>;
  /** Texts in the order of their first coming. The inbox drops a key that it knows; so does this. */
  texts(): string[];
  addressOf(channel: { channel: string } | { id: string }): Address;
}

export interface SceneOptions {
  settings?: Partial<DiscordSettings>;
  given?: Parameters<typeof createTestContext>[0];
  api?: DiscordApiOptions;
  timing?: Partial<DiscordTiming>;
}

export async function openScene({ settings = {}, given = {}, api: options = {}, timing = {} }: SceneOptions = {}): Promise<Scene> {
  const api = await startDiscordApi(options);
  const context = createTestContext(given);
  const create = (): Adapter => createDiscordAdapter({ token: api.token, api_root: api.url, auto_thread: false, allowed_roles: [], ...settings }, context, { ...quick, ...timing });
  let adapter = create();
  const received: InboundMessage[] = [];
  onTestFinished(async () => {
    await adapter.stop();
    await api.close();
  });
  const general = api.guild().channel('general');
  const person = api.user('Alice');

  const start: Scene['start'] = (answer) =>
    adapter.start(async (message) => {
      received.push(message);
      return answer ? answer(message) : { status: 'accepted', id: received.length };
    });

  return {
    api,
    get adapter() {
      return adapter;
    },
    context,
    received,
    general,
    dm: api.dm(person),
    alice: general.as(person),
    start,
    async restart(answer) {
      await adapter.stop();
      adapter = create();
      await start(answer);
    },
    hears: (text) => waitFor(`"${text}" to be received`, () => received.find((message) => message.text === text)),
    texts: () => [...new Map(received.map(({ key, text }) => [key, text])).values()],
    addressOf: (channel) => ({ platform: 'discord', account: api.me.id, chat: 'id' in channel ? channel.id : channel.channel }),
  };
}
