/**
 * Builds dist/: the program (hermes.js and its chunks), one file for each built-in tool, because they are found by scanning their
 * folder, the page, and the files that the program reads at run time. Packages are bundled too: one file is found and compiled in
 * a third of the time that a package's hundreds take, and the start is what people wait for.
 */
import { build as bundle } from 'esbuild';
import { chmod, copyFile, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { basename, dirname, extname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

const repository = dirname(dirname(fileURLToPath(import.meta.url)));

/** Packages that cannot be bundled, and why. */
const external = [
  'better-sqlite3', // has a native part
  'jiti', // finds its compiler by a file name beside it
  // Optional native parts of discord.js and ws, which do without when they are not installed.
  'zlib-sync',
  'bufferutil',
  'utf-8-validate',
  // Optional for linkedom in the same way.
  'canvas',
];

const shared = { bundle: true, format: 'esm', legalComments: 'none', logLevel: 'warning', minifyWhitespace: true, minifySyntax: true };

/** Bundled CommonJS packages still require Node's own modules. */
const requireForBundles = "import { createRequire as createRequireForBundles } from 'node:module'; const require = createRequireForBundles(import.meta.url);";

/**
 * `root` is the checkout, `outdir` is emptied first, `main` is the program's entry. Rejects when a file is missing or does not
 * compile; nothing is left out silently.
 */
export async function build({ root = repository, outdir = join(root, 'dist'), main = join(root, 'src/main.ts') } = {}) {
  await rm(outdir, { recursive: true, force: true });
  await Promise.all([buildProgram({ root, outdir, main }), buildPage({ root, outdir }), copyData({ root, outdir })]);
}

async function buildProgram({ root, outdir, main }) {
  const toolsDir = join(root, 'src/tools/builtin');
  const tools = (await readdir(toolsDir)).filter((name) => extname(name) === '.ts');
  await bundle({
    ...shared,
    entryPoints: [
      { in: main, out: 'hermes' },
      ...tools.map((name) => ({ in: join(toolsDir, name), out: `tools/builtin/${basename(name, '.ts')}` })),
    ],
    outdir,
    absWorkingDir: root,
    // Shared modules become chunks, so that a tool's errors are the program's errors; lazy imports stay lazy.
    splitting: true,
    chunkNames: 'chunks/[name]-[hash]',
    platform: 'node',
    target: 'node20',
    external,
    banner: { js: requireForBundles },
  });
  const program = join(outdir, 'hermes.js');
  const code = await readFile(program, 'utf8');
  if (!code.startsWith('#!')) await writeFile(program, `#!/usr/bin/env node\n${code}`);
  await chmod(program, 0o755);
}

/** The page alone, into `<outdir>/web`. */
export async function buildPage({ root = repository, outdir }) {
  const from = join(root, 'src/web');
  const to = join(outdir, 'web');
  await bundle({
    ...shared,
    minify: true,
    entryPoints: [join(from, 'app.ts'), join(from, 'style.css')],
    outdir: to,
    absWorkingDir: root,
    platform: 'browser',
    target: 'es2022',
  });
  await copyFiles(from, to, ['index.html', 'icon.svg']);
}

async function copyData({ root, outdir }) {
  await copyFiles(join(root, 'config'), join(outdir, 'config'), ['toolsets.yaml']);
}

async function copyFiles(from, to, names) {
  await mkdir(to, { recursive: true });
  await Promise.all(names.map((name) => copyFile(join(from, name), join(to, name))));
}

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href)
  await build().catch((error) => {
    // esbuild has printed its own errors with their places by now.
    if (!Array.isArray(error.errors)) process.stderr.write(`The build failed: ${error.message}\n`);
    process.exitCode = 1;
  });
