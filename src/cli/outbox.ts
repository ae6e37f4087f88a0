/** `hermes outbox list|retry|drop`: replies that wait, and replies that could not be delivered. */
import type { Command } from 'commander';
import { inspecting, print, toColumns, toWholeNumber, withExample, type CliContext } from './context.ts';
import { oneLine, toTime } from './sessions.ts';

export function addOutbox(program: Command, context: CliContext): void {
  const outbox = withExample(program.command('outbox').description('replies that wait or could not be delivered'), 'hermes outbox list');
  const list = outbox.command('list').description('what waits and what failed, with the reason').option('--json', 'print JSON');
  withExample(list, 'hermes outbox list').action(async (flags: { json?: boolean }) => {
    await inspecting(context, [], async (home) => {
      const facts = await home.outbox();
      if (flags.json) return print(context, JSON.stringify(facts, null, 2));
      if (facts.length === 0) return print(context, 'Nothing waits and nothing failed.');
      const rows = facts.map((part) => [String(part.id), part.state, toTime(part.createdAt), part.address, String(part.attempts), part.error ?? '', oneLine(part.text)]);
      print(context, toColumns([['id', 'state', 'created', 'to', 'tries', 'error', 'text'], ...rows]));
    });
  });

  // Only the running daemon may decide about parts: it holds the order of each chat.
  for (const [verb, description, done] of [
    ['retry', 'try a failed part again', 'will be tried again'],
    ['drop', 'give a part up for good', 'is dropped'],
  ] as const) {
    const command = outbox.command(`${verb} <id>`).description(description);
    withExample(command, `hermes outbox ${verb} 17`).action(async (text: string) => {
      const id = toWholeNumber(text);
      await context.deps.callDaemon(context.globals(), 'POST', `/api/outbox/${id}/${verb}`);
      print(context, `${id} ${done}`);
    });
  }
}
