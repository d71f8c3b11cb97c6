/** Number of accounts on one page: the default of `limit`, and its maximum. */
export const accountLimits = { usual: 50, max: 500 };
