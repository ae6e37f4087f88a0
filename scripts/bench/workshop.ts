/** Starts what is compared: the built daemon, the bare bot, and processes that only import. Each gets a folder of its own. */
import { build } from 'esbuild';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { stringify } from 'yaml';
import { startProgram, type Program } from './program.ts';
import type { Scene } from './scene.ts';

/** Beside the packages, so that the compiled yardsticks find them. */
const compiled = join(import.meta.dirname, '..', '..', 'node_modules', '.cache', 'bench');

export interface Workshop {
  /** A fresh folder; removed by `close`. */
  folder(): string;
  /** The daemon with its defaults, Telegram by polling, and everybody allowed. `home` may hold a store already. */
  startDaemon(scene: Scene, home?: string): Promise<Daemon>;
  startBareBot(scene: Scene): Program;
  /** Prints `ready` when the packages are imported. */
  startImports(packages: readonly string[]): Program;
  /** What the programs wrote to standard error last. */
  complaints(): string;
  /** Ends what was started. */
  close(): Promise<void>;
}

export interface Daemon extends Program {
  /** Of its page. */
  url: string;
}

/** `program` is the path of the built daemon. */
export async function openWorkshop(program: string): Promise<Workshop> {
  const sources = ['bare-bot.ts', 'bare-imports.ts'].map((name) => join(import.meta.dirname, name));
  await build({ entryPoints: sources, outdir: compiled, outExtension: { '.js': '.mjs' }, format: 'esm', target: 'node20', logLevel: 'warning' });
  const root = mkdtempSync(join(tmpdir(), 'hermes-bench-'));
  const started: Program[] = [];
  let folders = 0;
  const folder = () => {
    const path = join(root, String(folders++));
    mkdirSync(path);
    return path;
  };
  const start = (args: string[], home: string, env: Record<string, string> = {}) => {
    const one = startProgram(args, { logFile: join(home, 'stderr.log'), env });
    started.push(one);
    return one;
  };

  return {
    folder,
    async startDaemon({ telegram, model }, home = folder()) {
      const port = await freePort();
      const config = {
        model: { provider: 'custom', base_url: model.url, name: 'scripted', api_key: 'key-of-the-model' },
        platforms: { telegram: { token: telegram.token, api_root: telegram.url, allow_all: true }, http: { port, api_key: 'key-of-the-api-0123456789' } },
      };
      writeFileSync(join(home, 'config.yaml'), stringify(config));
      return { ...start([program, 'gateway', 'run'], home, { HOME: home, HERMES_HOME: home }), url: `http://127.0.0.1:${port}` };
    },
    startBareBot: ({ telegram, model }) => start([join(compiled, 'bare-bot.mjs'), telegram.token, telegram.url, model.url], folder()),
    startImports: (packages) => start([join(compiled, 'bare-imports.mjs'), ...packages], folder()),
    complaints: () => started.map((each) => each.complaints()).join('\n'),
    async close() {
      await Promise.all(started.map((each) => each.stop()));
      rmSync(root, { recursive: true, force: true });
    },
  };
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  return typeof address === 'object' && address !== null ? address.port : 0;
}
