import { manyFilesCost, refreshCost } from './files-cost.js';

/** Prints what files cost, as JSON. The arguments say which cost, and how often it is measured. */
const [, , which, rounds] = process.argv;
const measure = which === 'refresh' ? refreshCost : manyFilesCost;
measure(Number(rounds))
  .then((cost) => process.stdout.write(JSON.stringify(cost)))
  .catch((error: unknown) => {
    console.error(error);
    process.exitCode = 1;
  });
