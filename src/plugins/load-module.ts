/**
 * Loads a plugin's files as they are: TypeScript, ES modules and CommonJS alike, by jiti. A plugin's own node_modules win. What
 * is not there but is a dependency of the gateway is taken from the gateway, so that a plugin folder that was only copied works.
 */
import { existsSync, readdirSync, readFileSync, realpathSync } from 'node:fs';
import { builtinModules, createRequire } from 'node:module';
import { dirname, extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createJiti, type ModuleCache } from 'jiti';
import { HermesError, toMessage } from '../contract/errors.ts';
import { isUnder } from './declared-path.ts';

const codeFile = /\.(?:[cm]?[jt]s)$/;
/** A plugin with more source files than this is scanned no further; what the rest imports must be installed beside it. */
const maxScanned = 500;

export type ModuleExports = Record<string, unknown>;

export interface PluginModules {
  /** Loads a file of the plugin. Files share their modules. Rejects with what the module threw, or PLUGIN_INVALID for a missing package. */
  load(file: string): Promise<ModuleExports>;
  /** Packages among these, or imported by the plugin's sources, that are found neither beside the plugin nor in the gateway. */
  missing(declared: string[]): string[];
}

export interface ModuleLoader {
  /** `realDir` is the real path of the plugin's folder. */
  open(realDir: string): PluginModules;
}

export interface ModuleLoaderDeps {
  /** The folder that holds the gateway's own package.json. */
  gatewayRoot: string;
  /** Where translated files are kept, so that a start without changes translates nothing; null keeps none. */
  cacheDir: string | null;
}

export function createModuleLoader({ gatewayRoot, cacheDir }: ModuleLoaderDeps): ModuleLoader {
  const gatewayManifest = join(gatewayRoot, 'package.json');
  const gatewayPackages = Object.keys(readDependencies(gatewayManifest));
  const gateway = createJiti(gatewayManifest, { fsCache: false });

  function toAliases(specifiers: string[], realDir: string): Record<string, string> {
    const borrowed = specifiers.filter((specifier) => {
      const name = packageOf(specifier);
      return gatewayPackages.includes(name) && !isInstalled(name, realDir);
    });
    return Object.fromEntries(
      borrowed.flatMap((specifier) => {
        const url = gateway.esmResolve(specifier, { conditions: ['node', 'import'], try: true });
        return url ? [[specifier, url.startsWith('file:') ? fileURLToPath(url) : url]] : [];
      }),
    );
  }

  return {
    open(realDir) {
      const specifiers = scanImports(realDir);
      const jiti = createJiti(join(realDir, 'index.js'), {
        fsCache: cacheDir ?? false,
        moduleCache: false,
        alias: toAliases(specifiers, realDir),
        // Published packages are JavaScript already; the gateway's are then the very modules that the gateway uses.
        nativeModules: [...gatewayPackages, ...Object.keys(readDependencies(join(realDir, 'package.json')))],
      });
      // Without one cache for all, two files of the plugin would each get a helper module of their own.
      const cache: ModuleCache = {};
      return {
        async load(file) {
          const known = cache[file];
          if (known?.loaded) return known.exports as ModuleExports;
          try {
            // Always translated, so that imports resolve by one rule whatever the file's ending is.
            return (await jiti.evalModule(readFileSync(file, 'utf8'), {
              id: file,
              filename: file,
              ext: extname(file),
              cache,
              async: true,
              forceTranspile: true,
            })) as ModuleExports;
          } catch (thrown) {
            throw explain(thrown, realDir);
          }
        },
        missing(declared) {
          const absent = (name: string) => !gatewayPackages.includes(name) && name !== 'hermes-gateway' && !isInstalled(name, realDir);
          return [...new Set([...declared, ...specifiers.map(packageOf)])].filter(absent);
        },
      };
    },
  };
}

/** The command that installs packages into a plugin's folder. */
export function installCommand(realDir: string, packages: string[]): string {
  return `npm install --prefix ${/^[\w/.:\\-]+$/.test(realDir) ? realDir : JSON.stringify(realDir)} --ignore-scripts ${packages.join(' ')}`;
}

function explain(thrown: unknown, realDir: string): unknown {
  const specifier = /Cannot find (?:module|package) '([^']+)'/.exec(toMessage(thrown))?.[1];
  if (specifier === undefined || !isBare(specifier)) return thrown;
  const name = packageOf(specifier);
  return new HermesError('PLUGIN_INVALID', `needs the npm package ${name}; install it with: ${installCommand(realDir, [name])}`, { cause: thrown });
}

/** Bare specifiers in the plugin's own sources, as far as they are written as plain strings. */
function scanImports(realDir: string): string[] {
  const found = new Set<string>();
  const folders = [realDir];
  let scanned = 0;
  for (let folder = folders.pop(); folder !== undefined; folder = folders.pop()) {
    for (const item of readdirSync(folder, { withFileTypes: true })) {
      if (item.name === 'node_modules' || item.name.startsWith('.')) continue;
      const path = join(folder, item.name);
      if (item.isDirectory()) folders.push(path);
      if (!item.isFile() || !codeFile.test(item.name) || ++scanned > maxScanned) continue;
      for (const specifier of importsOf(readFileSync(path, 'utf8'))) found.add(specifier);
    }
  }
  return [...found];
}

function importsOf(source: string): string[] {
  const code = source.replace(/\/\*[\s\S]*?\*\/|^\s*\/\/.*$|\bimport\s+type\b[^'"]*(['"]).*?\1/gm, '');
  const imports = code.matchAll(/\b(?:from|import|require)\s*\(?\s*(['"])([^'"\n]+)\1/g);
  return [...imports].flatMap((match) => (match[2] !== undefined && isBare(match[2]) ? [match[2]] : []));
}

function isBare(specifier: string): boolean {
  return /^(?:@[\w.-]+\/)?[\w.-]+(?:\/|$)/.test(specifier) && !specifier.startsWith('.') && !builtinModules.includes(specifier.split('/')[0] ?? '');
}

function packageOf(specifier: string): string {
  return specifier.split('/', specifier.startsWith('@') ? 2 : 1).join('/');
}

function isInstalled(name: string, realDir: string): boolean {
  const folders = createRequire(join(realDir, 'index.js')).resolve.paths(name) ?? [];
  // Only folders above the plugin; the global ones that Node adds are nobody's declared dependency.
  return folders.some((folder) => isUnder(dirname(folder), realDir) && existsSync(join(folder, name)));
}

function readDependencies(file: string): Record<string, unknown> {
  if (!existsSync(file)) return {};
  try {
    const manifest = JSON.parse(readFileSync(realpathSync(file), 'utf8')) as { dependencies?: Record<string, unknown> };
    return manifest.dependencies ?? {};
  } catch {
    // A broken package.json of a plugin matters only when one of its imports cannot be found, and that is then said.
    return {};
  }
}
