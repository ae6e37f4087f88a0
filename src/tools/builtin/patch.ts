/** Replaces a piece of a text file and shows the difference. */
import type { Tool, ToolDeps } from '../../contract/tool.ts';
import { answer } from '../answer.ts';
import { openFiles } from '../files.ts';
import { applyEdits, findEdits } from '../find-edits.ts';
import { readText } from '../read-text.ts';
import { toUnifiedDiff } from '../unified-diff.ts';

export default function patchTool(deps: ToolDeps): Tool {
  return {
    name: 'patch',
    toolset: 'file',
    emoji: '🩹',
    schema: {
      name: 'patch',
      description: 'Replace old_string by new_string in a text file of the workspace; old_string must occur once unless replace_all. Answers with a unified diff.',
      parameters: {
        type: 'object',
        properties: {
          mode: { type: 'string', enum: ['replace'] },
          path: { type: 'string' },
          old_string: { type: 'string' },
          new_string: { type: 'string' },
          replace_all: { type: 'boolean' },
        },
        required: ['path', 'old_string', 'new_string'],
      },
    },
    handler: (args, { platform }) => {
      const { path, old_string, new_string, replace_all } = args as { path: string; old_string: string; new_string: string; replace_all?: boolean };
      return answer(async () => {
        const files = await openFiles(deps, platform);
        const before = await readText(await files.open(path), path);
        const edits = findEdits(before, old_string, new_string, replace_all ?? false);
        const real = await files.write(path, applyEdits(before, edits));
        return { path: files.show(real), replaced: edits.length, diff: toUnifiedDiff(before, edits, files.show(real)) };
      });
    },
  };
}
