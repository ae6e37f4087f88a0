/**
 * Every key of config.yaml outside `platforms`: type, default, meaning. The platforms' own keys are in each adapter's
 * config.ts and join when the file is loaded. docs/configuration.md is held equal to these schemas by a test.
 */
import { z } from 'zod';
import { secretOrNull, textOrNull, urlOrNull } from '../src/lib/config-values.ts';

const providers = ['auto', 'openai', 'openrouter', 'anthropic', 'gemini', 'ollama', 'custom', 'offline'] as const;
const names = z.array(z.string().trim().min(1));
const positive = z.number().positive();
const count = z.number().int();

const fallback = z.strictObject({
  provider: z.enum(providers).describe('provider to go on with'),
  name: textOrNull({ description: 'model name; null is the provider\'s default' }),
  base_url: urlOrNull({ description: 'endpoint, for custom and ollama' }),
  api_key: secretOrNull({ description: 'key; null is the provider\'s usual variable' }),
});

const model = z.strictObject({
  provider: z.enum(providers).default('auto').describe('auto takes the first provider whose key is set, else offline'),
  name: textOrNull({ description: 'model name; null is the provider\'s default' }),
  base_url: urlOrNull({ description: 'any OpenAI-compatible endpoint' }),
  api_key: secretOrNull({ description: 'key; null is the provider\'s usual variable, e.g. OPENAI_API_KEY' }),
  context_window: count.min(1024).default(128_000).describe('tokens that fit a request'),
  fallbacks: z.array(fallback).default([]).describe('models that are tried in order when this one fails'),
});

const agent = z.strictObject({
  max_steps: count.min(1).max(100).default(25).describe('model calls per turn; one last call without tools asks for an answer'),
  turn_timeout_s: positive.max(86_400).default(600).describe('seconds after which a turn is ended'),
  disabled_toolsets: names.default([]).describe('toolsets taken away everywhere; applied last and wins'),
});

const sessions = z.strictObject({
  reset: z
    .strictObject({
      mode: z.enum(['none', 'idle', 'daily', 'both']).default('none').describe('when the next message starts a new session'),
      at_hour: count.min(0).max(23).default(4).describe('hour of the daily reset, local time'),
      idle_minutes: count.min(1).default(1440).describe('quiet minutes before an idle reset'),
    })
    .prefault({}),
  group_sessions_per_user: z.boolean().default(true).describe('in groups and channels each person has a session'),
  thread_sessions_per_user: z.boolean().default(false).describe('in threads each person has a session'),
});

const gateway = z.strictObject({
  busy_mode: z.enum(['queue', 'collect', 'steer', 'interrupt']).default('queue').describe('what a message does while a turn runs'),
  queue_limit: count.min(1).max(1000).default(20).describe('messages that may wait in one session'),
});

const streaming = z.strictObject({
  enabled: z.boolean().default(true).describe('show answers while they grow'),
  buffer_chars: count.min(1).default(24).describe('characters before a preview is shown or changed'),
});

const approvals = z.strictObject({
  mode: z.enum(['ask', 'deny', 'off']).default('ask').describe('what a dangerous tool call needs; off lets every call run'),
  timeout_s: positive.max(86_400).default(300).describe('seconds to wait for consent; then denied'),
  allow: names.default([]).describe('commands that need no consent'),
});

const plugins = z.strictObject({
  enabled: names.nullable().default(null).describe('the only plugins to load; null loads all that are present'),
  disabled: names.default([]).describe('plugins that are never loaded; wins'),
  paths: names.default([]).describe('more folders that hold plugins'),
  config: z.record(z.string(), z.record(z.string(), z.unknown())).default({}).describe('settings of single plugins, by their names'),
  hook_timeout_s: z
    .strictObject({
      pre: positive.default(5).describe('seconds for hooks that a turn waits for'),
      post: positive.default(30).describe('seconds for hooks that only observe'),
    })
    .prefault({}),
});

