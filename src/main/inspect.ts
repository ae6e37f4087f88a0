/** A home opened for looking at: tools and plugins loaded, nothing listening, nothing recovered. */
import { join } from 'node:path';
import { addToEnvironment, readEnvFile } from '../../config/env-file.ts';
import type { Examination, GlobalOptions, Inspection, PluginCli } from '../cli/deps.ts';
import { inspectPlugin, toDoctorLines } from '../plugins/doctor.ts';
import type { Assets } from './assets.ts';
import { createCore, type Core } from './core.ts';
import { toOutboxFacts, toSessionDetail, toSessionFacts, toSessionHits, toToolFacts } from './facts.ts';
import { openHome, type Environment } from './open-home.ts';

export async function inspect(options: GlobalOptions & { pluginDirs: string[] }, assets: Assets, env: Environment): Promise<Inspection> {
  const { core, notices } = await openCore(options, options.pluginDirs, assets, env);
  const { store } = core;
  return {
    plugins: () => core.plugins.facts(),
    tools: (platform) => toToolFacts(core, platform),
    warnings: () => notices,
    sessions: async (limit) => toSessionFacts(store, limit),
    session: (id, limit) => toSessionDetail(store, id, limit),
    searchSessions: (query, limit) => toSessionHits(store, query, limit),
    async renameSession(id, title) {
      if (!store.sessions.get(id)) return false;
      await store.sessions.update(id, { title });
      return true;
    },
    removeSession: store.retention.remove,
    unusedSessions: (days) => store.retention.unusedSince(Date.now() - days * 24 * 3600_000, 100_000),
    outbox: async () => toOutboxFacts(store, 200),
    skills: core.skills.list,
    skill: (name) => core.skills.view(name)?.body ?? null,
    memory: core.memory.snapshot,
    memoryFiles: core.memory.files,
    close: () => core.close(),
  };
}

/** The commands that plugins bring; their house stays open, since they may use it until the process ends. */
export async function loadPluginCommands(options: GlobalOptions, assets: Assets, env: Environment): Promise<PluginCli[]> {
  const { core } = await openCore(options, [], assets, env);
  return core.plugins.cliCommands();
}

/** Needs no usable home: of it only the variables count, so that a key in `.env` is not called missing. */
export async function examinePlugin({ home }: GlobalOptions, dir: string, callTools: boolean, assets: Assets, env: Environment): Promise<Examination> {
  addToEnvironment(readEnvFile(join(home, '.env')), env);
  const report = await inspectPlugin(dir, { gatewayRoot: assets.root, env, callTools });
  return { lines: toDoctorLines(report), isSound: report.findings.every(({ level }) => level !== 'error') };
}

async function openCore(options: GlobalOptions, pluginDirs: string[], assets: Assets, env: Environment): Promise<{ core: Core; notices: string[] }> {
  const home = openHome(options.home, env, { logLevel: options.logLevel ?? 'error', makeKey: false });
  const core = createCore({ ...home, assets, process: `look:${process.pid}`, trusted: [], pluginDirs, workspace: process.cwd() });
  await core.loadExtensions();
  return { core, notices: home.loaded.notices };
}
