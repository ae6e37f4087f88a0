/** `hermes sessions list`. */
import type { Command } from 'commander';
import { inspecting, print, toColumns, toWholeNumber, withExample, type CliContext } from './context.ts';

export function addSessions(program: Command, context: CliContext): void {
  const sessions = withExample(program.command('sessions').description('conversations that are kept'), 'hermes sessions list');
  const list = sessions
    .command('list')
    .description('sessions, the most recently used first')
    .option('-n, --limit <number>', 'how many', toWholeNumber, 20)
    .option('--json', 'print JSON');
  withExample(list, 'hermes sessions list --limit 5').action(async (flags: { limit: number; json?: boolean }) => {
    await inspecting(context, [], async (home) => {
      const facts = await home.sessions(flags.limit);
      if (flags.json) return print(context, JSON.stringify(facts, null, 2));
      if (facts.length === 0) return print(context, 'No sessions yet.');
      const rows = facts.map(({ id, lastActiveAt, platform, turns, title }) => [id, toTime(lastActiveAt), platform, String(turns), oneLine(title)]);
      print(context, toColumns([['id', 'last active', 'platform', 'turns', 'title'], ...rows]));
    });
  });
}

/** UTC, to the minute. */
export function toTime(ms: number): string {
  return new Date(ms).toISOString().slice(0, 16).replace('T', ' ');
}

export function oneLine(text: string): string {
  const flat = text.replaceAll(/\s+/g, ' ').trim();
  return flat.length > 60 ? `${flat.slice(0, 59)}…` : flat;
}
