/** The keys of `platforms.webhook` beside those that every chat platform has. */
import { z } from 'zod';

const httpUrl = z.url({ protocol: /^https?$/, error: 'must be an address that begins with http:// or https://' });

const webhookConfig = z.object({
  /** Signs both ways; without it there is no route at all. */
  secret: z.string().trim().default(''),
  /** Where answers are posted. */
  url: z.union([httpUrl, z.literal('')]).default(''),
  /** What people write with an @ in front to address the agent in a group; also the id under which it posts. */
  name: z.string().regex(/^[\w.-]{1,64}$/, 'may hold letters, digits, "_", "." and "-"').default('hermes'),
  /** Longest text of one post, UTF-16 units. */
  max_chars: z.number().int().min(200).default(8000),
  /** True when the receiver understands `edit` posts: answers are then shown while they grow. */
  edits: z.boolean().default(false),
  /** Attachments are fetched only from addresses that begin so; none by default. */
  files: httpUrl.transform((url) => (url.endsWith('/') ? url : `${url}/`)).nullable().default(null),
});

export type WebhookConfig = z.output<typeof webhookConfig>;

/** Throws an error that names every key that is wrong. */
export function toWebhookConfig(settings: Record<string, unknown>): WebhookConfig {
  const parsed = webhookConfig.safeParse(settings);
  if (parsed.success) return parsed.data;
  throw new Error(parsed.error.issues.map(({ path, message }) => `platforms.webhook.${path.join('.')} ${message}`).join('; '));
}

/** What keeps the platform off, in a line that says what to do; null when nothing does. */
export function toOffReason({ secret, url }: WebhookConfig): string | null {
  if (secret.length < 32) return 'platforms.webhook.secret must have 32 characters or more; make one with: openssl rand -hex 32';
  if (url === '') return 'platforms.webhook.url is not set: give the address that answers are posted to';
  return null;
}