const mcpServer = z
  .strictObject({
    command: z.string().min(1).optional().describe('program to start'),
    args: z.array(z.string()).optional().describe('its arguments'),
    env: z.record(z.string(), z.string().meta({ secret: true })).optional().describe('its environment'),
    url: z.url({ protocol: /^https?$/ }).optional().describe('address of a running server, instead of command'),
    headers: z.record(z.string(), z.string().meta({ secret: true })).optional().describe('headers for url'),
  })
  .refine((server) => (server.command === undefined) !== (server.url === undefined), 'needs either command or url');

const web = z.strictObject({
  search: z.enum(['brave', 'tavily', 'searxng', 'exa']).nullable().default(null).describe('search service; null takes the one that is configured'),
  searxng_url: urlOrNull({ description: 'address of a SearXNG server' }),
  allow_cidrs: z
    .array(z.string().regex(/^[0-9a-fA-F.:]+\/\d{1,3}$/, 'must be a network such as 10.0.0.0/8'))
    .default([])
    .describe('private networks that web tools may reach'),
});

const transcription = z.strictObject({
  base_url: z.url({ protocol: /^https?$/ }).describe('OpenAI-compatible endpoint'),
  model: z.string().min(1).describe('model name'),
  api_key: secretOrNull({ description: 'key' }),
});

const budgets = z.strictObject({
  turn_tokens: count.min(1).nullable().default(null).describe('tokens per turn'),
  session_day_usd: positive.nullable().default(null).describe('US dollars per session and day; no effect yet'),
  sender_day_usd: positive.nullable().default(null).describe('US dollars per person and day; no effect yet'),
  day_usd: positive.nullable().default(null).describe('US dollars per day; no effect yet'),
});

export const configShape = {
  model: model.prefault({}),
  platform_toolsets: z.record(z.string(), names).default({}).describe('toolsets by platform, `"!name"` takes one away; default is the toolset named like the platform'),
  agent: agent.prefault({}),
  sessions: sessions.prefault({}),
  gateway: gateway.prefault({}),
  streaming: streaming.prefault({}),
  display: z
    .strictObject({
      tool_progress: z.enum(['auto', 'off', 'new', 'all']).default('auto').describe('tools at work, shown where the answer will stand: each new one, or all; auto is terminal and page only'),
    })
    .prefault({}),
  operator: z
    .string()
    .regex(/^[a-z0-9_-]+:\S+$/i, 'must be PLATFORM:CHAT or PLATFORM:CHAT:THREAD')
    .nullable()
    .default(null)
    .describe('address that hears of dead letters and quarantines; null is the first home_chat'),
  approvals: approvals.prefault({}),
  plugins: plugins.prefault({}),
  memory: z
    .strictObject({
      enabled: z.boolean().default(true).describe('keep MEMORY.md and USER.md'),
      provider: z.string().min(1).default('builtin').describe('builtin, or the name of a plugin\'s provider'),
    })
    .prefault({}),
  skills: z.strictObject({ paths: names.default([]).describe('more folders that hold skills') }).prefault({}),
  mcp_servers: z.record(z.string(), mcpServer).default({}).describe('MCP servers by name; no effect yet'),
  web: web.prefault({}),
  audio: z.strictObject({ transcription: transcription.nullable().default(null).describe('service that turns voice into text') }).prefault({}),
  budgets: budgets.prefault({}),
  retention: z
    .strictObject({
      days: count.min(1).nullable().default(null).describe('days after which sessions are removed'),
      max_gb: positive.nullable().default(null).describe('size above which the oldest sessions are removed'),
    })
    .prefault({}),
  cron: z.strictObject({ enabled: z.boolean().default(true).describe('run scheduled jobs; there are none yet') }).prefault({}),
  log: z.strictObject({ level: z.enum(['debug', 'info', 'warn', 'error', 'silent']).default('info').describe('least weight of a logged line') }).prefault({}),
};

const configSchema = z.strictObject(configShape);

export type Config = z.output<typeof configSchema>;
