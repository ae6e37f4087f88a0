/** Where the program's own files are: beside the sources in a checkout, in dist/ once built. */
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join, sep } from 'node:path';
import { fileURLToPath } from 'node:url';

export interface Assets {
  /** The folder of the program's package.json. */
  root: string;
  version: string;
  toolsDir: string;
  toolsetsFile: string;
  pageDir: string;
}

export function findAssets(moduleUrl: string): Assets {
  const here = dirname(fileURLToPath(moduleUrl));
  let root = here;
  while (!isRoot(root) && dirname(root) !== root) root = dirname(root);
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string };
  const dist = join(root, 'dist');
  const isBuilt = `${here}${sep}`.startsWith(`${dist}${sep}`);
  return {
    root,
    version,
    toolsDir: isBuilt ? join(dist, 'tools', 'builtin') : join(root, 'src', 'tools', 'builtin'),
    toolsetsFile: isBuilt ? join(dist, 'config', 'toolsets.yaml') : join(root, 'config', 'toolsets.yaml'),
    pageDir: join(dist, 'web'),
  };
}

function isRoot(folder: string): boolean {
  const file = join(folder, 'package.json');
  return existsSync(file) && (JSON.parse(readFileSync(file, 'utf8')) as { name?: string }).name === 'hermes-gateway';
}
