/** Creates or replaces a text file in the workspace. */
import type { Tool, ToolDeps } from '../../contract/tool.ts';
import { answer } from '../answer.ts';
import { openFiles } from '../files.ts';

export default function writeFileTool(deps: ToolDeps): Tool {
  return {
    name: 'write_file',
    toolset: 'file',
    emoji: '✍️',
    schema: {
      name: 'write_file',
      description: 'Create or completely replace a text file in the workspace; folders are created. Use patch for changes.',
      parameters: {
        type: 'object',
        properties: { path: { type: 'string' }, content: { type: 'string' } },
        required: ['path', 'content'],
      },
    },
    handler: (args, { platform }) => {
      const { path, content } = args as { path: string; content: string };
      return answer(async () => {
        const files = await openFiles(deps, platform);
        const real = await files.write(path, content);
        return { path: files.show(real), bytes: Buffer.byteLength(content) };
      });
    },
  };
}
