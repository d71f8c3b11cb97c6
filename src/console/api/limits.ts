/** Limits of one page of accounts: without `limit`, and the highest. */
export const accountLimits = { usual: 50, max: 500 };
