/** A simulator with an adapter in front of it, and what the adapter handed over. */
import { onTestFinished } from 'vitest';
import { createTelegramAdapter, type TelegramSettings } from '../../../adapters/telegram/index.ts';
import type { Adapter, Receipt } from '../../../src/contract/adapter.ts';
import type { InboundMessage } from '../../../src/contract/message.ts';
import { createTestContext, type TestContext } from '../../support/adapter-contract-context.ts';
import { startTelegramApi, type TelegramApi } from '../../support/telegram-api.ts';
import { waitFor } from '../../support/wait-for.ts';
import { quick } from './quick.ts';

export interface Scene {
  api: TelegramApi;
  adapter: Adapter;
  context: TestContext;
  received: InboundMessage[];
  /** Starts the adapter; `answer` stands in for the gateway. */
  start(answer?: (message: InboundMessage) => Promise<Receipt>): Promise<void>;
  hears(text: string): Promise<InboundMessage>;
}

export const alice = 1001;
export const bob = 1002;

export async function openScene(settings: Partial<TelegramSettings> = {}, given: Parameters<typeof createTestContext>[0] = {}): Promise<Scene> {
  const api = await startTelegramApi();
  api.user(alice, { name: 'Alice' });
  const context = createTestContext(given);
  const adapter = createTelegramAdapter({ token: api.token, api_root: api.url, mode: 'polling', webhook: { url: null, secret: null }, ...settings }, context, quick);
  const received: InboundMessage[] = [];
  onTestFinished(async () => {
    await adapter.stop();
    await api.close();
  });
  return {
    api,
    adapter,
    context,
    received,
    start: (answer) =>
      adapter.start(async (message) => {
        received.push(message);
        return answer ? answer(message) : { status: 'accepted', id: received.length };
      }),
    hears: (text) => waitFor(`"${text}" to be received`, () => received.find((message) => message.text === text)),
  };
}
