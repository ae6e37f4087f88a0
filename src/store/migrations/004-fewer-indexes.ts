/** Every index is a page more in every durable commit of a turn; these answered what can be asked of others. */
export const fewerIndexes = `
DROP INDEX inbox_by_turn;
DROP INDEX inbox_by_message;
DROP INDEX inbox_finished;
`;
