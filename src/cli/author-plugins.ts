/** For those who write plugins: `hermes plugins create` lays down one that works, `hermes plugins doctor` looks one over. */
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { Command } from 'commander';
import { HermesError, toMessage } from '../contract/errors.ts';
import { inspecting, print, withExample, type CliContext } from './context.ts';

export function addAuthoring(plugins: Command, context: CliContext): void {
  const doctor = plugins.command('doctor [dir]').description('look over one plugin, or all of this home: what loads, and common mistakes with their cure').option('--no-call', 'do not try the tools');
  withExample(doctor, 'hermes plugins doctor ./my-plugin', 'hermes plugins doctor').action(async (dir: string | undefined, { call }: { call: boolean }) => {
    const dirs = dir === undefined ? await dirsOfHome(context) : [dir];
    if (dirs.length === 0) return print(context, 'This home has no plugins; hermes plugins create NAME makes one.');
    for (const each of dirs) {
      const { lines, isSound } = await context.deps.examinePlugin(context.globals(), each, call);
      print(context, lines.join('\n'));
      if (!isSound) context.finish(1);
    }
  });

  const create = plugins.command('create <name>').description('write a small plugin with a test, to be changed').option('--dir <folder>', 'where its folder is made (default: the plugins of this home)');
  withExample(create, 'hermes plugins create dice', 'hermes plugins create dice --dir .').action((name: string, flags: { dir?: string }) => {
    if (!/^[a-z][a-z0-9_-]{0,39}$/.test(name)) throw new HermesError('USAGE', `${name} is no name for a plugin: it begins with a small letter and holds small letters, digits, "-" and "_"`);
    const folder = join(flags.dir === undefined ? join(context.globals().home, 'plugins') : resolve(flags.dir), name);
    if (existsSync(folder)) throw new HermesError('PLUGIN_INVALID', `${folder} is there already; choose another name or folder`);
    writePlugin(folder, name);
    const plugin = flags.dir === undefined ? '' : ` --plugin ${folder}`;
    print(context, [`Made ${folder}. Try it:`, `  node --test ${join(folder, 'index.test.mjs')}`, `  hermes plugins doctor ${folder}`, `  hermes chat${plugin} -q "How many words has: to be or not to be"`].join('\n'));
  });
}

async function dirsOfHome(context: CliContext): Promise<string[]> {
  const dirs: string[] = [];
  await inspecting(context, [], (home) => void dirs.push(...home.plugins().map((plugin) => plugin.dir)));
  return dirs;
}

function writePlugin(folder: string, name: string): void {
  try {
    mkdirSync(folder, { recursive: true });
    for (const [file, text] of Object.entries(toFiles(name))) writeFileSync(join(folder, file), text);
  } catch (cause) {
    throw new HermesError('HOME_UNUSABLE', `${folder} cannot be written: ${toMessage(cause)}`, { cause });
  }
}

/** JavaScript, so that its test runs with Node alone; a plugin may as well be an index.ts. */
function toFiles(name: string): Record<string, string> {
  const tool = `${name.replaceAll('-', '_')}_count_words`;
  return {
    'plugin.yaml': `name: ${name}\nversion: 1.0.0\ndescription: Counts the words of a text\nprovides_tools: [${tool}]\n`,
    'index.mjs': `/** What the agent gets from this plugin. Change it to what you need; docs/plugins.md has all that ctx can do. */

/** @param {import('hermes-gateway').PluginContext} ctx */
export function register(ctx) {
  ctx.registerTool({
    name: '${tool}',
    schema: {
      name: '${tool}',
      description: 'Count the words and characters of a text. Use it whenever somebody asks how long a text is.',
      parameters: {
        type: 'object',
        properties: { text: { type: 'string', description: 'the text to count in' } },
        required: ['text'],
      },
    },
    // A handler returns a JSON string; what goes wrong it returns as {"error": "..."}.
    handler: ({ text }) => JSON.stringify(countWords(String(text))),
  });
}

/** @param {string} text */
export function countWords(text) {
  return { words: text.split(/\\s+/).filter(Boolean).length, characters: [...text].length };
}
`,
    'index.test.mjs': `/** Run it with: node --test index.test.mjs */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { register } from './index.mjs';

/** The tools by name, registered as the gateway would have it. */
function load() {
  const tools = new Map();
  register({ registerTool: (tool) => tools.set(tool.name, tool) });
  return tools;
}

test('words are counted, however far apart they stand', async () => {
  const answer = await load().get('${tool}').handler({ text: 'to be  or not\\nto be' });
  assert.deepEqual(JSON.parse(answer), { words: 6, characters: 19 });
});

test('an empty text has no words', async () => {
  const answer = await load().get('${tool}').handler({ text: '' });
  assert.deepEqual(JSON.parse(answer), { words: 0, characters: 0 });
});
`,
  };
}
