/** Accounts on one page: the default and the maximum of `limit`. */
export const accountLimits = { usual: 50, max: 500 };
