/** The agent's two tools for skills: the list, and the text of one. */
import type { Tool, ToolArgs } from '../contract/tool.ts';
import type { Skills } from './skills.ts';

/** Without any skill they are left out: what cannot be used costs no tokens. */
export function createSkillTools(skills: Skills): Tool[] {
  const checkFn = () => skills.list().length > 0;
  return [
    { ...skillsList(skills), checkFn },
    { ...skillView(skills), checkFn },
  ];
}

function skillsList(skills: Skills): Tool {
  return {
    name: 'skills_list',
    toolset: 'skills',
    schema: {
      name: 'skills_list',
      description: 'List the skills (written instructions for kinds of task) with name and description. Read one with skill_view before you do such a task.',
      parameters: { type: 'object', properties: { category: { type: 'string', description: 'Only skills of this category' } }, additionalProperties: false },
    },
    handler: ({ category }) => {
      const wanted = skills.list().filter((skill) => category === undefined || skill.category === category);
      return JSON.stringify({ skills: wanted.map(({ name, description, category }) => ({ name, description, ...(category === null ? {} : { category }) })) });
    },
    idempotent: true,
    parallel: true,
    emoji: '📚',
  };
}

function skillView(skills: Skills): Tool {
  return {
    name: 'skill_view',
    toolset: 'skills',
    schema: {
      name: 'skill_view',
      description: 'Read the full text of a skill. With file_path, read one of the further files that the skill lists.',
      parameters: {
        type: 'object',
        properties: { name: { type: 'string', description: 'Name as skills_list gives it' }, file_path: { type: 'string', description: 'A file in the folder of the skill' } },
        required: ['name'],
        additionalProperties: false,
      },
    },
    handler: (args) => JSON.stringify(view(skills, args)),
    idempotent: true,
    parallel: true,
    emoji: '📖',
  };
}

function view(skills: Skills, args: ToolArgs): Record<string, unknown> {
  const name = String(args.name);
  const skill = skills.view(name);
  if (!skill) return { error: `There is no skill "${name}"; skills_list shows all` };
  if (typeof args.file_path !== 'string') return { name: skill.name, content: skill.body, ...(skill.files.length > 0 ? { files: skill.files } : {}) };
  const content = skills.viewFile(name, args.file_path);
  return content === null ? { error: `The skill ${name} has no file "${args.file_path}"; it has: ${skill.files.join(', ') || 'none'}` } : { name: skill.name, file: args.file_path, content };
}
