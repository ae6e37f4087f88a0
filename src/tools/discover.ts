/**
 * Finds tools by scanning folders, so that adding one needs no import list. A file exports a tool or a function that builds
 * one from ToolDeps. A file that fails is named in the log and the others work.
 */
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { toMessage } from '../contract/errors.ts';
import type { Tool, ToolDeps } from '../contract/tool.ts';
import { createProcesses, type Processes } from './processes.ts';
import type { Registry } from './registry.ts';
import { toRecord } from './safe-json.ts';

/** What built-in tools get beside ToolDeps: the table of background processes, which two of them share. */
export interface BuiltinDeps extends ToolDeps {
  processes: Processes;
}

export interface Discovered {
  /** Names of the tools that were registered, in the order of their files. */
  names: string[];
  /** Ends what the tools left running. */
  stop(): Promise<void>;
}

export type LoadModule = (path: string) => Promise<unknown>;

/**
 * Registers the tools of every `.js`, `.mjs`, `.cjs` and `.ts` file of the folders, each folder in name order; a folder that
 * does not exist holds none. `loadModule` resolves with a module's exports; the default imports the file.
 */
export async function discoverTools(registry: Registry, dirs: readonly string[], deps: ToolDeps, loadModule: LoadModule = importFile): Promise<Discovered> {
  const processes = createProcesses();
  const given: BuiltinDeps = { ...deps, processes };
  const names: string[] = [];
  for (const dir of dirs)
    for (const file of await toolFiles(dir)) {
      const path = join(dir, file);
      try {
        const tool = toTool(await loadModule(path), given);
        if (registry.register(tool, path)) names.push(tool.name);
      } catch (thrown) {
        deps.log.error(`The tool file ${path} cannot be loaded: ${toMessage(thrown)}`, { file: path });
      }
    }
  return { names, stop: () => processes.stop() };
}

async function toolFiles(dir: string): Promise<string[]> {
  const files = await readdir(dir).catch(() => []);
  return files.filter((file) => /\.([cm]?js|ts)$/.test(file) && !/\.(d|test)\.ts$/.test(file)).sort();
}

function importFile(path: string): Promise<unknown> {
  return import(pathToFileURL(path).href);
}

/** registry.register checks the shape; here only the two ways of exporting are told apart. */
function toTool(loaded: unknown, deps: BuiltinDeps): Tool {
  const exported = toRecord(loaded)?.['default'];
  const tool: unknown = typeof exported === 'function' ? exported(deps) : exported;
  if (!toRecord(tool)) throw new Error('its default export is neither a tool nor a function that returns one');
  return tool as Tool;
}
