/** Migrations in order; the database's user_version is the number of those that have run. Never edit one that was released. */
import { initial } from './001-initial.ts';
import { pairing } from './002-pairing.ts';
import { searchBehind } from './003-search-behind.ts';
import { fewerIndexes } from './004-fewer-indexes.ts';

export const migrations: readonly string[] = [initial, pairing, searchBehind, fewerIndexes];
