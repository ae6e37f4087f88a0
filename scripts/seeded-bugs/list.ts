/** Every seeded bug, in the order of its number. */
import { doors } from './doors.ts';
import { intake } from './intake.ts';
import type { Mutant } from './mutant.ts';
import { replies } from './replies.ts';
import { tools } from './tools.ts';
import { turns } from './turns.ts';

export const mutants: readonly Mutant[] = [...intake, ...turns, ...replies, ...doors, ...tools];
