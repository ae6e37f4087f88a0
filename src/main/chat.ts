/** `hermes chat`: the same house with the terminal as its only adapter, in the terminal's working folder. */
import { randomBytes } from 'node:crypto';
import { createCliAdapter } from '../../adapters/cli/index.ts';
import type { ChatOptions } from '../cli/deps.ts';
import { describeModel } from '../model/presets.ts';
import { createAdapterContext } from './adapter-context.ts';
import type { Assets } from './assets.ts';
import { createCore, type Core } from './core.ts';
import { openHome, type Environment, type Home } from './open-home.ts';

export interface ChatDeps {
  assets: Assets;
  env: Environment;
}

const localOwner = 'cli:user::local';
const drainMs = 3000;

/** Resolves with the exit code. */
export async function runChat(options: ChatOptions, { assets, env }: ChatDeps): Promise<number> {
  const home = openHome(options.home, env, { logLevel: options.logLevel ?? 'warn', makeKey: false });
  // Rows of one terminal are nobody else's: a daemon's recovery leaves them alone.
  const owner = `cli:${randomBytes(6).toString('hex')}`;
  const core = createCore({ ...home, assets, process: owner, trusted: ['cli'], pluginDirs: options.pluginDirs, workspace: process.cwd() });
  try {
    await core.loadExtensions();
    const adapter = createCliAdapter(await toCliConfig(options, home, core, assets), createAdapterContext('cli', { core, home: home.home, log: home.log, report: () => {}, mount: () => () => {} }), toStreams(env));
    core.adapters.set('cli', adapter);
    await core.gateway.open();
    await adapter.start(core.gateway.receive);
    const code = await adapter.finished;
    await adapter.stop();
    await core.gateway.close(drainMs);
    return code;
  } finally {
    await core.close();
  }
}

function toStreams(env: Environment) {
  const { stdin, stdout, stderr } = process;
  return { input: stdin, output: stdout, error: stderr, isTerminal: stdin.isTTY === true && stdout.isTTY === true, color: stderr.isTTY === true && !env['NO_COLOR'] };
}

async function toCliConfig(options: ChatOptions, { env, loaded }: Home, core: Core, { version }: Assets) {
  const { hint } = describeModel(loaded.config.model, env);
  const { names } = core.agent.platformTools('cli', options.toolsets);
  const { definitions } = await core.registry.definitions(names);
  const tools: Record<string, string[]> = {};
  for (const { name } of definitions) (tools[core.registry.get(name)?.toolset ?? 'other'] ??= []).push(name);
  const sessionId = options.resume ?? (options.continue ? core.store.sessions.list({ owner: localOwner, limit: 1 })[0]?.id : undefined);
  return {
    ...(options.query === undefined ? {} : { query: options.query }),
    json: options.json,
    showsTools: loaded.config.display.tool_progress !== 'off',
    ...(options.toolsets ? { toolsets: options.toolsets } : {}),
    ...(options.model === undefined ? {} : { model: options.model }),
    ...(sessionId === undefined ? {} : { sessionId }),
    banner: { version, model: core.agent.modelOf(options.model ?? null).id, tools, notices: hint ? [hint] : [] },
  };
}
