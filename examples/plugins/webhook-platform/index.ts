/**
 * The platform `webhook`: another program posts what people write, and gets the answers posted. event -> inbound.ts -> receive() ->
 * 200; part -> outbound.ts -> POST -> SendOutcome. It shows all that a platform from a plugin can be.
 */
import type { Adapter, AdapterContext, PluginContext, Receive } from 'hermes-gateway';
import { toOffReason, toWebhookConfig } from './config.ts';
import { download } from './download.ts';
import { takeIn } from './inbound.ts';
import { editPart, sendPart, splitText } from './outbound.ts';

export const path = '/webhooks/generic';

export function register(ctx: PluginContext): void {
  ctx.registerPlatform({ name: 'webhook', label: 'Webhook', createAdapter: createWebhookAdapter });
}

/** Throws when the settings cannot be used; the daemon then says so and leaves the platform off. */
export function createWebhookAdapter(settings: Record<string, unknown>, context: AdapterContext, now: () => number = Date.now): Adapter {
  const config = toWebhookConfig(settings);
  let unmount = () => {};

  async function stop(): Promise<void> {
    unmount();
    unmount = () => {};
  }

  async function start(receive: Receive): Promise<void> {
    await stop();
    const reason = toOffReason(config);
    if (reason !== null) return context.report({ state: 'off', reason });
    unmount = context.mount({ method: 'POST', path, auth: 'self', handle: (request) => takeIn(request, config, receive, now()) });
    context.report({ state: 'up', account: config.name, detail: `POST ${path}` });
  }

  return {
    platform: 'webhook',
    hint: 'Your answers are posted to another program as Markdown, and it shows them to people.',
    pace: { previewDmMs: 1200, previewGroupMs: 3500 },
    start,
    stop,
    split: (markdown) => splitText(markdown, config.max_chars),
    send: (part, signal) => sendPart(config, part, signal, now()),
    ...(config.edits ? { edit: (messageId, part, signal) => editPart(config, messageId, part, signal, now()) } : {}),
    download: (attachment, maxBytes, signal) => download(attachment, config.files, maxBytes, signal),
  };
}
