/** `hermes tools list`: what the model is offered on a platform, and why the rest is not there. */
import type { Command } from 'commander';
import { inspecting, print, withExample, withPluginOption, type CliContext } from './context.ts';
import type { ToolFacts } from './deps.ts';

/** The platform that this program itself is. */
const terminal = 'cli';

export function addTools(program: Command, context: CliContext): void {
  const tools = withExample(program.command('tools').description('tools of the agent'), 'hermes tools list');
  const list = tools
    .command('list')
    .description('the effective tools of a platform, and why each absent one is absent')
    .option('-p, --platform <name>', 'platform', terminal)
    .option('--json', 'print JSON');
  withPluginOption(list).action(async (flags: { platform: string; json?: boolean; plugin: string[] }) => {
    await inspecting(context, flags.plugin, async (home) => {
      const facts = await home.tools(flags.platform);
      print(context, flags.json ? JSON.stringify(facts, null, 2) : toToolLines(facts).join('\n'));
    });
  });
  withExample(list, 'hermes tools list --platform telegram', 'hermes tools list --json');
}

/** By toolset, in the order in which they come. */
function toToolLines(facts: ToolFacts[]): string[] {
  const width = Math.max(0, ...facts.map(({ name }) => name.length));
  const lines: string[] = [];
  for (const toolset of new Set(facts.map(({ toolset }) => toolset))) {
    lines.push(toolset);
    for (const { name, description, absent } of facts.filter((tool) => tool.toolset === toolset)) {
      const about = absent === null ? (description.split('\n')[0] ?? '').slice(0, 100) : `- ${absent}`;
      lines.push(`  ${absent === null ? '✓' : '✗'} ${name.padEnd(width)}  ${about}`.trimEnd());
    }
  }
  return lines.length > 0 ? lines : ['No tools.'];
}
