/** The keys of `platforms.http`: the page and the HTTP API. */
import { z } from 'zod';
import { secretOrNull } from '../../src/lib/config-values.ts';
import { chatPlatformShape } from '../../src/lib/platform-config.ts';

export const httpConfig = z.strictObject({
  host: z.string().trim().min(1).default('127.0.0.1').meta({ description: 'address to listen on; a container needs 0.0.0.0', override: 'HERMES_HTTP_HOST' }),
  port: z.number().int().min(0).max(65_535).default(8642).meta({ description: 'port to listen on; 0 takes a free one', override: 'HERMES_HTTP_PORT' }),
  allowed_hosts: z.array(z.string().trim().min(1)).default([]).describe('more host names under which the page is reached'),
  api_key: secretOrNull({ description: 'bearer key; made at first start and kept in .env', env: 'HERMES_API_KEY' }),
  ...chatPlatformShape,
});

export type HttpConfig = z.output<typeof httpConfig>;
