/**
 * Notes that a person keeps with /remember come back when a message touches them. What pre_llm_call returns is added to this one
 * message as the model sees it; the transcript keeps nothing of it. Each person's notes are theirs alone.
 */
import type { CommandContext, PluginContext } from 'hermes-gateway';

const maxNotes = 200;
const maxLength = 500;

export function register(ctx: PluginContext): void {
  const read = (owner: string): string[] => (ctx.state.get(owner) as string[] | undefined) ?? [];

  ctx.registerCommand({
    name: 'remember',
    description: 'keep a note: /remember TEXT',
    handler(args, context) {
      const note = args.trim().slice(0, maxLength);
      if (note === '') return 'What shall I remember? Write `/remember TEXT`.';
      const owner = ownerOf(context);
      ctx.state.set(owner, [...read(owner).filter((other) => other !== note), note].slice(-maxNotes));
      return `Noted: ${note}`;
    },
  });
  ctx.registerCommand({
    name: 'notes',
    description: 'list your notes',
    handler: (_, context) => read(ownerOf(context)).map((note, index) => `${index + 1}. ${note}`).join('\n') || 'No notes yet. Write `/remember TEXT`.',
  });
  ctx.registerHook('pre_llm_call', ({ user_message: message, sender_id: sender, platform }) => {
    const fitting = pickFitting(read(`${platform}:${sender}`), message, Number(ctx.config.max_notes));
    return fitting.length > 0 ? { context: `Notes that this person asked you to remember:\n${fitting.map((note) => `- ${note}`).join('\n')}` } : undefined;
  });
}

function ownerOf({ platform, sender }: CommandContext): string {
  return `${platform}:${sender.id}`;
}

/** Notes that share words with the message, those with the most first; newer ones win a tie. */
function pickFitting(notes: string[], message: string, max: number): string[] {
  const asked = wordsOf(message);
  const scored = notes.map((note, index) => ({ note, index, score: [...wordsOf(note)].filter((word) => asked.has(word)).length }));
  const fitting = scored.filter(({ score }) => score > 0).sort((a, b) => b.score - a.score || b.index - a.index);
  return fitting.slice(0, max).map(({ note }) => note);
}

/** Words of four letters and more; an s at the end does not count. */
function wordsOf(text: string): Set<string> {
  const words = text.toLowerCase().match(/[\p{L}\p{N}]{4,}/gu) ?? [];
  return new Set(words.map((word) => word.replace(/s$/, '')));
}
