/** The composition root: the program `hermes`. Everything is built here or in src/main/ and handed on; nobody imports it. */
import { loadConfig } from '../config/load.ts';
import { createProgram } from './cli/program.ts';
import { findAssets } from './main/assets.ts';
import { callDaemon } from './main/call-daemon.ts';
import { platformSchemas } from './main/open-home.ts';

const assets = findAssets(import.meta.url);
const { env } = process;
const stdout = (text: string) => void process.stdout.write(text);

const program = createProgram({
  stdout,
  stderr: (text) => void process.stderr.write(text),
  env,
  version: assets.version,
  loadConfig: async ({ home }, text) => loadConfig({ home, env, platforms: platformSchemas(), pluginPlatforms: 'later', ...(text === undefined ? {} : { text }) }),
  // Each command loads only what it needs: help and `config` must not wait for the database or an SDK.
  runDaemon: async (options) => (await import('./main/daemon.ts')).runDaemon({ ...options, assets, env, stdout }),
  runChat: async (options) => (await import('./main/chat.ts')).runChat(options, { assets, env }),
  inspect: async (options) => (await import('./main/inspect.ts')).inspect(options, assets, env),
  pluginCommands: async (options) => (await import('./main/inspect.ts')).loadPluginCommands(options, assets, env),
  examinePlugin: async (options, dir, callTools) => (await import('./main/inspect.ts')).examinePlugin(options, dir, callTools, assets, env),
  callDaemon: (options, method, path, body) => callDaemon(options, env, method, path, body),
});

// A plugin's timers or a hanging socket must not keep an ended command alive.
process.exit(await program.run(process.argv.slice(2)));
