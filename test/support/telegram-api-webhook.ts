/** Posts queued updates to the bot's webhook, one at a time, until each is answered with 2xx; the real one waits longer between tries. */
import { request } from 'node:http';
import type { World } from './telegram-api-world.ts';

export interface WebhookSender {
  /** Looks whether there is something to post. */
  wake(): void;
  /** How many posts were not answered with 2xx. */
  failures(): number;
  stop(): void;
}

export function createWebhookSender(world: World, retryMs = 30): WebhookSender {
  const state = { busy: false, stopped: false, failures: 0 };

  async function drain(): Promise<void> {
    state.busy = true;
    while (!state.stopped && world.webhook.url !== '' && world.queue[0]) {
      const update = world.queue[0];
      const status = await post(world.webhook.url, world.webhook.secret, JSON.stringify(update));
      if (status >= 200 && status < 300) world.queue = world.queue.filter((queued) => queued !== update);
      else {
        state.failures += 1;
        await new Promise((resolve) => setTimeout(resolve, retryMs));
      }
    }
    state.busy = false;
  }

  return {
    wake: () => void (state.busy || drain()),
    failures: () => state.failures,
    stop: () => void (state.stopped = true),
  };
}

/** Status of the answer, 0 when there was none. */
function post(url: string, secret: string, body: string): Promise<number> {
  return new Promise((resolve) => {
    const headers = { 'content-type': 'application/json', ...(secret === '' ? {} : { 'x-telegram-bot-api-secret-token': secret }) };
    const call = request(url, { method: 'POST', headers }, (response) => {
      response.resume();
      resolve(response.statusCode ?? 0);
    });
    call.on('error', () => resolve(0));
    call.end(body);
  });
}
