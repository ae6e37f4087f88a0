/**
 * The daemon: lock the home, answer on HTTP, load tools and plugins, recover, open intake. In that order, so that the page is
 * there in a moment and nothing is taken in before it can be kept.
 */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { createHttpAdapter, type HttpAdapter } from '../../adapters/http/index.ts';
import { ensureHome } from '../../config/load.ts';
import { chatFactories } from '../../adapters/index.ts';
import type { Adapter, AdapterContext } from '../contract/adapter.ts';
import { toMessage } from '../contract/errors.ts';
import type { GlobalOptions } from '../cli/deps.ts';
import { createSupervisor, type Supervisor } from '../gateway/supervise-adapters.ts';
import { describeModel } from '../model/presets.ts';
import { currentPlugin } from '../plugins/current-plugin.ts';
import { lockHome } from '../store/lock.ts';
import { createAdapterContext } from './adapter-context.ts';
import { toApiRoutes } from './api-routes.ts';
import type { Assets } from './assets.ts';
import { createCore, type Core } from './core.ts';
import { keepHouse } from './keep-house.ts';
import { openHome, type Environment, type Home } from './open-home.ts';
import { buildPluginAdapters } from './plugin-platforms.ts';
import { onSignals } from './signals.ts';

const lockWaitMs = 60_000;
/** Turns get this long to reach a step boundary; the whole stop stays under 25 s. */
const drainMs = 20_000;

export interface DaemonOptions extends GlobalOptions {
  pluginDirs: string[];
  assets: Assets;
  env: Environment;
  stdout(text: string): void;
}

/** Resolves with the exit code once the daemon has stopped. Rejects with HOME_LOCKED, CONFIG_INVALID, STORE_* and the like. */
export async function runDaemon(options: DaemonOptions): Promise<number> {
  const { assets, env } = options;
  const signals = onSignals();
  ensureHome(options.home);
  const lock = await lockHome({
    home: options.home,
    waitMs: lockWaitMs,
    signal: signals.stop,
    onWait: (holder) => options.stdout(`Waiting for ${options.home}: ${holder ? `process ${holder.pid} is using it` : 'another process is using it'}\n`),
  });
  try {
    const home = openHome(options.home, env, { logLevel: options.logLevel, makeKey: true });
    // Nobody sits in front of a daemon: its files are in a folder of their own, not wherever it was started.
    mkdirSync(join(home.home, 'workspace'), { recursive: true, mode: 0o700 });
    const core = createCore({ ...home, assets, process: 'daemon', trusted: ['http'], pluginDirs: options.pluginDirs, workspace: join(home.home, 'workspace') });
    const daemon = await open(home, core, options, (url) => lock.announce(url));
    const unattributed = watchRejections(home);
    await signals.stopped;
    home.log.info('stopping: intake is being closed');
    await daemon.supervisor.stop();
    home.log.info('stopping: running turns go on to their next step', { turns: core.running.all().length });
    await core.gateway.close(drainMs);
    // Callers over HTTP read their answer from the turn: they may wait for it until the turns have ended.
    await daemon.http.stop();
    daemon.house.stop();
    await core.close();
    unattributed();
    home.log.info('stopped');
    return 0;
  } finally {
    lock.release();
    signals.release();
  }
}

async function open(home: Home, core: Core, options: DaemonOptions, announce: (url: string) => void) {
  const { log } = home;
  const supervisor = createSupervisor({ receive: core.gateway.receive, hooks: core.hooks, log });
  const http = buildHttp(home, core, supervisor, options.assets);
  supervisor.report('http', { state: 'starting' });
  core.health.push(() => Object.entries(supervisor.statuses()).map(([platform, status]) => `${platform}: ${status.state}${'reason' in status ? ` (${status.reason})` : ''}`));
  for (const route of toApiRoutes(core, supervisor.statuses)) http.mount(route);
  // Rejects when the port is taken: then the daemon does not start at all.
  await http.start(core.gateway.receive);
  core.adapters.set('http', http);
  announce(http.url());

  const context = (platform: string) => createAdapterContext(platform, { core, home: home.home, log, report: supervisor.report, mount: http.mount });
  const [chatAdapters] = await Promise.all([buildChatAdapters(home, supervisor, context), core.loadExtensions()]);
  for (const adapter of [...chatAdapters, ...buildPluginAdapters(home, core, supervisor, context)]) core.adapters.set(adapter.platform, adapter);

  await core.gateway.open();
  for (const adapter of core.adapters.values()) if (adapter !== http) supervisor.run(adapter);
  supervisor.report('http', { state: 'up', account: 'http', detail: http.url() });
  greet(home, http, options.stdout);
  const { days, max_gb: maxGb } = home.loaded.config.retention;
  const house = keepHouse(core.store, { rules: { days, maxGb }, log, now: Date.now });
  void core.agent.warm();
  return { supervisor, http, house };
}

function buildHttp({ loaded, log, home }: Home, core: Core, supervisor: Supervisor, { pageDir }: Assets): HttpAdapter {
  const settings = loaded.config.platforms.http;
  const context: AdapterContext = createAdapterContext('http', { core, home, log, report: () => {}, mount: (route) => http.mount(route) });
  const http: HttpAdapter = createHttpAdapter(settings, context, {
    key: settings.api_key ?? '',
    ready: () => ({ ready: supervisor.isReady(), adapters: supervisor.statuses() }),
    models: () => [core.agent.modelOf(null).id],
    pageDir,
    log,
  });
  return http;
}

async function buildChatAdapters({ loaded, log }: Home, supervisor: Supervisor, contextOf: (platform: string) => AdapterContext): Promise<Adapter[]> {
  const built = Object.values(chatFactories).map(async (factory): Promise<Adapter[]> => {
    const { platform } = factory;
    const reason = loaded.off[platform];
    if (reason !== undefined) {
      supervisor.off(platform, reason);
      return [];
    }
    try {
      // Each factory is paired with its own schema in the list; the union of all of them cannot say so.
      const create = factory.create as (config: unknown, context: AdapterContext) => Promise<Adapter>;
      return [await create(loaded.config.platforms[platform], contextOf(platform))];
    } catch (thrown) {
      log.error(`${platform} cannot be built: ${toMessage(thrown)}`);
      supervisor.off(platform, toMessage(thrown));
      return [];
    }
  });
  return (await Promise.all(built)).flat();
}

function greet({ home, env, loaded }: Home, http: HttpAdapter, stdout: (text: string) => void): void {
  const { hint } = describeModel(loaded.config.model, env);
  const lines = [
    `Hermes Gateway is running. Home: ${home}`,
    `Page: ${http.loginLink()}`,
    ...(hint ? [hint] : []),
    ...loaded.notices,
  ];
  stdout(`${lines.join('\n')}\n`);
}

/** A rejection that nobody owns, most likely a plugin's, must not end the process. */
function watchRejections({ log }: Home): () => void {
  const onRejection = (reason: unknown) =>
    log.error('a promise was rejected and nobody cared', { plugin: currentPlugin(), error: toMessage(reason), stack: reason instanceof Error ? reason.stack : undefined });
  process.on('unhandledRejection', onRejection);
  return () => process.off('unhandledRejection', onRejection);
}
