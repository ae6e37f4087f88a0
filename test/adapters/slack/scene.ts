/** A simulator with an adapter in front of it, and what the adapter handed over. */
import { onTestFinished } from 'vitest';
import { createSlackAdapter, type SlackSettings } from '../../../adapters/slack/index.ts';
import type { SocketModeTiming } from '../../../adapters/slack/socket-mode.ts';
import type { Adapter, Receipt } from '../../../src/contract/adapter.ts';
import type { Address, InboundMessage } from '../../../src/contract/message.ts';
import { createTestContext, type TestContext } from '../../support/adapter-contract-context.ts';
import { startSlackApi, type SlackApi } from '../../support/slack-api.ts';
import { waitFor } from '../../support/wait-for.ts';
import { quick } from './quick.ts';

export interface Scene {
  api: SlackApi;
  adapter: Adapter;
  context: TestContext;
  received: InboundMessage[];
  /** Starts the adapter; `answer` stands in for the gateway. */
  start(answer?: (message: InboundMessage) => Promise<Receipt>): Promise<void>;
  hears(text: string): Promise<InboundMessage>;
}

export const alice = 'U0ALICE';
export const bob = 'U0BOB';
export const general = 'C0GENERAL';
export const dm: Address = { platform: 'slack', account: 'U0HERMES', chat: 'D0ALICE' };
export const channel: Address = { platform: 'slack', account: 'U0HERMES', chat: general };

export function toSettings(api: SlackApi): SlackSettings {
  return { bot_token: api.botToken, app_token: api.appToken, mode: 'socket', signing_secret: '', api_root: api.url };
}

export async function openScene(settings: Partial<SlackSettings> = {}, given: Parameters<typeof createTestContext>[0] & { timing?: Partial<SocketModeTiming> } = {}): Promise<Scene> {
  const api = await startSlackApi();
  api.user(alice, { name: 'Alice' });
  api.channel(general);
  const context = createTestContext(given);
  const adapter = createSlackAdapter({ ...toSettings(api), ...settings }, context, { ...quick, ...given.timing });
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
