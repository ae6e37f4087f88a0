import { describe, expect, test } from 'vitest';
import { createTodo } from '../../src/tools/todo.ts';

interface Result {
  todos: { id: string; content: string; status: string }[];
  revision: number;
  summary: Record<string, number>;
  error?: string;
}

function list() {
  const todo = createTodo();
  return { todo, run: async (args: Record<string, unknown> = {}) => JSON.parse(await todo.run(args)) as Result };
}

const two = [{ id: '1', content: 'look', status: 'completed' }, { id: '2', content: 'leap', status: 'pending' }];

describe('the task list', () => {
  test('is empty at first, replaced, and read', async () => {
    const { run } = list();
    expect(await run()).toEqual({ todos: [], revision: 0, summary: { total: 0, pending: 0, in_progress: 0, completed: 0, cancelled: 0 } });
    await run({ todos: two });
    expect(await run()).toEqual({ todos: two, revision: 1, summary: { total: 2, pending: 1, in_progress: 0, completed: 1, cancelled: 0 } });
  });

  test('merge changes only what is given and appends what is new', async () => {
    const { run } = list();
    await run({ todos: two });
    const { todos } = await run({ merge: true, todos: [{ id: '2', status: 'in_progress' }, { id: '3', content: 'land' }] });
    expect(todos).toEqual([two[0], { id: '2', content: 'leap', status: 'in_progress' }, { id: '3', content: 'land', status: 'pending' }]);
  });

  test('is lenient with what models send', async () => {
    const { run } = list();
    expect((await run({ todos: JSON.stringify(two) })).todos).toEqual(two);
    expect((await run({ todos: [{}, 'x', null, { id: 7, content: ' ', status: 'soon' }] })).todos).toEqual([
      { id: '?', content: '(no description)', status: 'pending' },
      { id: '7', content: '(no description)', status: 'pending' },
    ]);
    expect((await run({ todos: [{ id: 'a', content: 'first' }, { id: 'b', content: 'x' }, { id: 'a', content: 'last' }] })).todos.map(({ content }) => content)).toEqual(['x', 'last']);
    expect((await run({ todos: 'not a list' })).error).toMatch(/must be a list/);
    expect((await run({ todos: { id: 1 } })).error).toMatch(/must be a list/);
  });

  test('has caps', async () => {
    const { run } = list();
    const { todos } = await run({ todos: Array.from({ length: 300 }, (_, index) => ({ id: String(index), content: 'x'.repeat(5000) })) });
    expect(todos).toHaveLength(256);
    expect(todos[0]?.content).toHaveLength(4000);
  });

  test('comes back from its last result, and from nothing else', async () => {
    const { run } = list();
    await run({ todos: two });
    const last = JSON.stringify(await run({ merge: true, todos: [{ id: '3', content: 'x' }] }));
    const { todo, run: read } = list();
    for (const junk of ['', 'x', '[]', '{"error":"x"}', '{"todos":3}', `{"todos":[],"x":"${'y'.repeat(600_000)}"}`]) todo.restore(junk);
    expect((await read()).todos).toEqual([]);
    todo.restore(last);
    expect(await read()).toEqual(JSON.parse(last));
  });
});
